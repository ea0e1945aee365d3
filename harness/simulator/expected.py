"""What a table should hold, computed from scratch out of what clients want and publish.

Under a strategy that tells less than everything, ids are the brokers' own affair. Then tables are compared by
filters; under merging, which may tell the same in several ways, by the kinds of events that they let through.
"""

from collections.abc import Hashable, Sequence
from functools import cache

from broker.filters import Filter
from broker.routing import Routing, Strategy, Wish
from broker.routing.flooding import EVERYTHING
from harness.simulator.interests import KINDS, attributes_of


def expected_advertisements(routing: Routing, published: Sequence[Wish]) -> list[Wish]:
    """What should be known through a link behind which this is published."""
    strategy = routing.advertisements
    return [EVERYTHING] if strategy.floods else list(strategy.reduce(published))


def expected_subscriptions(
    routing: Routing, wanted: Sequence[Wish], published_here: Sequence[Filter]
) -> list[Wish]:
    """What should be known through a link behind which this is wanted, if that is published on this side."""
    here = [EVERYTHING.filter] if routing.advertisements.floods else published_here
    if routing.subscriptions.floods:
        return [EVERYTHING] if here else []
    of_interest = [wish for wish in wanted if any(wish.filter.overlaps(each) for each in here)]
    return list(routing.subscriptions.reduce(of_interest))


def seen_by(strategy: Strategy, wishes: Sequence[Wish]) -> Hashable:
    """What counts of a table: equal values mean tables that are equally right."""
    if strategy.is_exact:
        return frozenset(wish.id for wish in wishes)
    if strategy.name.startswith("merging"):
        every = [_kinds_of(wish.filter) for wish in wishes]
        ordered = [_kinds_of(wish.filter) for wish in wishes if wish.ordered]
        return frozenset().union(*every), frozenset().union(*ordered)
    return frozenset(wish.item for wish in wishes)


@cache
def _kinds_of(content: Filter) -> frozenset[str]:
    return frozenset(kind for kind in KINDS if content.match(attributes_of(kind)))
