"""What a table should hold, computed from scratch out of what clients want and publish.

Under a strategy that tells less than everything, ids are the brokers' own affair. Then tables are compared by
filters; under merging, which may tell the same in several ways, by the kinds of events that they let through.
What nobody on this side publishes does not count there: a union that is wanted here may have other parts.
Where unions may be hulls, what is let through depends on what was told before, and has to be enough.
"""

from collections.abc import Sequence

from broker.filters import Filter
from broker.routing import RouteFilter, Routing, Strategy
from broker.routing.flooding import EVERYTHING
from harness.simulator.interests import kinds_of


def expected_advertisements(routing: Routing, published: Sequence[RouteFilter]) -> list[RouteFilter]:
    """What should be known through a link behind which this is published."""
    strategy = routing.advertisements
    return [EVERYTHING] if strategy.floods else list(strategy.reduce(published))


def expected_subscriptions(
    routing: Routing, wanted: Sequence[RouteFilter], published_here: Sequence[Filter]
) -> list[RouteFilter]:
    """What should be known through a link behind which this is wanted, if that is published on this side."""
    here = [EVERYTHING.filter] if routing.advertisements.floods else published_here
    if routing.subscriptions.floods:
        return [EVERYTHING] if here else []
    of_interest = [wish for wish in wanted if any(wish.filter.overlaps(each) for each in here)]
    strategy = routing.subscriptions
    return list(strategy.reduce(of_interest)) if strategy.is_perfect else of_interest


def is_as_it_should(
    strategy: Strategy, has: Sequence[RouteFilter], should: Sequence[RouteFilter], published: Sequence[Filter]
) -> bool:
    """Whether a table is right, if this is published on this side."""
    if strategy.is_exact:
        return {wish.id for wish in has} == {wish.id for wish in should}
    if not strategy.unites:
        return {wish.item for wish in has} == {wish.item for wish in should}
    here = frozenset[str]().union(*map(kinds_of, published))
    for is_ordered in (True, False):
        lets, must = (_let_through(each, ordered=is_ordered) & here for each in (has, should))
        if lets != must and (strategy.is_perfect or not lets > must):
            return False
    return True


def _let_through(wishes: Sequence[RouteFilter], *, ordered: bool) -> frozenset[str]:
    """The kinds that some entry takes, or some ordered one."""
    return frozenset[str]().union(*(kinds_of(wish.filter) for wish in wishes if wish.ordered or not ordered))
