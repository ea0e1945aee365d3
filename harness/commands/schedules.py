"""The options of `explore` and `replay` that choose schedules."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from broker.commands.options import (
    ROUTING_DEFAULTS,
    complete_orderings,
    complete_routings,
    read_pairs,
    read_routing,
    routing_for,
)
from broker.errors import ConcordError
from broker.routing import known
from harness.explorer.mutants import MUTANTS
from harness.simulator.knobs import FAULTS
from harness.whole.knobs import WHOLE_FAULTS
from ordering import plugins
from ordering.interface import ALONE, OptionError

Decorated = TypeVar("Decorated", bound=Callable[..., object])


class UnknownPluginError(ConcordError):
    """No installed ordering plugin has this name and these options."""


class _BrokerRange(click.ParamType[tuple[int, int]]):
    """MIN-MAX, or one number."""

    name = "MIN-MAX"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        low, _, high = str(value).partition("-")
        try:
            limits = int(low), int(high or low)
        except ValueError:
            self.fail(f"{value!r} is no range of brokers; write it as 2-6", param, ctx)
        if not 1 <= limits[0] <= limits[1]:
            self.fail(f"{value!r} must go from a smaller number, at least 1, to a larger one", param, ctx)
        return limits


def schedule_options(command: Decorated) -> Decorated:
    """Give a command the options that say which schedules are meant."""
    for option in (
        click.option(
            "--faults",
            type=click.Choice(list(dict.fromkeys((*FAULTS, *WHOLE_FAULTS)))),
            help="What happens beside publishing: nothing, clients that come and go, crashes as well. "
            "Only cores: healing (brokers are lost for good, and the rest finds each other). "
            "Always whole brokers: restart (with journals), loss (for good, with sessions and journals), "
            "roam (clients that go to other brokers), hostile (peers that say anything at any time). "
            "Default: none; with --mutant, what finds it soonest.",
        ),
        click.option(
            "--ordering",
            default="pairwise",
            show_default=True,
            shell_complete=complete_orderings,
            help="The ordering plugin.",
        ),
        click.option(
            "--routing",
            metavar="NAME[+NAME]",
            callback=read_routing,
            shell_complete=complete_routings,
            help=f"How subscriptions, and advertisements, are passed on: {', '.join(known())}. "
            f"Default: {ROUTING_DEFAULTS}; with --mutant, where the rule matters.",
        ),
        click.option(
            "--ordering-option",
            "options",
            multiple=True,
            metavar="KEY=VALUE",
            callback=read_pairs,
            help="Option of the ordering plugin; may be repeated.",
        ),
        click.option(
            "--whole",
            "is_whole",
            is_flag=True,
            help="Explore whole brokers and clients over streams of bytes, not cores alone. "
            "Restart, loss, roam, hostile, and mutants of whole brokers imply it.",
        ),
        click.option("--mutant", type=click.Choice(sorted(MUTANTS)), help="Break this rule of the product."),
        click.option(
            "--brokers", type=_BrokerRange(), default="2-6", show_default=True, help="How many brokers."
        ),
    ):
        command = option(command)
    return command


def check_ordering(name: str, options: Mapping[str, str]) -> None:
    """Complain in time about a plugin that is not there, or does not have these options."""
    try:
        plugins.load(name, options)(ALONE)
    except (plugins.UnknownOrderingError, OptionError) as error:
        raise UnknownPluginError(f"--ordering {name}: {error}") from error


def routing_or_default(routing: str | None, mutant: str | None, ordering: str) -> str:
    """Return the routing strategies, by default those of the mutant or of the ordering."""
    return routing or (MUTANTS[mutant].routing if mutant else routing_for(ordering))


def faults_and_depth(faults: str | None, mutant: str | None, *, is_whole: bool) -> tuple[str, bool]:
    """Return the faults, with their default, and whether they are of whole brokers.

    Raises:
        UsageError: that cannot happen to them.
    """
    chosen = faults or (MUTANTS[mutant].faults if mutant else "none")
    is_whole = is_whole or chosen not in FAULTS or (mutant is not None and MUTANTS[mutant].is_whole)
    if is_whole and chosen not in WHOLE_FAULTS:
        raise click.UsageError(f"--faults {chosen}: to whole brokers there are {', '.join(WHOLE_FAULTS)}")
    return chosen, is_whole
