"""R6: an advertisement is acknowledged when everybody behind this broker knows it.

Laws.

1. A broker acknowledges an advertisement to the hop it came from once all its other neighbours have, and
   once that hop has acknowledged every overlapping subscription that was on its way there.
2. What is waited for only shrinks: a neighbour answers, a gate opens, a link is lost, a subscription ends.
3. An advertisement that is withdrawn, or whose link is lost, is waited for no longer.
"""

from attrs import Factory, define, frozen

from broker.core.hops import Hop


@frozen
class Passed:
    """An advertisement whose barrier is passed here; `link` is None for a local publisher's."""

    advertisement: str
    link: Hop | None


@define(eq=False)
class _Crossing:
    link: Hop | None
    neighbours: set[Hop]
    subscriptions: set[str]

    @property
    def is_over(self) -> bool:
        return not self.neighbours and not self.subscriptions


@define(eq=False)
class Barrier:
    """The advertisements on their way through the overlay, as this broker sees them."""

    _crossings: dict[str, _Crossing] = Factory(dict)

    def start(
        self, advertisement: str, link: Hop | None, neighbours: set[Hop], subscriptions: set[str]
    ) -> list[Passed]:
        """Wait for these neighbours, and for the gates of these subscriptions towards the link."""
        self._crossings[advertisement] = _Crossing(link, neighbours, subscriptions)
        return self._take_over((advertisement,))

    def acknowledged(self, advertisement: str, neighbour: Hop) -> list[Passed]:
        """Everybody behind the neighbour knows the advertisement."""
        crossing = self._crossings.get(advertisement)
        if crossing is None:
            return []
        crossing.neighbours.discard(neighbour)
        return self._take_over((advertisement,))

    def route_open(self, subscription: str, link: Hop) -> list[Passed]:
        """The gate of a subscription towards this link is open, or of no interest any more."""
        touched = [
            a for a, c in self._crossings.items() if c.link is link and subscription in c.subscriptions
        ]
        for advertisement in touched:
            self._crossings[advertisement].subscriptions.discard(subscription)
        return self._take_over(touched)

    def link_lost(self, link: Hop) -> list[Passed]:
        """A lost link counts as having acknowledged; what came through it is forgotten."""
        for advertisement in [a for a, c in self._crossings.items() if c.link is link]:
            del self._crossings[advertisement]
        touched = [a for a, c in self._crossings.items() if link in c.neighbours]
        for advertisement in touched:
            self._crossings[advertisement].neighbours.discard(link)
        return self._take_over(touched)

    def forget(self, advertisement: str) -> None:
        """Forget an advertisement that was withdrawn."""
        self._crossings.pop(advertisement, None)

    def _take_over(self, advertisements: tuple[str, ...] | list[str]) -> list[Passed]:
        over = [advertisement for advertisement in advertisements if self._crossings[advertisement].is_over]
        return [Passed(advertisement, self._crossings.pop(advertisement).link) for advertisement in over]

    def __len__(self) -> int:
        return len(self._crossings)
