"""The routes of a child that moves to the broker above its parent, without a withdrawal: they change hands.

The parent and the child have announced routes to each other, and answered all of it (`is_quiet`). At the
switch the parent forgets the child's link, and the broker above has it as if the child had always been its
own: what the parent had announced counts as announced by the broker above, acknowledged and serving.

Laws.

1. Nobody else notices: what other neighbours have been announced of the child's routes, and through which
   gates these serve, stays as it is. What a computation from scratch would choose otherwise is announced
   afterwards, like any other change: new routes first, then the withdrawals (R7).
2. No gate is closed for what an announcement covered that is taken over.
3. The child is announced what has changed since the parent froze its announcements to it, and is waited for
   where others are (R6).
"""

from collections.abc import Iterable

from attrs import define, field

from broker.core.hops import Hop
from broker.core.routing import RoutingState
from broker.core.tables import RouteEntry, entry_key, route_filter_of
from broker.filters import Filter
from broker.messages import Publication
from broker.routing.strategy import RouteFilter


@define(eq=False)
class ChildRoutes:
    """All that a parent hands over.

    Of the child: what it has `advertised` and `wants`. Of the parent: the ids of the advertisements that the
    child `knows`, and the subscriptions that were `announced` to it. What the parent has announced to the
    broker above has `ended` where it was for the child alone, and what its own side wants of the child is
    `added`. `brokers` are the identities of the child and of all below it.
    """

    advertised: dict[str, Filter] = field(factory=dict)
    wants: tuple[RouteFilter, ...] = ()
    knows: frozenset[str] = frozenset()
    announced: tuple[RouteFilter, ...] = ()
    added: tuple[RouteFilter, ...] = ()
    ended: frozenset[str] = frozenset()
    brokers: frozenset[str] = frozenset()
    count: int = 0
    """How many have been collected."""

    def wants_item(self, item: object) -> bool:
        """Return whether the child's side wants a publication, and did not publish it."""
        if not isinstance(item, Publication) or item.publisher in self.advertised:
            return False
        return any(route.filter.match(item.attributes) for route in self.wants)


def is_quiet(routing: RoutingState, link: Hop) -> bool:
    """Return whether both ends of a link have answered all that was announced over it."""
    neighbour = routing.subscribing.neighbours[link]
    return (
        link not in routing.tables.synchronising
        and not len(neighbour.gates)
        and neighbour.gates.are_answered
        and not neighbour.gates.requests()
        and not neighbour.arrivals.all()
        and not neighbour.blocked
        and not neighbour.crossing
        and routing.barrier.is_quiet(link)
        and not len(routing.subscribing.settling)
    )


def hand_over(routing: RoutingState, child: Hop, uplink: Hop) -> ChildRoutes:
    """Let a child's routes be known through the uplink, and forget its link; return what to hand over."""
    tables, subscribing = routing.tables, routing.subscribing
    advertised = dict(tables.advertisements(child).filters)
    entries = list(tables.entries_of(child).values())
    knows = frozenset(routing.advertising.announced[child].routes)
    announced = tuple(subscribing.neighbours[child].announced.routes.values())
    for each, content in advertised.items():
        tables.add_advertisement(uplink, each, content)
        tables.remove_advertisement(child, each)
    routing.advertising.announced[uplink].edit(remove=advertised)
    del routing.links[child.name], routing.advertising.announced[child], subscribing.neighbours[child]
    ours = dict.fromkeys(tables.advertisements_but(uplink).values())
    for entry in entries:
        _move_entry(routing, entry, uplink, is_needed=any(map(entry.filter.overlaps, ours)))
    tables.close_link(child)
    difference = subscribing.offer_handed_over(uplink, entries)
    wants = tuple(map(route_filter_of, entries))
    ended = frozenset(difference.removed)
    return ChildRoutes(advertised, wants, knows, announced, difference.added, ended)


def _move_entry(routing: RoutingState, entry: RouteEntry, uplink: Hop, *, is_needed: bool) -> None:
    """Let an entry of the child be one of the uplink, where this side may publish what it wants.

    It serves from here on (law 2). A gate that stays would be one of the next link that gets its number.
    """
    tables = routing.tables
    moved = RouteEntry(entry.id, entry.filter, entry.ordered, uplink, is_answered=True)
    if is_needed:
        tables.add_entry(moved)
    tables.remove_entry(entry.hop, entry.id)
    for link, neighbour in routing.subscribing.neighbours.items():
        neighbour.gates.forget(entry)
        if link is not uplink and neighbour.offered.pop(entry_key(entry), None) is not None:
            neighbour.offered[entry_key(moved)] = moved


def take_over(routing: RoutingState, child: Hop, parent: Hop, routes: ChildRoutes) -> None:
    """Take the child of a child as a child of this broker."""
    tables, subscribing = routing.tables, routing.subscribing
    serving = list(tables.entries_of(parent).values())
    routing.links[child.name] = child
    tables.open_link(child)
    routing.advertising.add_link(child)
    subscribing.add_link(child)
    for each, content in routes.advertised.items():
        tables.add_advertisement(child, each, content)
        tables.remove_advertisement(parent, each)
    moved = [RouteFilter(each, content) for each, content in routes.advertised.items()]
    routing.advertising.announced[parent].edit(add=moved)
    added, wants = _entries(routes.added, parent), _entries(routes.wants, child)
    for entry in (*added, *wants):
        tables.add_entry(entry)
    new = subscribing.close_uncovered(child, routes.announced)
    subscribing.adopt_wants(parent, wants)
    for link in list(subscribing.neighbours):
        if link not in {child, parent}:
            subscribing.offer_served(link, (*added, *wants), serving)
    for each in sorted(routes.ended):
        subscribing.unsubscribe(each, parent)
    subscribing.adopt_announced(child, routes.announced, new)
    routing.advertising.adopt_known(child, routes.knows, routing.losses.is_lost)
    for content in dict.fromkeys(routes.advertised.values()):
        subscribing.retract(parent, content)
    routing.report()


def _entries(routes: Iterable[RouteFilter], hop: Hop) -> list[RouteEntry]:
    return [RouteEntry(each.id, each.filter, each.ordered, hop, is_answered=True) for each in routes]
