"""What should have been delivered, worked out by matching every publication with every filter.

A publisher's process does it for its own publishers, after the run: it knows which event became which number
(`Ledger`), and events are the same whenever they are made again.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from broker.filters import Filter, parse
from harness.runs.crew import Crew
from harness.runs.ledger import Ledger
from harness.runs.plan import Seat, stream_name, subscriber_seats
from harness.traces import MATCHES

__all__ = ["audience_size", "write_matches"]


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
