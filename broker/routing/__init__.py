"""Routing strategies: how few of the known routes are announced to a neighbour.

`strategy` is the interface and its laws, `names` finds strategies by name, and each strategy stands in a
file of its own. Everything is decided without looking at brokers, links or messages.
"""

from broker.routing.names import DEFAULT, PART_COUNT, SIMPLE, Routing, RoutingError, known, parse
from broker.routing.strategy import (
    MERGER_MARK,
    NOTHING,
    NOTHING_ANNOUNCED,
    Change,
    Item,
    RouteFilter,
    Selection,
    Snapshot,
    Strategy,
)

__all__ = [
    "DEFAULT",
    "MERGER_MARK",
    "NOTHING",
    "NOTHING_ANNOUNCED",
    "PART_COUNT",
    "SIMPLE",
    "Change",
    "Item",
    "RouteFilter",
    "Routing",
    "RoutingError",
    "Selection",
    "Snapshot",
    "Strategy",
    "known",
    "parse",
]
