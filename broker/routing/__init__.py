"""Routing strategies: how little a neighbour has to be told of what is known here.

`strategy` is the interface and its laws, `names` finds strategies by name, and each strategy stands in a
file of its own. Everything is decided without looking at brokers, links or messages.
"""

from broker.routing.names import DEFAULT, SIMPLE, Routing, RoutingError, known, parse
from broker.routing.strategy import (
    MERGER_MARK,
    NOTHING,
    NOTHING_TOLD,
    Change,
    Item,
    Picture,
    Selection,
    Strategy,
    Wish,
)

__all__ = [
    "DEFAULT",
    "MERGER_MARK",
    "NOTHING",
    "NOTHING_TOLD",
    "SIMPLE",
    "Change",
    "Item",
    "Picture",
    "Routing",
    "RoutingError",
    "Selection",
    "Strategy",
    "Wish",
    "known",
    "parse",
]
