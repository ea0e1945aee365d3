"""The survey of a large overlay: what its tables, changes and events cost, and what a broker of it needs."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import fmean
from typing import Final

import attrs

from harness.large.lockstep import Lockstep, lockstep
from harness.large.part import BrokerSize, LargeCounts
from harness.large.shape import LargeShape
from harness.tables import Table, plain, whole

Say = Callable[[str], None]

STEPS: Final = 10
"""In so many steps all subscriptions begin, so that progress is seen."""


@attrs.frozen
class LevelSurvey:
    """The brokers so many links from the root, on average and at most."""

    level: int
    brokers: int
    subscriptions: float
    entries: float
    entries_max: int
    advertisements: float
    events: float
    events_max: int


@attrs.frozen
class TickSpread:
    """A distribution of whole numbers."""

    mean: float
    p50: int
    p99: int
    most: int

    @classmethod
    def of(cls, counts: Counter[int]) -> "TickSpread":
        """Return the distribution of counted values."""
        total = sum(counts.values())
        if not total:
            return cls(0.0, 0, 0, 0)
        mean = sum(value * count for value, count in counts.items()) / total
        return cls(mean, _quantile(counts, total, 0.5), _quantile(counts, total, 0.99), max(counts))


def _quantile(counts: Counter[int], total: int, part: float) -> int:
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        if passed >= part * total:
            return value
    return max(counts)


@attrs.frozen
class LargeSurvey:
    """The answers. `hops` are links on the way of a delivery, `waiting` is in ticks beyond these."""

    shape: LargeShape
    levels: tuple[LevelSurvey, ...]
    entries: int
    set_up_ticks: int
    set_up_messages: int
    change_messages: float
    change_messages_max: int
    change_acknowledgements: float
    change_ticks: float
    deliveries: int
    hops: TickSpread
    waiting: TickSpread
    links_for_event: float
    acknowledgements_for_event: float
    core_us_for_event_at_broker: float
    memory_bytes: int = 0

    def table(self) -> Table:
        """Return the levels as a table."""
        rows = [
            (
                str(each.level),
                whole(each.brokers),
                plain(each.subscriptions, 0),
                plain(each.entries, 0),
                whole(each.entries_max),
                plain(each.advertisements, 0),
                plain(100 * each.events / max(self.shape.events, 1), 1),
                plain(100 * each.events_max / max(self.shape.events, 1), 1),
            )
            for each in self.levels
        ]
        head = (
            "level",
            "brokers",
            "own subscriptions",
            "entries",
            "at most",
            "advertisements",
            "of all events, %",
            "at most, %",
        )
        return Table(head, rows, words=0)

    def lines(self) -> Iterator[str]:
        """Yield the other answers, a sentence each."""
        shape = self.shape
        yield (
            f"{self.entries:,} entries came over links, for {shape.subscriptions:,} subscriptions: set up "
            f"with {self.set_up_messages:,} messages in {self.set_up_ticks:,} ticks."
        )
        yield (
            f"A subscription that comes or goes takes {self.change_messages:.2f} messages, at most "
            f"{self.change_messages_max:,}, {self.change_acknowledgements:.2f} acknowledgements of order and "
            f"{self.change_ticks:.1f} ticks."
        )
        yield (
            f"An event takes {self.links_for_event:.1f} of {shape.brokers - 1:,} links, "
            f"{self.acknowledgements_for_event:.1f} acknowledgements, and "
            f"{self.deliveries / max(shape.events, 1):.1f} deliveries."
        )
        for name, found in (("links on the way", self.hops), ("ticks of waiting for order", self.waiting)):
            shares = f"{found.p50} of half, {found.p99} of 99 %, {found.most} at most"
            yield f"A delivery has {found.mean:.2f} {name}: {shares}."
        yield (
            f"A broker needs {self.memory_bytes / shape.brokers / 1e6:.2f} MB for its tables on average, and "
            f"{self.core_us_for_event_at_broker:.0f} us of its core for an event that comes to it."
        )


def survey(shape: LargeShape, jobs: int, say: Say) -> LargeSurvey:
    """Build the overlay, and measure it."""
    with lockstep(shape, jobs) as overlay:
        say(f"{shape.brokers:,} brokers attach")
        _attach(overlay)
        overlay.take()
        set_up = _subscribe_all(overlay, say)
        sizes = overlay.sizes()
        say(f"{shape.changes:,} subscriptions come and go")
        changes = list(_changes(overlay))
        say(f"{shape.events:,} events are published")
        overlay.publish(_batches(shape))
        counts = overlay.take()
        memory = sum(overlay.order("memory_bytes"))
    return attrs.evolve(_answers(shape, sizes, set_up, changes, counts), memory_bytes=memory)


def _attach(overlay: Lockstep) -> None:
    """Join the brokers from the leaves up: an attachment is announced in the trees that it joins."""
    shape = overlay.shape
    for level in range(shape.level(shape.brokers - 1), 0, -1):
        overlay.order("open", level)
        overlay.settle()
    overlay.order("advertise")
    overlay.settle()


def _subscribe_all(overlay: Lockstep, say: Say) -> tuple[int, int]:
    shape = overlay.shape
    ticks = 0
    for step in range(STEPS):
        first, last = (shape.subscriptions * each // STEPS for each in (step, step + 1))
        say(f"subscriptions {first:,} to {last:,} begin")
        overlay.order("subscribe", first, last)
        ticks += overlay.settle()
    return ticks, overlay.take().control


Changed = tuple[int, int, int]
"""Messages about subscriptions, acknowledgements of order, and ticks, for one change."""


def _changes(overlay: Lockstep) -> Iterator[Changed]:
    """Let subscriptions end one by one, and begin again."""
    shape = overlay.shape
    chance = Random(f"{shape.seed} changes")  # noqa: S311 - repeatable, not secret
    for _ in range(shape.changes // 2):
        subscription = chance.randrange(shape.subscriptions)
        for order in (("unsubscribe", subscription), ("subscribe", subscription, subscription + 1)):
            overlay.order(*order)
            ticks = overlay.settle()
            counts = overlay.take()
            yield counts.control, counts.acknowledgements, ticks


def _batches(shape: LargeShape) -> Iterator[Sequence[int]]:
    """In each tick every publisher publishes once."""
    for first in range(0, shape.events, shape.publishers):
        yield range(first, min(first + shape.publishers, shape.events))


def _answers(
    shape: LargeShape,
    sizes: Sequence[BrokerSize],
    set_up: tuple[int, int],
    changes: Sequence[Changed],
    counts: LargeCounts,
) -> LargeSurvey:
    hops, waiting = Counter[int](), Counter[int]()
    for (links, ticks), count in counts.delivered.items():
        hops[links] += count
        waiting[ticks] += count
    events = max(shape.events, 1)
    return LargeSurvey(
        shape=shape,
        levels=tuple(_levels(shape, sizes, counts.received)),
        entries=sum(each.entries for each in sizes),
        set_up_ticks=set_up[0],
        set_up_messages=set_up[1],
        change_messages=fmean([each[0] for each in changes] or [0]),
        change_messages_max=max((each[0] for each in changes), default=0),
        change_acknowledgements=fmean([each[1] for each in changes] or [0]),
        change_ticks=fmean([each[2] for each in changes] or [0]),
        deliveries=sum(counts.delivered.values()),
        hops=TickSpread.of(hops),
        waiting=TickSpread.of(waiting),
        links_for_event=counts.events / events,
        acknowledgements_for_event=counts.acknowledgements / events,
        core_us_for_event_at_broker=1e6 * counts.core_s / max(counts.events + events, 1),
    )


def _levels(shape: LargeShape, sizes: Sequence[BrokerSize], received: Counter[int]) -> Iterator[LevelSurvey]:
    arrived: dict[int, list[int]] = {}
    for broker in range(shape.brokers):
        arrived.setdefault(shape.level(broker), []).append(received[broker])
    for level in sorted(arrived):
        some = [each for each in sizes if each.level == level]
        yield LevelSurvey(
            level=level,
            brokers=len(some),
            subscriptions=fmean(each.subscriptions for each in some),
            entries=fmean(each.entries for each in some),
            entries_max=max(each.entries for each in some),
            advertisements=fmean(each.advertisements for each in some),
            events=fmean(arrived[level]),
            events_max=max(arrived[level]),
        )
