"""Which publications of the past are owed to subscriptions that asked for them.

Laws.

1. A publication that matches is owed if its broker still runs and the path to it was at rest once and is
   whole since: if it was published before and is in the window, for it is in that broker's cache, or from
   then on until the subscription is open, whatever its time ("first-try completeness").
2. It is owed no more when a part of the path is lost before it was delivered. At rest all must be there.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from attrs import Factory, define

from harness.simulator.network import Site
from harness.simulator.owing import Owing
from harness.simulator.record import Record

if TYPE_CHECKING:
    from harness.simulator.world import SimulatedSubscriber


ENOUGH_BYTES: Final = 10**6
"""A cache of so many bytes holds all publications of a schedule."""


@define(eq=False)
class SimulatedPast:
    """The publications with their brokers and times, and those that are owed to each subscription."""

    _record: Record
    _owing: Owing
    _origins: list[tuple[Site, int, str]] = Factory(list)
    _owed: dict[str, dict[int, Site]] = Factory(dict)
    _sites: dict[str, Site] = Factory(dict)
    missing: list[tuple[str, int]] = Factory(list)

    def asked(self, name: str, site: Site, kinds: str, since_ns: int | None) -> None:
        """Note that a subscription asks for the past since a time; nothing is owed without one."""
        self._sites[name] = site
        owed = self._owed[name] = self._owed.get(name, {})
        if since_ns is None:
            return
        for number, (origin, published_ns, kind) in enumerate(self._origins):
            if kind in kinds and published_ns >= since_ns and self._reaches(origin, site):
                owed[number] = origin

    def _reaches(self, origin: Site, site: Site) -> bool:
        return self._owing.reaches(origin, site) and origin.core.cache.size_bytes_max >= ENOUGH_BYTES

    def published_at(
        self, origin: Site, published_ns: int, kind: str, subscribers: Iterable["SimulatedSubscriber"]
    ) -> None:
        """Note a publication: it is owed to subscriptions that have asked and are not open (law 1)."""
        number = len(self._origins)
        self._origins.append((origin, published_ns, kind))
        for each in subscribers:
            if each.is_open or each.since_ns is None or each.newest or kind not in each.kinds:
                continue
            if self._reaches(origin, each.site):
                self._owed[each.name][number] = origin

    def link_lost(self) -> None:
        """Excuse what has a path over a lost link and has not been delivered (law 2)."""
        for name, owed in self._owed.items():
            for number in self._undelivered(name):
                if not self._owing.reaches(owed[number], self._sites[name]):
                    del owed[number]

    def at_rest(self) -> None:
        """Note that everything has arrived (law 2)."""
        for name, owed in self._owed.items():
            self.missing += [(name, number) for number in self._undelivered(name)]
            owed.clear()

    def _undelivered(self, name: str) -> list[int]:
        seen = self._record.streams[name].seen
        return [number for number in self._owed[name] if not seen >> number & 1]

    def forget(self, name: str) -> None:
        """Note that the client of a subscription has left."""
        self._owed.pop(name, None)
