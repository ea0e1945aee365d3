"""What the clients of one process share: their orders and counts, and the record of what was published.

A broker that was restarted without a journal has forgotten its publishers: the client gets a new id, and what
was left in its window is published again under that, numbered from 1. The first number after the change says
how many those were, and so which (`Ledger`).

What should have been delivered is worked out after the run by matching every publication with every filter.
A publisher's process does it for its own publishers: it knows which event became which number, and events are
the same whenever they are made again.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import trio
from attrs import define, field

from broker.filters import Filter, parse
from broker.trace import RowFiles
from harness.runs.plan import Seat, stream_name, subscriber_seats
from harness.scenarios import Interests, Scenario, interests
from harness.traces import MATCHES

RECENT_MAX: Final = 200_000
"""Publications remembered for the case that they are published again: more than a client's window holds."""


@define(eq=False)
class Slowness:
    """How slowly a subscription is read at present; `per_second` is None if it is not slow."""

    per_second: float | None = None
    until_s: float = 0.0

    async def endure(self) -> None:
        """Take as long over a delivery as a slow program would."""
        if self.per_second is None:
            return
        left_s = self.until_s - trio.current_time()
        if left_s <= 0:
            self.per_second = None
        elif self.per_second > 0:
            await trio.sleep(min(left_s, 1 / self.per_second))
        else:
            await trio.sleep(left_s)


@define(eq=False)
class Crew:
    """The state of one process of clients. `started_s` is by Trio's clock, once `go` is set.

    `expected` counts the deliveries of what these clients published, or is None if that is not known at once.
    """

    scenario: Scenario
    addresses: Mapping[str, str]
    rows: RowFiles
    folder: Path
    go: trio.Event = field(factory=trio.Event)
    started_s: float = 0.0
    published: int = 0
    delivered: int = 0
    expected: int | None = 0
    gaps: int = 0
    publishing: int = 0
    slowness: dict[str, Slowness] = field(factory=dict)
    restarts: dict[str, list[int]] = field(factory=dict)
    ended: dict[str, str] = field(factory=dict)
    interests: Interests = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.interests = interests(self.scenario.filters, self.scenario.seed)

    def chance(self, *words: str) -> Random:
        """Return a source of chance that is the same in every run."""
        return Random("/".join((str(self.scenario.seed), *words)))  # noqa: S311 - repeatable, not secret


def is_ordered(seed: int, name: str, percent: float) -> bool:
    """Whether a subscription is one of those that ask for order."""
    chance = Random(f"{seed}/{name}/ordered")  # noqa: S311 - repeatable, not secret
    return chance.random() * 100 < percent


@define
class _Span:
    """Publications in a row under one id. `first` is the own number of the one numbered `sequence`."""

    id: str
    sequence: int
    first: int
    count: int


@define(eq=False)
class Ledger:
    """Notes every publication. `times_ns` says when each was published, however often it was sent."""

    broker: str
    _rows: RowFiles
    id: str = ""
    times_ns: "array[int]" = field(factory=lambda: array("q"), init=False, repr=False)
    _recent: deque[tuple[int, bool]] = field(factory=lambda: deque(maxlen=RECENT_MAX), init=False)
    _spans: list[_Span] = field(factory=list, init=False)

    def note(self, publisher: str, sequence: int, published_ns: int, *, ordered: bool) -> None:
        """Note that `publish` gave the next publication this number, under the id it has by now."""
        if publisher != self.id:
            self._rename(publisher, min(sequence - 1, len(self._recent)))
        self._row(sequence, published_ns, ordered=ordered)
        self._recent.append((published_ns, ordered))
        self._spans[-1].count += 1
        self.times_ns.append(published_ns)

    @property
    def count(self) -> int:
        """How many there have been."""
        return len(self.times_ns)

    def _rename(self, publisher: str, resent: int) -> None:
        """From here on it has another id, and the latest publications have been sent again under that."""
        self.id = publisher
        self._forget(resent)
        self._spans.append(_Span(publisher, 1, self.count - resent, resent))
        latest = list(self._recent)[len(self._recent) - resent :]
        for sequence, (published_ns, ordered) in enumerate(latest, 1):
            self._row(sequence, published_ns, ordered=ordered)

    def _forget(self, count: int) -> None:
        """The last publications are known under another id now."""
        while count:
            span = self._spans[-1]
            taken = min(count, span.count)
            span.count -= taken
            count -= taken
            if not span.count:
                self._spans.pop()

    def _row(self, sequence: int, published_ns: int, *, ordered: bool) -> None:
        self._rows.append(self.id, sequence, self.broker, ordered, published_ns)

    def identities(self) -> Iterator[tuple[str, int]]:
        """Every publication's last id and number, in the order in which they were published."""
        for span in self._spans:
            for offset in range(span.count):
                yield span.id, span.sequence + offset


def audience_size(crew: Crew, seat: Seat) -> int:
    """Return how many subscriptions want what a publisher publishes, if that is the same for all of it."""
    if crew.scenario.filters.kind != "overlap":
        crew.expected = None
        return 0
    event = next(crew.interests.events(seat.name, seat.place))
    return sum(len(names) for text, names in _audiences(crew) if parse(text).match(event))


def write_matches(
    crew: Crew, seats: Sequence[Seat], ledgers: Mapping[str, Ledger], restarts: Mapping[str, list[int]]
) -> None:
    """Write the matches of some publishers.

    `restarts` says when streams of subscribers began anew: each publication belongs to the stream of its
    time.
    """
    rows = MATCHES.writer(crew.folder, crew.rows.stem)
    audiences = [(parse(text), names) for text, names in _audiences(crew)]
    for seat in seats:
        for publisher, sequence, published_ns, wanted_by in _wanted(
            crew, seat, ledgers[seat.name], audiences
        ):
            for name in wanted_by:
                began_before = bisect_right(restarts.get(name, ()), published_ns)
                stream = stream_name(name, began_before)
                rows.append(stream, publisher, sequence)
    rows.flush()


def _audiences(crew: Crew) -> Iterator[tuple[str, list[str]]]:
    """Every filter, with the subscriptions that have it."""
    found: dict[str, list[str]] = {}
    for seat in subscriber_seats(crew.scenario):
        for name in seat.roles:
            found.setdefault(crew.interests.wanted(name, seat.place), []).append(name)
    yield from found.items()


def _wanted(
    crew: Crew, seat: Seat, ledger: Ledger, audiences: Sequence[tuple[Filter, list[str]]]
) -> Iterator[tuple[str, int, int, list[str]]]:
    events = islice(crew.interests.events(seat.name, seat.place), ledger.count)
    for (publisher, sequence), event, published_ns in zip(
        ledger.identities(), events, ledger.times_ns, strict=True
    ):
        for filter_, names in audiences:
            if filter_.match(event):
                yield publisher, sequence, published_ns, names
