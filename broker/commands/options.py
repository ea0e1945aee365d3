"""The types of options of commands: addresses, sizes and times, KEY=VALUE, limits, and routing strategies.

A type is used as in `@click.option("--listen", type=ADDRESS)`, and a function that reads as `callback=`.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

import attrs
import click

from broker.addresses import Address, parse_address
from broker.filters import FilterError
from broker.filters import parse as parse_filter
from broker.node.limits import NodeLimits
from broker.quantities import read_size, read_span
from broker.routing import DEFAULT, RoutingError, known, parse
from ordering.plugins import UnknownOrderingError, names, routing

ROUTING_DEFAULTS: Final = f"{DEFAULT}, or what the ordering plugin needs"
"""The text of the default."""


class _AddressType(click.ParamType[Address]):
    """The type of an option that takes an address."""

    name = "HOST:PORT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        try:
            return parse_address(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _AddressesType(click.ParamType[tuple[Address, ...]]):
    """The type of an option that takes addresses, with commas between them."""

    name = "HOST:PORT"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Address, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(ADDRESS.convert(each, param, ctx) for each in str(value).split(","))


@attrs.define
class _Quantity(click.ParamType[float]):
    """Text that a function reads, or a number that is one already."""

    name: str
    _read: Callable[[str], float]

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            if not 0 <= value < inf:
                self.fail(f"expected a number from 0 on, got {value}", param, ctx)
            return value
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


ADDRESS: Final = _AddressType()
ADDRESSES: Final = _AddressesType()
SIZE: Final = _Quantity("size", read_size)
SPAN: Final = _Quantity("time", read_span)


def read_pairs(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    """Take KEY=VALUE apart, which may be repeated; of one key the last one counts."""
    for pair in pairs:
        if not pair.partition("=")[0] or "=" not in pair:
            raise click.BadParameter(f"expected KEY=VALUE, got {pair!r}", ctx, param)
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def one_word(words: Sequence[str], place: str) -> str | None:
    """Return the only argument of a command, or None without any.

    Raises:
        click.UsageError: there are several, as if the shell had taken a filter apart.
    """
    if len(words) > 1:
        raise click.UsageError(
            f"unexpected {' '.join(map(repr, words[1:]))}: quote the filter, so that the shell does not "
            f"take it apart: {place} is one argument, as in \"symbol == 'IBM'\""
        )
    return words[0] if words else None


def check_filter(text: str) -> None:
    """Check a filter before anything is connected.

    Raises:
        FilterError: it cannot be read.
        click.UsageError: it is one word that cannot be read: the shell may have taken the rest of it.
    """
    try:
        parse_filter(text)
    except FilterError as error:
        if len(text.split()) > 1:
            raise
        quoted = f'quote the filter if the shell has taken it apart, as in "{text} > 100"'
        raise click.UsageError(f"{error}; {quoted}") from error


def complete_orderings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the ordering plugins that begin so, for shell completion."""
    return [name for name in names() if name.startswith(incomplete)]


def complete_routings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Return the routing strategies, or pairs of them, that begin so, for shell completion."""
    first, plus, rest = incomplete.rpartition("+")
    return [f"{first}{plus}{name}" for name in known() if name.startswith(rest)]


def read_limits(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> NodeLimits:
    """Return the limits with those that were given, as NAME=VALUE."""
    names = {each.name.replace("_", "-"): each.name for each in attrs.fields(NodeLimits)}
    limits = NodeLimits()
    for text in given:
        name, equals, value = text.partition("=")
        field = names.get(name.strip().replace("_", "-"))
        if field is None or not equals:
            raise click.BadParameter(
                f"{text!r}: expected NAME=VALUE with one of {', '.join(names)}", ctx, param
            )
        try:
            limits = attrs.evolve(limits, **{field: read_size(value.strip())})
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}", ctx, param) from error
    return limits


def routing_for(ordering: str) -> str:
    """Return the default routing of an ordering plugin."""
    try:
        return str(parse(routing(ordering) or str(DEFAULT)))
    except UnknownOrderingError:
        # The error is raised, with the source of the name, where the plugin is made.
        return str(DEFAULT)


def read_routing(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """Return the text if it names strategies; complain with the names of all if not."""
    try:
        return None if text is None else str(parse(text))
    except RoutingError as error:
        raise click.BadParameter(str(error), ctx, param) from error
