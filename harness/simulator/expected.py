"""What a routing table should hold, computed from all subscriptions and advertisements.

Under a strategy that announces less than every route, brokers choose the ids. Then tables are compared by
filters; under merging, which may announce the same in several ways, by the kinds of events that they let
through. Kinds that nobody publishes on this side do not count: a merged filter may take them or not. Where a
merged filter may take more than its parts, it depends on earlier announcements, and has to be enough.
"""

from collections.abc import Sequence

from broker.filters import Filter
from broker.routing import RouteFilter, Routing, Strategy
from broker.routing.flooding import EVERYTHING
from harness.simulator.interests import kinds_of


def expected_advertisements(routing: Routing, published: Sequence[RouteFilter]) -> list[RouteFilter]:
    """Return the advertisements that must be known through a link, given those of the brokers behind it."""
    strategy = routing.advertisements
    return [EVERYTHING] if strategy.floods else list(strategy.reduce(published))


def expected_subscriptions(
    routing: Routing, wanted: Sequence[RouteFilter], published_here: Sequence[Filter]
) -> list[RouteFilter]:
    """Return the subscriptions that must be known through a link.

    Given are the subscriptions of the brokers behind it, and the advertisements on this side.
    """
    here = [EVERYTHING.filter] if routing.advertisements.floods else published_here
    if routing.subscriptions.floods:
        return [EVERYTHING] if here else []
    of_interest = [route for route in wanted if any(route.filter.overlaps(each) for each in here)]
    strategy = routing.subscriptions
    return list(strategy.reduce(of_interest)) if strategy.is_perfect else of_interest


def is_as_it_should(
    strategy: Strategy, has: Sequence[RouteFilter], should: Sequence[RouteFilter], published: Sequence[Filter]
) -> bool:
    """Return whether a table has the routes that it should have, given the advertisements on this side."""
    if strategy.is_exact:
        return {route.id for route in has} == {route.id for route in should}
    if not strategy.unites:
        return {route.item for route in has} == {route.item for route in should}
    here = frozenset[str]().union(*map(kinds_of, published))
    for is_ordered in (True, False):
        lets, must = (_let_through(each, ordered=is_ordered) & here for each in (has, should))
        if lets != must and (strategy.is_perfect or not lets > must):
            return False
    return True


def _let_through(routes: Sequence[RouteFilter], *, ordered: bool) -> frozenset[str]:
    """Return the kinds that some entry takes, or some ordered one."""
    return frozenset[str]().union(
        *(kinds_of(route.filter) for route in routes if route.ordered or not ordered)
    )
