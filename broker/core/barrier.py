"""R6: an advertisement is acknowledged when every broker behind this one knows it.

Laws.

1. A broker acknowledges an advertisement to the hop it came from once all its other neighbours have
   acknowledged an announcement that covers it, and once that hop has acknowledged every overlapping
   subscription that was on its way there.
2. What a barrier waits for only shrinks, or is replaced by a replacement's announcement: a neighbour
   acknowledges, a link is lost, an advertisement or a subscription ends.
3. Every announcement over a link is acknowledged exactly once: at the latest when it is withdrawn. So
   acknowledgements need no number, although an advertisement may be announced again over the same link (R9).
"""

from collections.abc import Callable, Iterable

from attrs import Factory, define, frozen

from broker.core.hops import Hop
from broker.routing.strategy import RouteFilter

Awaited = tuple[Hop, str]
"""A neighbour, and the id of an announcement that it has not acknowledged."""


@frozen
class Passed:
    """An advertisement whose barrier is passed here; `link` is None for a local publisher's."""

    advertisement: str
    link: Hop | None


@define(eq=False)
class _Crossing:
    route: RouteFilter
    link: Hop | None
    announcements: dict[Awaited, None]
    subscriptions: dict[str, None]


@define(eq=False)
class Barrier:
    """The advertisements on their way through the overlay, as this broker sees them.

    An advertisement crosses once per hop it came from; `_unanswered` counts announcements.
    """

    _crossings: dict[str, list[_Crossing]] = Factory(dict)
    _unanswered: dict[Awaited, int] = Factory(dict)

    def announced(self, neighbour: Hop, announced: str) -> None:
        """Record an announcement to the neighbour, which has to acknowledge it."""
        self._unanswered[neighbour, announced] = self._unanswered.get((neighbour, announced), 0) + 1

    def await_too(self, neighbour: Hop, announced: str) -> None:
        """Let all that waits until everybody knows this advertisement wait for one neighbour more."""
        for crossing in self._crossings.get(announced, ()):
            if crossing.link is not neighbour:
                crossing.announcements[neighbour, announced] = None

    def is_quiet(self, link: Hop) -> bool:
        """Return whether neither end of a link has an announcement to acknowledge."""
        return all(crossing.link is not link for crossing in self._all()) and all(
            neighbour is not link for neighbour, _ in self._unanswered
        )

    def is_waiting(self, advertisement: str, link: Hop | None) -> bool:
        """Return whether an advertisement that came from this hop is on its way."""
        return any(crossing.link is link for crossing in self._crossings.get(advertisement, ()))

    def is_unanswered(self, neighbour: Hop, announced: str) -> bool:
        """Return whether the neighbour has still to acknowledge this announcement."""
        return (neighbour, announced) in self._unanswered

    def start(
        self,
        route: RouteFilter,
        link: Hop | None,
        announcements: Iterable[Awaited],
        subscriptions: Iterable[str],
    ) -> list[Passed]:
        """Wait for the acknowledgements of these announcements, and for these gates towards the link."""
        crossing = _Crossing(route, link, dict.fromkeys(announcements), dict.fromkeys(subscriptions))
        self._crossings.setdefault(route.id, []).append(crossing)
        return self._take_over([crossing])

    def acknowledged(self, announced: str, neighbour: Hop) -> list[Passed]:
        """Record that the neighbour acknowledges its earliest pending announcement of this id."""
        owing = self._unanswered.get((neighbour, announced), 0)
        if owing > 1:
            self._unanswered[neighbour, announced] = owing - 1
            return []
        self._unanswered.pop((neighbour, announced), None)
        touched = [crossing for crossing in self._all() if (neighbour, announced) in crossing.announcements]
        for crossing in touched:
            del crossing.announcements[neighbour, announced]
        return self._take_over(touched)

    def replaced(
        self, neighbour: Hop, gone: Iterable[str], instead: Callable[[RouteFilter], Iterable[Awaited]]
    ) -> list[Passed]:
        """Let all that waited for these withdrawn announcements wait for those that cover them now."""
        touched = []
        for announced in gone:
            for crossing in self._all():
                if (neighbour, announced) in crossing.announcements:
                    del crossing.announcements[neighbour, announced]
                    crossing.announcements.update(dict.fromkeys(instead(crossing.route)))
                    touched.append(crossing)
        return self._take_over(touched)

    def route_open(self, subscription: str, link: Hop) -> list[Passed]:
        """Record that the neighbour has acknowledged this subscription, or that it has ended."""
        return self.route_replaced(subscription, link, ())

    def route_replaced(self, subscription: str, link: Hop, instead: Iterable[str]) -> list[Passed]:
        """Wait for these subscriptions in place of that one."""
        touched = [c for c in self._all() if c.link is link and subscription in c.subscriptions]
        for crossing in touched:
            del crossing.subscriptions[subscription]
            crossing.subscriptions.update(dict.fromkeys(instead))
        return self._take_over(touched)

    def link_lost(self, link: Hop) -> list[Passed]:
        """Count a lost link as having acknowledged; forget the advertisements that came through it."""
        for crossing in [c for c in self._all() if c.link is link]:
            self._remove(crossing)
        for awaited in [each for each in self._unanswered if each[0] is link]:
            del self._unanswered[awaited]
        touched = []
        for crossing in self._all():
            lost = [each for each in crossing.announcements if each[0] is link]
            for each in lost:
                del crossing.announcements[each]
            if lost:
                touched.append(crossing)
        return self._take_over(touched)

    def withdrawn(self, advertisement: str, link: Hop | None) -> list[Passed]:
        """Return the last acknowledgement that the hop gets that withdrew the advertisement (law 3)."""
        over = [c for c in self._crossings.get(advertisement, ()) if c.link is link]
        for crossing in over:
            self._remove(crossing)
        return [Passed(advertisement, link) for _ in over if link is not None]

    def _all(self) -> list[_Crossing]:
        return [crossing for crossings in self._crossings.values() for crossing in crossings]

    def _take_over(self, crossings: Iterable[_Crossing]) -> list[Passed]:
        over = [c for c in dict.fromkeys(crossings) if not c.announcements and not c.subscriptions]
        for crossing in over:
            self._remove(crossing)
        return [Passed(crossing.route.id, crossing.link) for crossing in over]

    def _remove(self, crossing: _Crossing) -> None:
        others = [c for c in self._crossings.pop(crossing.route.id) if c is not crossing]
        if others:
            self._crossings[crossing.route.id] = others

    def __len__(self) -> int:
        return len(self._all())
