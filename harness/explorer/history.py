"""A simulated record as a history for the checker of `ordering`, and the checker's verdict on it."""

from collections.abc import Iterator

from harness.simulator.outcome import Outcome
from harness.simulator.record import Record, Stream
from harness.simulator.verdict import Fault
from ordering.verdicts import History, HistoryEvent, HistorySubscription, Key, check

SAME_KIND = {"unpublished": "duplicate", "unmatched": "duplicate"}
"""The kinds of the checker that count as one kind in a campaign."""


def second_opinion(outcome: Outcome) -> list[Fault]:
    """Judge the record with the checker; return the faults with their smallest witnesses."""
    verdicts = check(history_of(outcome))
    return [(SAME_KIND.get(v.kind, v.kind), v.text) for v in verdicts.violations]


def history_of(outcome: Outcome) -> History:
    """Return the history of a schedule; if memory changed, from its repair on."""
    record, leasing = outcome.world.record, outcome.world.leasing
    if leasing.corruptions:
        record = record.since(leasing.sound_from)
    owed = {name: set[Key]() for name in outcome.world.subscribers}
    for published in record.publications:
        for name in published.owed:
            if name in owed:
                owed[name].add((published.publisher, published.sequence))
    return History(
        [
            HistoryEvent(p.publisher, p.sequence, p.broker, p.ordered, _reads(record, p.read))
            for p in record.publications
        ],
        [
            each
            for name, stream in record.streams.items()
            for each in _subscriptions(record, name, stream, owed)
        ],
        {
            site.name: site.core.uplink.name if site.core.uplink is not None else ""
            for site in outcome.world.sites.values()
        },
        [text for kind, text in outcome.faults if kind == "stuck"],
    )


def _subscriptions(
    record: Record, name: str, stream: Stream, owed: dict[str, set[Key]]
) -> Iterator[HistorySubscription]:
    """Yield a subscription; its replayed deliveries are another one, as live order does not bind them."""
    keys = [(published.publisher, published.sequence) for published in record.publications]
    matching = {
        key
        for key, published in zip(keys, record.publications, strict=True)
        if published.kind in stream.kinds
    }
    past = _pasts(record, name, stream)
    live = [keys[number] for number in stream.delivered if not stream.replayed >> number & 1]
    still_owed = owed.get(name)
    for part, numbers in past.items():
        replayed = [keys[number] for number in numbers]
        yield HistorySubscription(part, replayed, stream.broker, ordered=False, matching=matching, owed=None)
        still_owed = None if still_owed is None else still_owed - set(replayed)
    yield HistorySubscription(name, live, stream.broker, stream.ordered, matching, still_owed)


def _pasts(record: Record, name: str, stream: Stream, count: int | None = None) -> dict[str, list[int]]:
    """Return the replayed deliveries, or the first `count`; each publisher's alone where clocks differ.

    A replay is in the order of the clocks: where these do not agree, it need not be in causal order.
    """
    parts: dict[str, list[int]] = {}
    replayed = [number for number in stream.delivered if stream.replayed >> number & 1]
    for number in replayed[:count]:
        publisher = "" if record.clocks_agree else f" of {record.publications[number].publisher}"
        parts.setdefault(f"{name}, replayed{publisher}", []).append(number)
    return parts


def _reads(record: Record, read: tuple[str, int] | None) -> tuple[tuple[str, int], ...]:
    if read is None:
        return ()
    name, count = read
    stream = record.streams[name]
    past = stream.replayed.bit_count()
    parts = _pasts(record, name, stream, min(count, past))
    whole = tuple((part, len(numbers)) for part, numbers in parts.items())
    return (*whole, (name, count - past)) if count > past else whole
