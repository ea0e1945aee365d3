"""The option `--routing`: a strategy for subscriptions, or one each for subscriptions and advertisements."""

from typing import Final

import click

from broker.routing import DEFAULT, RoutingError, parse
from ordering.plugins import UnknownOrderingError, routing

__all__ = ["ROUTING_DEFAULTS", "read_routing", "routing_for"]

ROUTING_DEFAULTS: Final = f"{DEFAULT}, or what the ordering plugin needs"
"""What is used if nothing is said, in words."""


def routing_for(ordering: str) -> str:
    """Return what is used with an ordering plugin if nothing is said."""
    try:
        return str(parse(routing(ordering) or str(DEFAULT)))
    except UnknownOrderingError:
        # Whoever makes the plugin says so, and where its name came from.
        return str(DEFAULT)


def read_routing(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Return the text if it names strategies; complain with the names of all if not."""
    try:
        return None if text is None else str(parse(text))
    except RoutingError as error:
        raise click.BadParameter(str(error), ctx, param) from error
