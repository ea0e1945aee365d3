"""`concord harness run`: perform a scenario, and write its datasets.

What it shares with `compare` stands here, too: the options that say what is performed, and reading them.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

import attrs
import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from harness import outcomes
from harness.commands.schedules import check_ordering
from harness.runs.directory import prepare
from harness.runs.performance import Ending, perform_all, planned
from harness.runs.progress import progress_for
from harness.scenarios import Study, find

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def _overrides(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> Mapping[str, object]:
    """Read KEY=VALUE; a value is read as TOML has it, and taken as text if it is none."""
    found: dict[str, object] = {}
    for each in given:
        key, sign, text = each.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"{each!r}: write it as KEY=VALUE", ctx, param)
        try:
            found[key] = json.loads(text)
        except ValueError:
            found[key] = text
    return found


def scenario_options(command: Decorated) -> Decorated:
    """Give a command the options that say what is performed."""
    for option in (
        click.argument("scenario"),
        click.option(
            "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where to write."
        ),
        click.option(
            "--fault",
            "faults",
            multiple=True,
            metavar="SPEC",
            help="What goes wrong, beside what the scenario says; may be repeated. "
            "`concord harness faults` lists the forms.",
        ),
        click.option("--seed", type=click.IntRange(0), help="Another seed than the scenario's."),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            callback=_overrides,
            help="Change a key of the scenario, such as publishers.count=20; may be repeated.",
        ),
        click.option("--replace", is_flag=True, help="Overwrite what an earlier run left in DIR."),
        click.option("--quiet", "is_quiet", is_flag=True, help="Show no progress."),
    ):
        command = option(command)
    return command


def asked(scenario: str, faults: tuple[str, ...], seed: int | None, overrides: Mapping[str, object]) -> Study:
    """Return the scenario as the command line wants it."""
    changes = dict(overrides)
    if seed is not None:
        changes["seed"] = seed
    if faults:
        own = find(scenario, changes).first.faults
        changes["faults"] = [*own, *faults]
    return find(scenario, changes)


def only(study: Study, point: str | None) -> Study:
    """Return the study with one of its points alone, as if that were all of the scenario."""
    if point is None:
        return study
    found = next((each for each in study.points if each.name == point), None)
    if found is None:
        names = ", ".join(each.name for each in study.points if each.name) or "none"
        raise click.UsageError(f"--point {point}: {study.name} has no such point; there are {names}")
    return attrs.evolve(study, points=(attrs.evolve(found, name=""),))


def perform(
    study: Study, out: Path, orderings: tuple[str, ...], *, replace: bool, is_quiet: bool
) -> list[Ending]:
    """Check everything that can be checked, then perform every run."""
    progress = progress_for(is_quiet=is_quiet)
    try:
        runs = list(planned(study, out, progress, orderings))
        prepare(out, replace=replace)
        return outcomes.run(perform_all, runs, progress)
    finally:
        progress.close()


@click.command(
    "run",
    epilog='Example: concord harness run quick --out runs/quick --fault "restart core-1 at 2s after 1s"',
)
@scenario_options
@click.option("--ordering", help="Another ordering plugin than the scenario's.")
@click.option("--point", metavar="NAME", help="Only this point of a scenario with several.")
@click.option("--simulated", is_flag=True, help="In the simulator: messages arrive by chance from the seed.")
@click.option("--json", "as_json", is_flag=True, help="Print what became of each run as JSON.")
def command(  # noqa: PLR0913 - one parameter per option
    *,
    scenario: str,
    out: Path,
    ordering: str | None,
    point: str | None,
    faults: tuple[str, ...],
    seed: int | None,
    overrides: Mapping[str, object],
    replace: bool,
    is_quiet: bool,
    simulated: bool,
    as_json: bool,
) -> None:
    """Perform SCENARIO, the name of one that is shipped or a TOML file, with real brokers and clients.

    `concord harness scenarios` lists those that are shipped, and with `--keys` what a file may have.
    Writes Parquet datasets and run.json to DIR, which `concord harness analyze` reads.
    """
    if not simulated:
        require_extras("harness")
    study = only(asked(scenario, faults, seed, _with_ordering(scenario, ordering, overrides)), point)
    for name in {point.scenario.ordering for point in study.points}:
        check_ordering(name, {})
    if simulated:
        _simulate(study, out, replace=replace, as_json=as_json)
    endings = perform(study, out, (), replace=replace, is_quiet=is_quiet)
    if as_json:
        click.echo(to_json([{**attrs.asdict(each), "folder": str(each.folder)} for each in endings]))
        return
    for each in endings:
        click.echo(
            f"{each.folder}: {each.ordering}, {each.published:,} published, {each.delivered:,} delivered, "
            f"{each.faults} faults, {each.seconds:.1f} s"
        )


def _with_ordering(
    scenario: str, ordering: str | None, overrides: Mapping[str, object]
) -> Mapping[str, object]:
    """Choose an ordering. Options that a scenario has for its own plugin mean nothing to another."""
    if ordering is None:
        return overrides
    is_own = find(scenario, overrides).first.ordering == ordering
    return {**({} if is_own else {"ordering_options": {}}), **overrides, "ordering": ordering}


def _simulate(study: Study, out: Path, *, replace: bool, as_json: bool) -> NoReturn:
    """Perform the first point of a scenario in the simulator. The status is 1 if a promise was broken."""
    from harness.runs.simulated import simulate  # noqa: PLC0415 - only who asks loads the simulator

    prepare(out, replace=replace)
    outcome = simulate(study.first, study.first.ordering, out)
    if as_json:
        click.echo(to_json({**attrs.asdict(outcome), "schedule": str(outcome.schedule)}))
    else:
        click.echo(
            f"{outcome.publications:,} published, {outcome.deliveries:,} delivered, {outcome.faults} faults; "
            f"schedule: {outcome.schedule}"
        )
        for kind, text in outcome.violations:
            click.echo(f"{kind}: {text}")
        if not outcome.violations:
            click.echo("every promise was kept")
    sys.exit(1 if outcome.violations else 0)
