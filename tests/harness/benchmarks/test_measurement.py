import pytest

from harness.benchmarks.measurement import Target, latency, throughput
from harness.benchmarks.rounds import BenchmarkScenario, RoundTiming

BRIEF = RoundTiming(repeat=1, warm_up_s=0.1, measure_s=0.5)


@pytest.mark.parametrize("kind", ["relay", "concord"])
async def test_everything_published_through_a_chain_is_delivered_to_everyone(kind: str) -> None:
    scenario = BenchmarkScenario("small", brokers=2, publishers=2, subscribers=3, subscriber_processes=2)
    delay = await latency(Target(kind), scenario, BRIEF)
    assert 0 < delay.p50_ms <= delay.p99_ms


@pytest.mark.parametrize("kind", ["relay", "concord"])
async def test_deliveries_are_counted_while_publishers_publish(kind: str) -> None:
    scenario = BenchmarkScenario("small", brokers=1, publishers=1, subscribers=2)
    flow = await throughput(Target(kind), scenario, BRIEF)
    assert flow.events_per_s > 0
    assert flow.deliveries_per_s > flow.events_per_s
    assert flow.work.brokers_us >= 0
