"""The option `--routing`: a strategy for subscriptions, or one each for subscriptions and advertisements."""

from collections.abc import Mapping
from typing import Final

import click

from broker.routing import DEFAULT, SIMPLE, Routing, RoutingError, parse

__all__ = ["ROUTING_DEFAULTS", "read_routing", "routing_for"]

_BY_ORDERING: Final[Mapping[str, Routing]] = {"published": SIMPLE}
"""Where the plugin needs another than the default. The paper detects conflicts between subscriptions that
every broker knows by name."""

ROUTING_DEFAULTS: Final = ", ".join(
    [str(DEFAULT), *(f"{routing} for {ordering}" for ordering, routing in _BY_ORDERING.items())]
)
"""What is used if nothing is said, in words."""


def routing_for(ordering: str) -> str:
    """What is used with an ordering plugin if nothing is said."""
    return str(_BY_ORDERING.get(ordering, DEFAULT))


def read_routing(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Return the text if it names strategies; complain with the names of all if not."""
    try:
        return None if text is None else str(parse(text))
    except RoutingError as error:
        raise click.BadParameter(str(error), ctx, param) from error
