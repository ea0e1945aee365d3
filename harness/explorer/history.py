"""A simulated record as a history for the checker of `ordering`, and what that says about it."""

from harness.simulator.outcome import Outcome
from harness.simulator.record import Record, Stream
from harness.simulator.verdict import Fault
from ordering.verdicts import History, Key, Published, Subscription, check

SAME_KIND = {"unpublished": "duplicate", "unmatched": "duplicate"}
"""What breaks integrity counts as one kind in a campaign."""


def second_opinion(outcome: Outcome) -> list[Fault]:
    """Judge the record with the checker; the faults are told with their smallest witnesses."""
    verdicts = check(history_of(outcome))
    return [(SAME_KIND.get(v.kind, v.kind), v.text) for v in verdicts.violations]


def history_of(outcome: Outcome) -> History:
    """Return what clients saw in a schedule."""
    record = outcome.world.record
    owed = {name: set[Key]() for name in outcome.world.subscribers}
    for published in record.publications:
        for name in published.owed:
            if name in owed:
                owed[name].add((published.publisher, published.sequence))
    return History(
        [
            Published(p.publisher, p.sequence, p.broker, p.ordered, (p.read,) if p.read else ())
            for p in record.publications
        ],
        [_subscription(record, name, stream, owed) for name, stream in record.streams.items()],
        {
            site.name: site.core.uplink.name if site.core.uplink is not None else ""
            for site in outcome.world.sites.values()
        },
        [text for kind, text in outcome.faults if kind == "stuck"],
    )


def _subscription(record: Record, name: str, stream: Stream, owed: dict[str, set[Key]]) -> Subscription:
    keys = [(published.publisher, published.sequence) for published in record.publications]
    matching = {
        key
        for key, published in zip(keys, record.publications, strict=True)
        if published.kind in stream.kinds
    }
    delivered = [keys[number] for number in stream.delivered]
    return Subscription(name, delivered, stream.broker, stream.ordered, matching, owed.get(name))
