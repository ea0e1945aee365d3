from random import Random

import pytest

from harness.watch import verdict
from harness.watch.verdict import LiveVerdict, Witness


def inverted(one: list[int], other: list[int]) -> int:
    """The pairs of events that two streams have in different orders, one by one."""
    common = [each for each in one if each in set(other)]
    places = [other.index(each) for each in common]
    return sum(first > second for at, second in enumerate(places) for first in places[:at])


def test_disagreements_are_counted_once_however_deliveries_are_divided_into_batches() -> None:
    random = Random(1)
    for _ in range(100):
        streams = {name: random.sample(range(30), random.randrange(25)) for name in ("A", "B", "C")}
        live = LiveVerdict([*streams])
        left = {name: [*events] for name, events in streams.items()}
        while any(left.values()):
            name = random.choice([each for each, events in left.items() if events])
            live.deliver(name, ("p", left[name].pop(0)))
            if random.random() < 0.2:
                live.settle()
        live.settle()
        for (one, other), pair in live.pairs.items():
            assert pair.disagreement_count == inverted(streams[one], streams[other])
            assert pair.common_count == len({*streams[one]} & {*streams[other]})
            assert (pair.witness is None) == (not pair.disagreement_count)


def test_a_disagreement_has_a_witness_and_gaps_are_counted() -> None:
    live = LiveVerdict(["A", "B"])
    for name, order in (("A", (1, 2)), ("B", (2, 1))):
        for number in order:
            live.deliver(name, ("p", number))
    live.miss("B")
    live.settle()
    (pair,) = live.pairs.values()
    assert pair.witness == Witness(("p", 1), ("p", 2))
    assert (live.disagreement_count, live.delivered_count) == (1, 4)
    assert [each.gap_count for each in live.subscriptions.values()] == [0, 1]


def test_memory_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "COMMON_KEPT", 10)
    monkeypatch.setattr(verdict, "EVENTS_KEPT", 20)
    live = LiveVerdict(["A", "B"])
    for number in range(100):
        for name, at in (("A", number), ("B", number ^ 1)):
            live.deliver(name, ("p", at))
        live.settle()
    (pair,) = live.pairs.values()
    assert pair.disagreement_count == 50
    assert len(live._events) == 20
    assert len(pair._places) == len(pair._keys) == 10
