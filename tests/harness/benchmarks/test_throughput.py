import json

import pytest
from click.testing import CliRunner

from harness.benchmarks import throughput
from harness.benchmarks.measurement import Latency, Target, Throughput, Work
from harness.benchmarks.rounds import SCENARIOS, BenchmarkScenario, RoundTiming


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was measured, without measuring it: the second run is the slowest, the first the fastest."""
    done: list[tuple[str, str]] = []
    speeds = iter([300.0, 100.0, 200.0] * 100)

    async def flow(target: Target, scenario: BenchmarkScenario, _timing: RoundTiming) -> Throughput:
        done.append((target.kind, scenario.name))
        speed = next(speeds) if target.kind == "concord" else 1000.0
        return Throughput(speed, speed, Work(1.0, 1.0, 1.0))

    async def delay(_target: Target, _scenario: BenchmarkScenario, _timing: RoundTiming) -> Latency:
        return Latency(1.0, 2.0, None, 1.0)

    monkeypatch.setattr(throughput, "throughput", flow)
    monkeypatch.setattr(throughput, "latency", delay)
    return done


def test_the_relay_is_measured_right_after_what_it_is_compared_with(measured: list[tuple[str, str]]) -> None:
    CliRunner().invoke(throughput.command, ["--quick"], catch_exceptions=False)
    assert measured == [(kind, each.name) for each in SCENARIOS for kind in ("concord", "relay")]


@pytest.mark.usefixtures("measured")
def test_medians_of_all_runs_are_reported() -> None:
    outcome = CliRunner().invoke(throughput.command, ["--only", "10 x 50", "--json"], catch_exceptions=False)
    (result,) = json.loads(outcome.stdout)["results"]
    assert result["throughput"]["deliveries_per_s"] == 200.0


@pytest.mark.usefixtures("measured")
def test_programs_get_every_figure_and_the_machine() -> None:
    outcome = CliRunner().invoke(throughput.command, ["--quick", "--only", "4 x 4", "--json"])
    report = json.loads(outcome.stdout)
    assert "Python" in report["machine"]
    work = {"publishers_us": 1.0, "brokers_us": 1.0, "subscribers_us": 1.0}
    delay = {"p50_ms": 1.0, "p99_ms": 2.0, "own_p50_ms": None, "other_p50_ms": 1.0}
    assert report["results"][0] == {
        "scenario": "1 broker, 4 x 4",
        "throughput": {"events_per_s": 300.0, "deliveries_per_s": 300.0, "work": work},
        "relay_throughput": {"events_per_s": 1000.0, "deliveries_per_s": 1000.0, "work": work},
        "latency": delay,
        "relay_latency": delay,
    }


def test_a_scenario_that_is_not_there_is_refused_with_those_that_are() -> None:
    outcome = CliRunner().invoke(throughput.command, ["--only", "7 x 7"])
    assert outcome.exit_code == 2
    assert "1 broker, 10 x 50" in outcome.stderr
