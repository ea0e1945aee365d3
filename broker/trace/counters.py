"""The counters of a broker, written every second: the dataset `brokers/` of a run's directory.

Counters only grow while the broker lives: the count between two moments is their difference. Detection
times come as cumulative buckets, as Prometheus has them: `detection_us_le_100` counts those of at most 100
microseconds. `waiting` and `queue_bytes` are values of the moment.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from time import perf_counter_ns, time_ns
from typing import Final

import trio
from attrs import define, field

from broker.core import Hop
from broker.messages import LinkMessage, OrderingMessage, Publication
from broker.node.exchange import Exchange
from broker.trace.rows import FLOAT, FLUSH_EVERY_S, TEXT, WHOLE, RowFiles, prepare
from ordering.interface import OrderingFactory
from ordering.watched import Watch

FOLDER: Final = "brokers"
COLUMNS: Final = {"broker": TEXT, "at_ns": WHOLE, "counter": TEXT, "value": FLOAT}

BUCKETS_US: Final = tuple(
    mantissa * 10.0**exponent for exponent in range(6) for mantissa in (1, 1.5, 2, 3, 4, 5, 6, 8)
)
"""From a microsecond to most of a second, close enough for percentiles to about a quarter."""

_PUBLICATION, _ORDERING, _CONTROL = range(3)
_KINDS: Final = {Publication: _PUBLICATION, OrderingMessage: _ORDERING}

_NS_PER_US: Final = 1000
_NS_PER_S: Final = 1e9


@define(eq=False)
class Tracer:
    """Watches one broker. `over` goes around its ordering plugin before the core is made."""

    name: str
    rows: RowFiles
    _watch: Watch = field(init=False)
    _detections: list[int] = field(factory=lambda: [0] * (len(BUCKETS_US) + 1), init=False)

    _sent: list[int] = field(factory=lambda: [0] * 3, init=False)

    def __attrs_post_init__(self) -> None:
        self._watch = Watch(perf_counter_ns, perf_counter_ns, self._detected)

    @classmethod
    def into(cls, folder: Path, name: str, incarnation: str) -> "Tracer":
        """Return one that writes below this folder, apart from earlier runs of the same broker."""
        prepare()
        return cls(name, RowFiles(folder / FOLDER, f"{name}-{incarnation}", COLUMNS))

    def over(self, factory: OrderingFactory) -> OrderingFactory:
        """Return a factory that makes the same plugins, watched."""
        return self._watch.over(factory)

    def _detected(self, taken_ns: int) -> None:
        self._detections[bisect_left(BUCKETS_US, taken_ns / _NS_PER_US)] += 1

    def _count(self, outgoing: Sequence[tuple[Hop, Sequence[LinkMessage]]]) -> None:
        """Count the messages that leave over links, by kind."""
        for hop, messages in outgoing:
            if hop.is_link:
                for message in messages:
                    kind = message.__class__
                    self._sent[_KINDS.get(kind, _CONTROL)] += 1

    def read(self, exchange: Exchange, sent_bytes: int) -> None:
        """Record the present value of every counter."""
        at_ns = time_ns()
        for counter, value in (*self._counters(exchange), ("bytes_out", sent_bytes)):
            self.rows.append(self.name, at_ns, counter, float(value))

    def _counters(self, exchange: Exchange) -> Iterator[tuple[str, float]]:
        watch, core, totals = self._watch, exchange.core, exchange.totals
        yield from (
            ("publications_in", totals.publications_in),
            ("publications_out", self._sent[_PUBLICATION]),
            ("deliveries", totals.deliveries),
            ("acknowledgements_out", self._sent[_ORDERING]),
            ("control_out", self._sent[_CONTROL]),
            ("queue_bytes", sum(link.queue.queued_bytes for link in exchange.links.values())),
            ("core_seconds", totals.core_s),
            ("requests", core.measures.requests),
            ("detected", watch.detections),
            ("detection_seconds", watch.detection_total / _NS_PER_S),
            ("deferred", watch.deferrals),
            ("deferred_seconds", watch.deferral_total / _NS_PER_S),
            ("waiting", core.waiting_count),
        )
        for end, count in zip(BUCKETS_US, accumulate(self._detections), strict=False):
            if count:
                yield f"detection_us_le_{end:g}", count

    async def run(self, exchange: Exchange, sent_bytes: Callable[[], int]) -> None:
        """Count and write until cancelled."""
        exchange.tally = self._count
        try:
            while True:
                await trio.sleep(FLUSH_EVERY_S)
                self.read(exchange, sent_bytes())
                if (pending := self.rows.take()) is not None:
                    with trio.CancelScope(shield=True):
                        await trio.to_thread.run_sync(pending.write)
        finally:
            self.read(exchange, sent_bytes())
            self.rows.flush()
