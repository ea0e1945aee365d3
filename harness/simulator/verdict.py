"""A quick verdict on a record: the promises of the protocol, in a few operations on bits per delivery.

The checker in `ordering` judges the same at length, with a witness in words; a campaign calls it only where
this one finds a fault, and for a sample of the rest. The formal promises always have their own checker.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations

from harness.simulator.record import PublishedEvent, Record, Stream
from ordering.promises import Trace, check

Fault = tuple[str, str]
"""The kind of promise that was broken, and how, in words."""


def faults_in(record: Record) -> list[Fault]:
    """Return everything that breaks a promise about order and integrity."""
    return [
        *_duplicates(record),
        *_own_order(record),
        *_causal(record),
        *_pairs(record),
        *_past_order(record),
    ]


def integrity_of(record: Record) -> list[Fault]:
    """Return what was delivered twice, against its filter, or before an earlier one of its publisher."""
    return [*_duplicates(record), *_own_order(record)]


def missing_in(record: Record, subscribers: list[str]) -> list[Fault]:
    """Return the deliveries that these subscriptions owe (see `owing`) and did not make."""
    return [
        ("missing", f"{name} never got {published}")
        for name in subscribers
        for number, published in enumerate(record.publications)
        if name in published.owed and not record.streams[name].seen >> number & 1
    ]


def unreported_in(record: Record, pairs: list[tuple[str, str]]) -> list[Fault]:
    """Return what each subscription misses of the publisher beside it without a gap in its place.

    The place is behind the last earlier delivery of that publisher, and before the next later one.
    """
    return [
        ("gap", f"{name} never got {missed}, and no gap says so in its place")
        for name, publisher in pairs
        for missed, place in _missed(record, name, publisher)
        if not any(gap in place for gap in record.streams[name].gaps)
    ]


def never_reported_in(record: Record, pairs: list[tuple[str, str]]) -> list[Fault]:
    """Return what is missing without a gap in its place or later: wrong tables may be found later."""
    return [
        ("gap", f"{name} never got {missed}, and no gap says so then or later")
        for name, publisher in pairs
        for missed, place in _missed(record, name, publisher)
        if not any(gap >= place.start for gap in record.streams[name].gaps)
    ]


def _missed(record: Record, name: str, publisher: str) -> Iterator[tuple[PublishedEvent, range]]:
    """Yield each run that a subscription misses of a publisher, with the positions where a gap belongs."""
    stream = record.streams[name]
    after, missed = 0, None
    position_of = {number: position for position, number in enumerate(stream.delivered)}
    for number, published in enumerate(record.publications):
        if published.publisher != publisher:
            continue
        position = position_of.get(number)
        if position is not None and stream.replayed >> number & 1:
            after, missed = position + 1, None  # A replay of the newest events owes none of the earlier ones.
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
    """Return the axioms of the formal specifications that are broken, each with its first witness."""
    promises = check(Trace(record.operations, record.matches))
    return [("promise", f"{axiom}: {promises[axiom].witnesses[0]}") for axiom in promises.broken]


def past_missing_in(record: Record, missing: Iterable[tuple[str, int]]) -> list[Fault]:
    """Return what was not replayed and is owed (see `past`)."""
    return [
        ("missing", f"{name} never got {record.publications[number]} of the past") for name, number in missing
    ]


def _duplicates(record: Record) -> Iterator[Fault]:
    for stream in record.streams.values():
        for _, text in stream.faults:
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
                # A publisher whose clock is behind is replayed too early, as documented.
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
    """Check that replays have one order for all; where caches hold everything, the order of the clocks."""
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
    # A duplicate has a fault of its own; order is about the first delivery.
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
