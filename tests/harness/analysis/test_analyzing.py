import tempfile
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from harness.analysis import scaling
from harness.analysis.analyzing import analyze
from harness.analysis.promises import AnalysisError, UnknownVerdictError
from harness.analysis.synthetic import SyntheticShape, make, rows, write_dataset
from ordering.verdicts import History, HistoryEvent, HistorySubscription, check, report
from tests.harness.analysis.datasets import together, written
from tests.ordering.verdicts.histories import clean_histories, histories

pytestmark = pytest.mark.timeout(300)
"""Spark takes its time, and the first of the tests waits for it to start."""

COUNTS = (
    "pairs",
    "pairs_out_of_order",
    "inversions",
    "publisher_violations",
    "duplicates",
    "unpublished",
    "unmatched",
    "missing",
)

# Each example is a job of seconds, and holds twenty histories: few examples are many histories. Shrinking one
# would take minutes, and `ordering.verdicts` reports the difference.
few = settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


def merged(one: st.SearchStrategy[History]) -> st.SearchStrategy[History]:
    return st.lists(one, min_size=20, max_size=30).map(together)


def analysed(spark: SparkSession, history: History, long: int = 1 << 21) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        return analyze(spark, written(Path(folder), history), long=long)


def listed(value: object) -> list[Any]:
    assert isinstance(value, list)
    return value


def counts_of(history: History) -> dict[str, int]:
    found: dict[str, int] = {}
    for verdict in check(history):
        found |= verdict.counts
    return {name: found[name] for name in COUNTS}


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # an example is many histories
@few
@given(merged(histories(most=9)), st.sampled_from([1, 3, 1 << 21]))
def test_spark_and_the_plain_checker_give_the_same_answers(
    spark: SparkSession, history: History, long: int
) -> None:
    assume(history.subscriptions)
    analysis = analysed(spark, history, long)
    assert {name: analysis[name] for name in COUNTS} == counts_of(history)
    plain = report(history)
    reports: Any = analysis["reports"]
    assert reports["acyclic"]["outcome"] is plain.acyclic.outcome
    assert {name: reports["local"][name] for name in plain.local.counts} == dict(plain.local.counts)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # an example is many histories
@few
@given(merged(clean_histories()), st.data())
def test_a_planted_violation_is_counted_as_the_plain_checker_counts_it(
    spark: SparkSession, history: History, data: st.DataObject
) -> None:
    clean = history
    long = [each for each in clean.subscriptions if len(each.delivered) > 1]
    assume(long)
    victim = data.draw(st.sampled_from(long))
    first = data.draw(st.integers(0, len(victim.delivered) - 2))
    delivered = list(victim.delivered)
    delivered[first : first + 2] = reversed(delivered[first : first + 2])
    planted = attrs.evolve(
        clean,
        subscriptions=[
            attrs.evolve(each, delivered=delivered) if each is victim else each
            for each in clean.subscriptions
        ],
    )
    analysis = analysed(spark, planted)
    assert {name: analysis[name] for name in COUNTS} == counts_of(planted)


def orders(*views: str) -> History:
    """Views in letters: each letter is a publisher's only publication."""
    letters = sorted(set("".join(views)))
    return History(
        [HistoryEvent(letter, 1, "B0") for letter in letters],
        [
            HistorySubscription(f"s{index}", [(letter, 1) for letter in view], f"B{index}")
            for index, view in enumerate(views)
        ],
    )


def test_figures_are_those_of_their_definitions(spark: SparkSession) -> None:
    analysis = analysed(spark, orders("abcd", "abdc", "dx"))
    assert (analysis["pairs"], analysis["pairs_out_of_order"], analysis["inversions"]) == (1, 1, 1)
    assert analysis["ordering_degree"] == pytest.approx((4 + 4 + 3 + 3) / 16)
    assert (
        analysis["ordering_degree_sample"] == analysis["ordering_degree_min"] == analysis["ordering_degree"]
    )
    assert analysis["displacement"] == {"0": 2, "1": 2}
    assert analysis["publications_per_conflict"] == 4


def test_a_violation_is_reported_with_each_view(spark: SparkSession) -> None:
    (witness,) = listed(analysed(spark, orders("pq", "qp"))["witnesses"])
    assert witness["text"] == (
        "s0 at B0 delivers p/1 before q/1 (deliveries 0 and 1); "
        "s1 at B1 delivers q/1 before p/1 (deliveries 0 and 1)"
    )
    assert [each["publisher"] for each in witness["publications"]] == ["p", "q"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make(tmp_path, SyntheticShape(subscribers=6, publishers=3, deliveries=600, disorder=3.0))


def refused(spark: SparkSession, run: Path) -> str:
    with pytest.raises(UnknownVerdictError) as caught:
        analyze(spark, run)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_latencies_are_reported_by_distance(spark: SparkSession, run: Path) -> None:
    analysis = analyze(spark, run)
    latency, by_distance = analysis["latency_ms"], analysis["latency_by_distance_ms"]
    assert isinstance(latency, dict)
    assert isinstance(by_distance, dict)
    assert latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p999"] <= latency["max"]
    assert analysis["latency_same_broker_ms"] == by_distance["0"]


def test_faults_are_reported_with_the_longest_pause_after_them(spark: SparkSession, run: Path) -> None:
    fault = {"at_ns": 1_700_000_000_000_000_000, "kind": "crash", "target": "B1", "detail": ""}
    write_dataset(run, "faults", rows("faults", [fault]))
    (fault,) = listed(analyze(spark, run)["faults"])
    assert (fault["at_s"], fault["kind"], fault["target"]) == (0.0, "crash", "B1")
    assert 0 < fault["pause_ms"]["p50"] <= fault["pause_ms"]["max"] < 1_000


def test_counters_are_added_up_over_restarts(spark: SparkSession, run: Path) -> None:
    readings = [(1, 10.0), (2, 30.0), (3, 5.0), (4, 6.0)]
    values = [
        {"broker": "B1", "at_ns": at_ns, "counter": "acknowledgements_out", "value": value}
        for at_ns, value in readings
    ]
    write_dataset(run, "brokers", rows("brokers", values))
    traffic = analyze(spark, run)["traffic"]
    assert traffic == {"publications": None, "acknowledgements": 36, "control": None, "bytes": None}


def test_causal_order_is_known_where_publishers_read_nothing(spark: SparkSession, run: Path) -> None:
    seen = {
        "publisher": "publisher-0000@B0/1",
        "sequence": 2,
        "subscriber": "subscriber-00001@B1/1",
        "count": 1,
    }
    for rows_seen, outcome in (([], True), ([seen], None)):
        write_dataset(run, "seen", rows("seen", rows_seen))
        verdicts = analyze(spark, run)["verdicts"]
        assert isinstance(verdicts, dict)
        assert verdicts["causal"]["outcome"] is outcome


def test_a_missing_dataset_leaves_the_verdict_unknown(spark: SparkSession, run: Path) -> None:
    for path in (run / "deliveries").iterdir():
        path.unlink()
    assert "deliveries holds no Parquet file" in refused(spark, run)
    (run / "deliveries").rmdir()
    assert "deliveries is missing" in refused(spark, run)


def test_a_corrupt_file_is_named(spark: SparkSession, run: Path) -> None:
    (run / "publications" / "part-9.parquet").write_bytes(b"PAR1 but no more")
    assert "publications/part-9.parquet cannot be read as Parquet" in refused(spark, run)


def test_a_file_that_is_whole_at_its_end_alone_is_named_too(spark: SparkSession, run: Path) -> None:
    path = next((run / "deliveries").iterdir())
    contents = bytearray(path.read_bytes())
    contents[4 : len(contents) // 2] = bytes(len(contents) // 2 - 4)
    path.write_bytes(contents)
    assert "cannot be analysed" in refused(spark, run)


def test_a_column_of_another_type_or_none_is_named(spark: SparkSession, run: Path) -> None:
    path = run / "faults"
    write_dataset(run, "faults", rows("faults", []).drop_columns(["kind"]))
    assert "faults/part-00000.parquet has no column kind" in refused(spark, run)
    broken = rows("faults", [])
    broken = broken.set_column(0, "at_ns", broken.column("kind"))
    write_dataset(run, "faults", broken)
    assert "column at_ns is string and should be bigint" in refused(spark, run)
    assert path.is_dir()


def test_an_empty_run_has_no_verdict(spark: SparkSession, run: Path) -> None:
    for path in (run / "deliveries").iterdir():
        path.unlink()
    write_dataset(run, "deliveries", rows("deliveries", []))
    assert "nothing was delivered" in refused(spark, run)


def test_a_subscription_that_delivered_nothing_has_no_verdict(spark: SparkSession, run: Path) -> None:
    owed = [{"subscriber": "silent", "publisher": "publisher-0000@B0/1", "sequence": 1}]
    write_dataset(run, "matches", rows("matches", owed))
    assert refused(spark, run).startswith("silent delivered nothing")


def test_a_position_that_occurs_twice_has_no_verdict(spark: SparkSession, run: Path) -> None:
    again = {
        "subscriber": "subscriber-00001@B1/1",
        "broker": "B1",
        "position": 3,
        "publisher": "publisher-0001@B1/1",
        "sequence": 1,
        "delivered_ns": 1,
    }
    write_dataset(run, "deliveries", rows("deliveries", [again]), "more")
    assert "position of subscriber-00001@B1/1 twice" in refused(spark, run)


def test_a_directory_that_is_not_there_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="is no directory"):
        analyze(spark, tmp_path / "nowhere")


def test_the_time_and_the_memory_of_an_analysis_are_measured(spark: SparkSession) -> None:
    shape = SyntheticShape(subscribers=4, publishers=2, deliveries=400, disorder=3)
    found = scaling.measure(spark, shape)
    assert (found["pairs"], found["subscribers"]) == (6, 4)
    assert found["inversions"] > 0
    assert found["seconds"] > 0
    # Java alone has a hundred megabytes.
    assert found["peak_mb"] > 100
