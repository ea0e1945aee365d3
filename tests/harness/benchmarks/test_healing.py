"""Five real brokers, two of which are killed for good: the rest goes on, in order."""

from harness.benchmarks.healing import AFTERWARDS, faults_in, measure


async def test_subscribers_go_on_in_order_when_the_root_and_a_middle_broker_are_killed() -> None:
    healing = await measure(link_timeout_s=1)
    assert healing.faults == []
    assert healing.deliveries > 2 * AFTERWARDS
    assert healing.healed_after_s > 0


def test_what_is_out_of_order_is_found() -> None:
    assert faults_in([("B4", 1), ("B5", 1)], [("B4", 1), ("B4", 2), ("B5", 1)]) == []
    assert faults_in([("B4", 1), ("B5", 1)], [("B5", 1), ("B4", 1)]) == [
        "the two got the same events in different order"
    ]
    assert faults_in([("B4", 2), ("B4", 1)], [])[0].startswith("one got events of B4")
    assert faults_in([], [("B5", 1), ("B5", 1)])[0].startswith("the other got events of B5")
