"""`concord harness replay`: one schedule again, as a space-time diagram in text."""

import sys

import click

from broker.routing import parse
from harness.commands.schedules import check_ordering, faults_and_depth, routing_or_default, schedule_options
from harness.explorer.campaign import judge
from harness.explorer.diagram import draw
from harness.explorer.mutants import applied
from harness.explorer.shrink import shrink
from harness.whole.outcomes import happen, world_of
from harness.whole.world import WholeWorld
from ordering import plugins


@click.command("replay", epilog="Example: concord harness replay 1437 --mutant late-one-by-one")
@click.argument("seed", type=int)
@click.option(
    "--shrink/--no-shrink",
    "is_shrunk",
    default=True,
    help="Leave out whatever the first violation does not need (the default), or show all of it.",
)
@schedule_options
def command(  # noqa: PLR0913 - one parameter per option
    *,
    seed: int,
    is_shrunk: bool,
    faults: str | None,
    ordering: str,
    routing: str | None,
    options: dict[str, str],
    mutant: str | None,
    brokers: tuple[int, int],
    is_whole: bool,
) -> None:
    """Show the schedule of SEED: a column per broker and subscription, time runs downwards.

    The lines on the left are the schedule as a scenario file. Whole brokers are shown step by step, with what
    each says to its operator. The exit status is 1 if a promise is broken.
    """
    check_ordering(ordering, options)
    factory = plugins.load(ordering, options)
    strategies = parse(routing_or_default(routing, mutant, ordering))
    chosen, is_whole = faults_and_depth(faults, mutant, is_whole=is_whole)
    if is_whole:
        with applied(mutant):
            _show_whole(world_of(seed, chosen, brokers, factory, strategies))
        return
    with applied(mutant):
        outcome, found = judge(seed, chosen, brokers, factory, strategies)
        actions = outcome.actions
        if found and is_shrunk:
            actions = shrink(actions, found[0][0], factory, strategies)
        diagram, again = draw(actions, factory, strategies)
    for line in diagram.lines():
        click.echo(line)
    click.echo("")
    for kind, text in dict.fromkeys(again.faults):
        click.echo(f"{kind}: {text}")
    if not found:
        click.echo("every promise was kept")
    sys.exit(1 if found else 0)


def _show_whole(world: WholeWorld) -> None:
    click.echo(f"{world.knobs}")
    world.watch = click.echo
    outcome = happen(world)
    click.echo("")
    for kind, text in dict.fromkeys(outcome.faults):
        click.echo(f"{kind}: {text}")
    if not outcome.faults:
        click.echo("every promise was kept")
    sys.exit(1 if outcome.faults else 0)
