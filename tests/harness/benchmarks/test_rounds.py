from harness.benchmarks.measurement import Latency, Throughput, Work
from harness.benchmarks.rounds import BenchmarkScenario, middle_of
from harness.benchmarks.throughput import RATES, WORK, ThroughputResult
from harness.tables import table


def result(speed: float, delay: float) -> ThroughputResult:
    return ThroughputResult(
        "1 broker",
        Throughput(speed, 4 * speed, Work(delay, 2 * delay, 3 * delay)),
        Throughput(2 * speed, 8 * speed, Work(0.25, 0.5, 0.75)),
        Latency(delay, 2 * delay, None, delay),
        Latency(delay / 2, delay, None, delay / 2),
    )


def test_the_middle_run_is_taken_figure_by_figure() -> None:
    assert middle_of([result(1000, 3.0), result(3000, 1.0), result(2000, 2.0)]) == result(2000, 2.0)


def test_the_table_shows_each_scenario_beside_the_relay() -> None:
    heading, row = table(RATES, [result(1500, 0.5)]).text().splitlines()
    assert len(heading) == len(row)
    assert row.split() == ["1", "broker", "1,500", "6,000", "12,000", "50%", "0.50", "1.00", "0.25", "0.50"]


def test_the_work_of_a_delivery_is_shown_beside_the_relay() -> None:
    row = table(WORK, [result(1500, 0.5)]).text().splitlines()[-1]
    assert row.split() == ["1", "broker", "0.50", "1.00", "1.50", "0.25", "0.50", "0.75"]


def test_brokers_in_a_chain_have_the_one_before_as_uplink() -> None:
    assert BenchmarkScenario("", 3, 1, 1).uplinks() == {"B1": None, "B2": "B1", "B3": "B2"}


def test_brokers_in_a_star_have_the_first_as_uplink() -> None:
    assert BenchmarkScenario("", 3, 1, 1, is_star=True).uplinks() == {"B1": None, "B2": "B1", "B3": "B1"}
