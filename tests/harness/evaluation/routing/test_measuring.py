from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.evaluation.routing import measuring
from harness.evaluation.routing.measuring import Measuring
from harness.evaluation.routing.studies import STUDIES, RoutingStudy, quick
from harness.evaluation.routing.thesis import thesis_tree

TREE = thesis_tree(levels=2)
WAYS = RoutingStudy(
    "s", "changes", "quotes", "identity", "simple", (1, 2), changes=True, events="each", rounds=3
)


def rows(folder: Path, dataset: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / dataset).to_pylist()
    return found


def measured(study: RoutingStudy, folder: Path, seed: int = 0) -> Path:
    Measuring(study, TREE, folder, seed).run()
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(WAYS, tmp_path_factory.mktemp("study"))


def test_a_study_depends_on_its_seed_alone(folder: Path, tmp_path: Path) -> None:
    again, other = measured(WAYS, tmp_path / "again"), measured(WAYS, tmp_path / "other", seed=1)
    for dataset in ("tables", "changes", "events", "expected"):
        assert rows(again, dataset) == rows(folder, dataset)
    assert rows(other, "changes") != rows(folder, "changes")


def test_tables_are_those_from_scratch_and_quotes_go_nowhere_else(folder: Path) -> None:
    found = {(row["consumers"], row["broker"]): row["entries"] for row in rows(folder, "tables")}
    assert found == {(row["consumers"], row["broker"]): row["entries"] for row in rows(folder, "expected")}
    assert sum(found.values()) > 0
    events = rows(folder, "events")
    assert len(events) == 2 * 1_000
    assert all(row["messages"] == row["needed"] and row["delivered"] == row["wanted"] for row in events)


def test_every_local_broker_has_a_change_in_every_round(folder: Path) -> None:
    changes = rows(folder, "changes")
    assert {(row["consumers"], row["round"], row["broker"]) for row in changes} == {
        (consumers, number, place.name)
        for consumers in (1, 2)
        for number in range(3)
        for place in TREE.locals
    }
    assert {row["is_added"] for row in changes} == {True, False}


def test_a_change_costs_simple_routing_its_way_to_the_source(tmp_path: Path) -> None:
    study = RoutingStudy("s", "changes", "quotes", "simple", "simple", (2,), changes=True, rounds=2)
    changes = rows(measured(study, tmp_path), "changes")
    assert sum(row["messages"] for row in changes) / len(changes) == pytest.approx((1 + 6 * 2) / 7)


def test_imperfect_merging_sends_too_much_and_delivers_what_is_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(measuring, "QUOTES", 500)
    study = RoutingStudy("s", "factors", "windows", "merging:2.5", "simple", (20,), events="random")
    events = rows(measured(study, tmp_path), "events")
    assert sum(row["messages"] for row in events) > sum(row["needed"] for row in events)
    assert all(row["delivered"] == row["wanted"] for row in events)


def test_studies_have_names_of_their_own_and_the_quick_ones_are_smaller() -> None:
    assert len({study.name for study in STUDIES}) == len(STUDIES)
    full = {study.name: study for study in STUDIES}
    for study in quick(STUDIES):
        assert max(study.consumers) <= 20
        assert set(study.consumers) <= set(full[study.name].consumers)
