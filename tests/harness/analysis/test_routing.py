import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.analysis.points import MeasuredPoint, points
from harness.analysis.promises import AnalysisError
from harness.analysis.routing import analyze, write
from harness.evaluation.routing.measuring import measure
from harness.evaluation.routing.studies import RoutingStudy

pytestmark = pytest.mark.timeout(300)
"""Spark takes its time, and the first of the tests waits for it to start."""


def study(name: str, strategy: str, consumers: tuple[int, ...]) -> RoutingStudy:
    """A study of the group its name begins with."""
    changes = name.startswith("changes")
    group = "changes" if changes else "tables"
    events = "each" if changes else ""
    return RoutingStudy(
        name, group, "quotes", strategy, "simple", consumers, changes=changes, events=events, rounds=2
    )


@pytest.fixture(scope="module")
def found(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, int], MeasuredPoint]:
    folder = tmp_path_factory.mktemp("studies")
    for each in (
        study("tables-simple", "simple", (1,)),
        study("tables-identity", "identity", (1, 3)),
        study("changes-identity", "identity", (1,)),
        study("changes-simple", "simple", (2,)),
    ):
        measure(each, folder / each.name, 0)
    (folder / ".unfinished").mkdir()
    (folder / ".unfinished" / "run.json").write_text("{}")
    write(folder, analyze(spark, folder))
    read = points(json.loads((folder / "analysis.json").read_text()))
    return {(each.study, each.consumers): each for each in read}


def test_sums_are_over_all_brokers(found: dict[tuple[str, int], MeasuredPoint]) -> None:
    plain = found["tables-simple", 1]
    assert (plain.subscriptions, plain.entries, plain.brokers) == (670, 2_500, 107)
    assert plain.level_entries[0] == 670
    assert plain.differing == 0
    assert plain.messages is None


def test_changes_have_their_mean_and_its_error(found: dict[tuple[str, int], MeasuredPoint]) -> None:
    plain, identity = found["changes-simple", 2], found["changes-identity", 1]
    assert plain.messages == pytest.approx(250 / 67)
    assert plain.messages_error == pytest.approx(0)
    assert plain.changes == 2 * 670
    assert identity.messages is not None
    assert 0 < identity.messages < 250 / 67


def test_what_is_saved_gives_the_ratio(found: dict[tuple[str, int], MeasuredPoint]) -> None:
    each = found["changes-identity", 1]
    assert each.saved is not None
    assert each.publications == pytest.approx(106 * (1 - each.saved))
    assert each.messages is not None
    assert each.break_even == pytest.approx(each.messages / (each.saved * 106))
    assert (each.extra, each.wrong) == (0, 0)


def test_simple_routing_is_continued_where_others_were_measured(
    found: dict[tuple[str, int], MeasuredPoint],
) -> None:
    tables, changes = found["tables-simple", 3], found["changes-simple", 1]
    assert (tables.is_continued, tables.entries, tables.subscriptions) == (True, 7_500, 2_010)
    assert changes.is_continued
    assert changes.saved == found["changes-identity", 1].saved


def test_a_folder_without_studies_is_said_to_have_none(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="holds no study"):
        analyze(spark, tmp_path)
