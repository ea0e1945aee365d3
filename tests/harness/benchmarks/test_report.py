from harness.benchmarks.measurement import Latency, Throughput, Work
from harness.benchmarks.report import Result, as_json, middle_of, table, work_table


def result(speed: float, delay: float) -> Result:
    return Result(
        "1 broker",
        Throughput(speed, 4 * speed, Work(delay, 2 * delay, 3 * delay)),
        Throughput(2 * speed, 8 * speed, Work(0.25, 0.5, 0.75)),
        Latency(delay, 2 * delay, None, delay),
        Latency(delay / 2, delay, None, delay / 2),
    )


def test_the_middle_run_is_taken_figure_by_figure() -> None:
    assert middle_of([result(1000, 3.0), result(3000, 1.0), result(2000, 2.0)]) == result(2000, 2.0)


def test_the_table_shows_each_scenario_beside_the_relay() -> None:
    heading, row = table([result(1500, 0.5)]).splitlines()
    assert len(heading) == len(row)
    assert row.split() == ["1", "broker", "1,500", "6,000", "12,000", "50%", "0.50", "1.00", "0.25", "0.50"]


def test_the_work_of_a_delivery_is_shown_beside_the_relay() -> None:
    row = work_table([result(1500, 0.5)]).splitlines()[-1]
    assert row.split() == ["1", "broker", "0.50", "1.00", "1.50", "0.25", "0.50", "0.75"]


def test_programs_get_every_figure_and_the_machine() -> None:
    report = as_json([result(1500, 0.5)])
    assert "Python" in str(report["machine"])
    assert report["results"] == [
        {
            "scenario": "1 broker",
            "throughput": {
                "events_per_s": 1500,
                "deliveries_per_s": 6000,
                "work": {"publishers_us": 0.5, "brokers_us": 1.0, "subscribers_us": 1.5},
            },
            "relay_throughput": {
                "events_per_s": 3000,
                "deliveries_per_s": 12000,
                "work": {"publishers_us": 0.25, "brokers_us": 0.5, "subscribers_us": 0.75},
            },
            "latency": {"p50_ms": 0.5, "p99_ms": 1.0, "own_p50_ms": None, "other_p50_ms": 0.5},
            "relay_latency": {"p50_ms": 0.25, "p99_ms": 0.5, "own_p50_ms": None, "other_p50_ms": 0.25},
        }
    ]
