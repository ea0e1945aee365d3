"""The option `--routing`: a strategy for subscriptions, or one each for subscriptions and advertisements."""

import click

from broker.routing import DEFAULT, RoutingError, parse

__all__ = ["DEFAULT_ROUTING", "read_routing"]

DEFAULT_ROUTING = str(DEFAULT)
"""What is used if nothing is said."""


def read_routing(ctx: click.Context, param: click.Parameter, text: str) -> str:
    """Return the text if it names strategies; complain with the names of all if not."""
    try:
        return str(parse(text))
    except RoutingError as error:
        raise click.BadParameter(str(error), ctx, param) from error
