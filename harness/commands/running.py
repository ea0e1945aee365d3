"""What `run` and `compare` share: the options that say what is performed, and reading them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from harness import outcomes
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
