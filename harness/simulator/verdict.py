"""A quick verdict on a record: the promises of the protocol, in a few operations on bits per delivery.

The checker in `ordering` says the same at length, with a witness in words; a campaign asks it only about what
this finds, and about a sample of the rest. The formal promises are judged by their own checker, always.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations

from harness.simulator.record import PublishedEvent, Record, Stream
from ordering.promises import Trace, check

Fault = tuple[str, str]
"""The kind of promise that was broken, and how, in words."""


def faults_in(record: Record) -> list[Fault]:
    """Everything that breaks a promise about order and integrity."""
    return [
        *_duplicates(record),
        *_own_order(record),
        *_causal(record),
        *_pairs(record),
        *_past_order(record),
    ]


def integrity_of(record: Record) -> list[Fault]:
    """What was delivered twice, to whom it does not match, or before an earlier one of its publisher."""
    return [*_duplicates(record), *_own_order(record)]


def missing_in(record: Record, subscribers: list[str]) -> list[Fault]:
    """What these subscriptions should have delivered and did not (`owing` says what that is)."""
    return [
        ("missing", f"{name} never got {published}")
        for name in subscribers
        for number, published in enumerate(record.publications)
        if name in published.owed and not record.streams[name].seen >> number & 1
    ]


def untold_in(record: Record, pairs: list[tuple[str, str]]) -> list[Fault]:
    """What these subscriptions miss of these publishers without a gap in its place.

    In its place: behind what came of that publisher before it, and before what came of it afterwards.
    """
    return [
        ("gap", f"{name} never got {missed}, and no gap says so in its place")
        for name, publisher in pairs
        for missed, place in _missed(record, name, publisher)
        if not any(gap in place for gap in record.streams[name].gaps)
    ]


def never_told_in(record: Record, pairs: list[tuple[str, str]]) -> list[Fault]:
    """The same without a gap in its place or later: it is told when it is found that tables were wrong."""
    return [
        ("gap", f"{name} never got {missed}, and no gap says so then or later")
        for name, publisher in pairs
        for missed, place in _missed(record, name, publisher)
        if not any(gap >= place.start for gap in record.streams[name].gaps)
    ]


def _missed(record: Record, name: str, publisher: str) -> Iterator[tuple[PublishedEvent, range]]:
    """What a subscription did not deliver of a publisher, and between which of its deliveries."""
    stream = record.streams[name]
    after, missed = 0, None
    position_of = {number: position for position, number in enumerate(stream.delivered)}
    for number, published in enumerate(record.publications):
        if published.publisher != publisher:
            continue
        position = position_of.get(number)
        if position is not None and stream.replayed >> number & 1:
            after, missed = position + 1, None  # Whoever asks for the newest past is owed nothing before it.
            continue
        if position is None:
            missed = missed or (published if name in published.wanted else None)
            continue
        if missed is not None:
            yield missed, range(after, position + 1)
        after, missed = position + 1, None
    if missed is not None:
        yield missed, range(after, len(stream.delivered) + 1)


def broken_axioms(record: Record) -> list[Fault]:
    """What breaks an axiom of the formal specifications, with its first witness."""
    promises = check(Trace(record.operations, record.matches))
    return [("promise", f"{axiom}: {promises[axiom].witnesses[0]}") for axiom in promises.broken]


def past_missing_in(record: Record, missing: Iterable[tuple[str, int]]) -> list[Fault]:
    """What was not replayed and should have been (`past` says what that is)."""
    return [
        ("missing", f"{name} never got {record.publications[number]} of the past") for name, number in missing
    ]


def _duplicates(record: Record) -> Iterator[Fault]:
    for stream in record.streams.values():
        for text in stream.faults:
            yield "duplicate", text


def _own_order(record: Record) -> Iterator[Fault]:
    for name, stream in record.streams.items():
        last: dict[str, int] = {}
        for number in stream.delivered:
            published = record.publications[number]
            if last.get(published.publisher, 0) > published.sequence:
                yield "publisher", f"{name} got {published} after a later one of {published.publisher}"
            last[published.publisher] = published.sequence


def _causal(record: Record) -> Iterator[Fault]:
    for name, stream in record.streams.items():
        before = 0
        for number in stream.delivered:
            published = record.publications[number]
            late = published.past & stream.seen & ~before
            if late and not record.clocks_agree and stream.replayed >> number & 1:
                # Whose clock is behind is replayed too early: so it is told.
                late &= ~stream.replayed
            if late:
                cause = record.publications[late.bit_length() - 1]
                yield "causal", f"{name} got {published} before {cause}, which came before it"
            before |= 1 << number


def _pairs(record: Record) -> Iterator[Fault]:
    ordered = sum(1 << n for n, published in enumerate(record.publications) if published.ordered)
    streams = [(name, stream) for name, stream in record.streams.items() if stream.ordered]
    for (one, a), (other, b) in combinations(streams, 2):
        common = a.seen & ~a.replayed & b.seen & ~b.replayed & ordered
        if common & (common - 1):
            views = _restricted(a, common), _restricted(b, common)
            if views[0] != views[1]:
                yield "pairwise", _disagreement(record, (one, other), views)


def _past_order(record: Record) -> Iterator[Fault]:
    """What is replayed is in one order for all; where nothing is forgotten, in the order of the clocks."""
    streams = [(name, stream) for name, stream in record.streams.items() if stream.replayed]
    for (one, a), (other, b) in combinations(streams, 2):
        views = _restricted(a, a.replayed & b.replayed), _restricted(b, a.replayed & b.replayed)
        if views[0] != views[1]:
            yield "replay", _disagreement(record, (one, other), views)
    if not record.caches_hold:
        return
    order = _order_of_past(record)
    for name, stream in streams:
        view = [order[number] for number in _restricted(stream, stream.replayed)]
        if view != sorted(view):
            yield "replay", f"{name} did not get the past in the order of time, publisher and sequence"


def _order_of_past(record: Record) -> list[tuple[int, str, int]]:
    order, latest = [], dict[str, int]()
    for each in record.publications:
        at_ns = latest[each.publisher] = max(each.published_ns, latest.get(each.publisher, 0))
        order.append((at_ns, each.publisher, each.sequence))
    return order


def _restricted(stream: Stream, common: int) -> list[int]:
    found = [number for number in stream.delivered if common >> number & 1]
    # What came twice is told as such; order is about the first time.
    return list(dict.fromkeys(found)) if stream.faults else found


def _disagreement(record: Record, names: tuple[str, str], views: tuple[list[int], list[int]]) -> str:
    places = [{number: place for place, number in enumerate(view)} for view in views]
    first = next(place for place, (x, y) in enumerate(zip(*views, strict=False)) if x != y)
    p, q = views[0][first], views[1][first]
    assert places[1][p] > places[1][q]
    return (
        f"{names[0]} got {record.publications[p]} before {record.publications[q]}, "
        f"{names[1]} the other way round"
    )
