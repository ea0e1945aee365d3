"""Reads `--limit NAME=VALUE`, which may be given several times."""

from collections.abc import Sequence

import attrs
import click

from broker.node.limits import NodeLimits
from broker.quantities import read_size

__all__ = ["read_limits"]


def read_limits(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> NodeLimits:
    """Return the limits with those that were given."""
    names = {each.name.replace("_", "-"): each.name for each in attrs.fields(NodeLimits)}
    changes: dict[str, int] = {}
    for text in given:
        name, equals, value = text.partition("=")
        field = names.get(name.strip().replace("_", "-"))
        if field is None or not equals:
            raise click.BadParameter(
                f"{text!r}: expected NAME=VALUE with one of {', '.join(names)}", ctx, param
            )
        try:
            changes[field] = read_size(value.strip())
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}", ctx, param) from error
        try:
            attrs.evolve(NodeLimits(), **{field: changes[field]})
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}", ctx, param) from error
    return attrs.evolve(NodeLimits(), **changes)
