"""R6: an advertisement is acknowledged when everybody behind this broker knows it.

Laws.

1. A broker acknowledges an advertisement to the hop it came from once all its other neighbours have, and
   once that hop has acknowledged every overlapping subscription that was on its way there.
2. What is waited for only shrinks: a neighbour answers, a gate opens, a link is lost, a subscription ends.
3. Every announcement over a link is answered exactly once: at the latest when it is withdrawn. So answers
   need no number, although an advertisement may be announced again over the same link (R9).
"""

from collections.abc import Iterable

from attrs import Factory, define, frozen

from broker.core.hops import Hop


@frozen
class Passed:
    """An advertisement whose barrier is passed here; `link` is None for a local publisher's."""

    advertisement: str
    link: Hop | None


@define(eq=False)
class _Crossing:
    advertisement: str
    link: Hop | None
    neighbours: set[Hop]
    subscriptions: set[str]


@define(eq=False)
class Barrier:
    """The advertisements on their way through the overlay, as this broker sees them.

    An advertisement crosses once per hop it came from; `_unanswered` counts per neighbour.
    """

    _crossings: dict[str, list[_Crossing]] = Factory(dict)
    _unanswered: dict[str, dict[Hop, int]] = Factory(dict)

    def start(
        self, advertisement: str, link: Hop | None, told: Iterable[Hop], subscriptions: set[str]
    ) -> list[Passed]:
        """These neighbours were told; wait for all that owe an answer, and for the gates towards the link."""
        for neighbour in told:
            owing = self._unanswered.setdefault(advertisement, {})
            owing[neighbour] = owing.get(neighbour, 0) + 1
        neighbours = set(self._unanswered.get(advertisement, ()))
        neighbours.discard(link)
        crossing = _Crossing(advertisement, link, neighbours, subscriptions)
        self._crossings.setdefault(advertisement, []).append(crossing)
        return self._take_over([crossing])

    def acknowledged(self, advertisement: str, neighbour: Hop) -> list[Passed]:
        """The neighbour answers the earliest announcement that it has not answered yet."""
        owing = self._unanswered.get(advertisement, {})
        if owing.get(neighbour, 0) > 1:
            owing[neighbour] -= 1
            return []
        self._forget_answer(advertisement, neighbour)
        return self._answered(neighbour, list(self._crossings.get(advertisement, ())))

    def route_open(self, subscription: str, link: Hop) -> list[Passed]:
        """The gate of a subscription towards this link is open, or of no interest any more."""
        touched = [c for c in self._all() if c.link is link and subscription in c.subscriptions]
        for crossing in touched:
            crossing.subscriptions.discard(subscription)
        return self._take_over(touched)

    def link_lost(self, link: Hop) -> list[Passed]:
        """A lost link counts as having acknowledged; what came through it is forgotten."""
        for crossing in [c for c in self._all() if c.link is link]:
            self._remove(crossing)
        for advertisement in list(self._unanswered):
            self._forget_answer(advertisement, link)
        return self._answered(link, self._all())

    def withdrawn(self, advertisement: str, link: Hop | None) -> list[Passed]:
        """Whoever withdrew it is owed no more than an answer (law 3)."""
        over = [c for c in self._crossings.get(advertisement, ()) if c.link is link]
        for crossing in over:
            self._remove(crossing)
        return [Passed(advertisement, link) for _ in over if link is not None]

    def _all(self) -> list[_Crossing]:
        return [crossing for crossings in self._crossings.values() for crossing in crossings]

    def _answered(self, neighbour: Hop, crossings: list[_Crossing]) -> list[Passed]:
        touched = [c for c in crossings if neighbour in c.neighbours]
        for crossing in touched:
            crossing.neighbours.discard(neighbour)
        return self._take_over(touched)

    def _take_over(self, crossings: list[_Crossing]) -> list[Passed]:
        over = [c for c in crossings if not c.neighbours and not c.subscriptions]
        for crossing in over:
            self._remove(crossing)
        return [Passed(crossing.advertisement, crossing.link) for crossing in over]

    def _remove(self, crossing: _Crossing) -> None:
        others = [c for c in self._crossings.pop(crossing.advertisement) if c is not crossing]
        if others:
            self._crossings[crossing.advertisement] = others

    def _forget_answer(self, advertisement: str, neighbour: Hop) -> None:
        owing = self._unanswered.get(advertisement)
        if owing is not None:
            owing.pop(neighbour, None)
            if not owing:
                del self._unanswered[advertisement]

    def __len__(self) -> int:
        return len(self._all())
