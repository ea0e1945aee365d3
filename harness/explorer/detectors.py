"""Detectors on what simulated subscriptions deliver: where do two of them find different matches?

Every two ordered subscriptions with different filters get a detector each, for each pattern of two kinds that
both take: one kind, then the other one.

Law: detectors are compared on what both subscriptions deliver live. They may still get it in different
orders: that is what makes them differ, and nothing else can.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

from attrs import frozen

from broker.filters.constraints import Value
from broker.patterns.language import parse_pattern
from broker.patterns.machine import Detector, PatternMatch
from harness.simulator.interests import attributes_of
from harness.simulator.outcome import Outcome

Numbers = tuple[int, ...]
"""Publications of a schedule, by the order in which they were published."""


@frozen
class KindEvent:
    """A publication of a schedule, as a detector takes it."""

    kind: str
    number: int

    @property
    def attributes(self) -> Mapping[str, Value]:
        """Return the attributes of its kind."""
        return attributes_of(self.kind)

    @property
    def published_ns(self) -> int:
        """Return its number: all are published at once."""
        return self.number


@frozen
class DetectorPair:
    """The matches of one pattern at two subscriptions."""

    pattern: str
    names: tuple[str, str]
    found: tuple[tuple[Numbers, ...], tuple[Numbers, ...]]

    @property
    def agrees(self) -> bool:
        """Return whether both detectors found the same."""
        return self.found[0] == self.found[1]

    def __str__(self) -> str:
        """Return what each found."""
        found = [
            f"{name} finds {list(matches)}" for name, matches in zip(self.names, self.found, strict=True)
        ]
        return f"{self.pattern}: {', '.join(found)}"


def comparisons(outcome: Outcome) -> Iterator[DetectorPair]:
    """Yield the matches at every two subscriptions of a schedule that differ in their filters."""
    record = outcome.world.record
    streams = [(name, stream) for name, stream in record.streams.items() if stream.ordered]
    for (one, mine), (other, theirs) in combinations(streams, 2):
        if set(mine.kinds) == set(theirs.kinds):
            continue
        live = [
            [number for number in each.delivered if not each.replayed >> number & 1]
            for each in (mine, theirs)
        ]
        shared = {number for number in {*live[0]} & {*live[1]} if record.publications[number].ordered}
        events = [
            [KindEvent(record.publications[number].kind, number) for number in each if number in shared]
            for each in live
        ]
        for first, second in permutations(sorted({*mine.kinds} & {*theirs.kinds}), 2):
            pattern = f"kind == {first!r} as one then kind == {second!r} as other within 1s"
            found = _found(pattern, events[0]), _found(pattern, events[1])
            yield DetectorPair(pattern, (one, other), found)


def _found(pattern: str, events: Sequence[KindEvent]) -> tuple[Numbers, ...]:
    detector: Detector[KindEvent] = Detector(parse_pattern(pattern))
    matches = [item for event in events for item in detector.take(event) if isinstance(item, PatternMatch)]
    return tuple((match["one"].number, match["other"].number) for match in matches)
