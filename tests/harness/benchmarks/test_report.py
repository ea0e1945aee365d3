from harness.benchmarks.measurement import Latency, Throughput
from harness.benchmarks.report import Result, as_json, middle, table


def result(speed: float, delay: float) -> Result:
    return Result(
        "1 broker",
        Throughput(speed, 4 * speed),
        Throughput(2 * speed, 8 * speed),
        Latency(delay, 2 * delay),
        Latency(delay / 2, delay),
    )


def test_the_middle_run_is_taken_figure_by_figure() -> None:
    assert middle([result(1000, 3.0), result(3000, 1.0), result(2000, 2.0)]) == result(2000, 2.0)


def test_the_table_shows_each_scenario_beside_the_relay() -> None:
    heading, row = table([result(1500, 0.5)]).splitlines()
    assert len(heading) == len(row)
    assert row.split() == ["1", "broker", "1,500", "6,000", "12,000", "50%", "0.50", "1.00", "0.25", "0.50"]


def test_programs_get_every_figure_and_the_machine() -> None:
    report = as_json([result(1500, 0.5)])
    assert "Python" in str(report["machine"])
    assert report["results"] == [
        {
            "scenario": "1 broker",
            "throughput": {"events_per_s": 1500, "deliveries_per_s": 6000},
            "relay_throughput": {"events_per_s": 3000, "deliveries_per_s": 12000},
            "latency": {"p50_ms": 0.5, "p99_ms": 1.0},
            "relay_latency": {"p50_ms": 0.25, "p99_ms": 0.5},
        }
    ]
