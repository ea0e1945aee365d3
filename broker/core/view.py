"""The routing tables as an ordering plugin may see them: hops are bits, filters can only be compared."""

from collections.abc import Iterator, Sequence

from attrs import frozen

from broker.core.tables import Entry, RoutingTables
from broker.messages import Publication
from ordering.interface import Advertisement, Event, Hops, Subscription


@frozen
class TableView:
    """A plugin's look at the tables of its broker; nothing can be changed through it."""

    _tables: RoutingTables

    @property
    def version(self) -> int:
        """Changes whenever what is seen here does."""
        return self._tables.version

    def advertisements(self) -> Iterator[Advertisement]:
        """Link by link, in the order in which they came."""
        for link, advertisement, content in self._tables.advertised():
            yield Advertisement(advertisement, content, link.bit)

    def subscriptions(self) -> Iterator[Subscription]:
        """Hop by hop, in the order in which the hops came."""
        return map(_seen, self._tables.entries())

    def matching(self, event: Event, origin: Hops) -> Sequence[Subscription]:
        """What the route of this event was made of."""
        assert isinstance(event, Publication), "a plugin asks about what it was given"
        return [_seen(entry) for entry in self._tables.matching(event.attributes, origin)]


def _seen(entry: Entry) -> Subscription:
    return Subscription(entry.id, entry.filter, entry.ordered, entry.hop.bit)
