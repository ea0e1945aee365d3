"""Measures any plugin from outside: how long detection takes, and how long publications are deferred.

A plugin counts in `Measures` what only it can know. Whatever can be measured from outside is measured here,
in the same way for every plugin, and without cost for a plugin that is not watched.

A publication is deferred at a broker from its arrival until it has left for the last hop of its route. A
publication that never leaves (it was refused, or dropped with a lost link) is not counted.
"""

from collections.abc import Callable, Sequence

from attrs import Factory, define

from ordering.interface import (
    Blocked,
    Context,
    Emission,
    Event,
    Hops,
    Measures,
    Ordering,
    OrderingFactory,
    Route,
)

Clock = Callable[[], int]
"""Returns the time in nanoseconds, or in the unit of a simulation."""


def _ignore(_: int) -> None:
    pass


@define(eq=False)
class Watch:
    """The measurements of all brokers together, by two clocks: one for detection, one for deferring.

    `_notify` is called with the duration of each detection.
    """

    _detection_clock: Clock
    _deferral_clock: Clock
    _notify: Callable[[int], None] = _ignore
    detections: int = 0
    detection_total: int = 0
    detection_max: int = 0
    deferrals: int = 0
    deferral_total: int = 0
    deferral_max: int = 0
    waiting_max: int = 0
    plugins: list[Ordering] = Factory(list)

    def over(self, factory: OrderingFactory) -> OrderingFactory:
        """Return a factory that makes the same plugins, each watched."""

        def make(context: Context) -> Ordering:
            self.plugins.append(factory(context))
            return _Watched(self.plugins[-1], self)

        return make

    def detected(self, detect: Callable[[], Sequence[Emission]]) -> Sequence[Emission]:
        """Measure one call; return its emissions."""
        start = self._detection_clock()
        emissions = detect()
        taken = self._detection_clock() - start
        self._notify(taken)
        self.detections += 1
        self.detection_total += taken
        self.detection_max = max(self.detection_max, taken)
        return emissions

    def now(self) -> int:
        """Return the time by the clock for deferring."""
        return self._deferral_clock()

    def deferred(self, since: int) -> None:
        """Count a publication that has left for its last hop, deferred since then."""
        taken = self._deferral_clock() - since
        self.deferrals += 1
        self.deferral_total += taken
        self.deferral_max = max(self.deferral_max, taken)

    def measures(self) -> Measures:
        """Return the sum of what the plugins counted."""
        total = Measures()
        for each in (plugin.measures for plugin in self.plugins):
            total.requests += each.requests
            total.acknowledgements += each.acknowledgements
            total.deferred += each.deferred
            total.refused += each.refused
            total.metadata_bytes += each.metadata_bytes
        return total


@define
class _Deferred:
    since: int
    missing: Hops


@define(eq=False)
class _Watched:
    """One broker's plugin, and the hops for which its publications have not left yet."""

    _plugin: Ordering
    _watch: Watch
    _deferred: dict[tuple[str, int], _Deferred] = Factory(dict)

    @property
    def watched(self) -> Ordering:
        return self._plugin

    @property
    def measures(self) -> Measures:
        return self._plugin.measures

    @property
    def waiting_count(self) -> int:
        return self._plugin.waiting_count

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        refused = self._plugin.measures.refused
        emissions = self._watch.detected(lambda: self._plugin.publication(event, origin, mark, route))
        key = event.publisher, event.sequence
        if self._plugin.measures.refused == refused and key not in self._deferred:
            missing = route.targets & ~_hops_of(key, emissions)
            if missing:
                self._deferred[key] = _Deferred(self._watch.now(), missing)
        return self._seen(emissions)

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        return self._seen(self._plugin.note(origin, content))

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        return self._seen(self._plugin.control(item, target))

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        return self._seen(self._plugin.link_attached(link))

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        return self._seen(self._plugin.uplink_changed(uplink))

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        for key, deferred in list(self._deferred.items()):
            deferred.missing &= ~hop
            if not deferred.missing:
                del self._deferred[key]
        return self._seen(self._plugin.hop_lost(hop))

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        return self._plugin.combine(earlier, later)

    def blocked(self) -> Sequence[Blocked]:
        return self._plugin.blocked()

    def _seen(self, emissions: Sequence[Emission]) -> Sequence[Emission]:
        """Take the targets of the emissions out of the deferred publications; return the emissions."""
        self._watch.waiting_max = max(self._watch.waiting_max, self._plugin.waiting_count)
        for item, targets, _ in emissions if self._deferred else ():
            key = _key_of(item)
            deferred = self._deferred.get(key) if key else None
            if key and deferred:
                deferred.missing &= ~targets
                if not deferred.missing:
                    del self._deferred[key]
                    self._watch.deferred(deferred.since)
        return emissions


def _hops_of(key: tuple[str, int], emissions: Sequence[Emission]) -> Hops:
    hops: Hops = 0
    for item, targets, _ in emissions:
        if _key_of(item) == key:
            hops |= targets
    return hops


def _key_of(item: object) -> tuple[str, int] | None:
    """Return a publication's key; None for notes and control messages, which have no publisher."""
    publisher, sequence = getattr(item, "publisher", None), getattr(item, "sequence", None)
    return (publisher, sequence) if isinstance(publisher, str) and isinstance(sequence, int) else None
