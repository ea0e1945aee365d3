"""`concord harness faults` and `concord harness scenarios`: lists of faults and of scenarios."""

import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from harness.faults import KINDS
from harness.scenarios import Scenario, find, shipped_scenarios
from harness.scenarios.keys import keys_of
from harness.tables import Table, show


@click.command(
    "faults", epilog='Example: concord harness run quick --out runs/q --fault "crash edge-3 at 2s"'
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def faults(*, as_json: bool) -> None:
    """List the faults that can be injected into a run.

    TIME is written as 10s, 500ms or 2m, counted from when publishing begins. Instead of `at TIME` every
    fault may have `every TIME [from TIME] [until TIME]`. A name may have stars in it, `core-*`, and `random`
    is any target, drawn anew each time. A link is named by the broker at its lower end, or by both.
    """
    if as_json:
        kinds = [
            {"kind": " ".join(k.words), "about": k.about, "usage": k.usage, "example": k.example}
            for k in KINDS
        ]
        click.echo(to_json(kinds))
        return
    for kind in KINDS:
        click.echo(f"{kind.usage}\n    {kind.about}\n    --fault {to_json(kind.example)}\n")


@click.command("scenarios", epilog="Example: concord harness scenarios --keys")
@click.option("--keys", "shows_keys", is_flag=True, help="List the keys of a scenario file instead.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def scenarios(*, shows_keys: bool, as_json: bool) -> None:
    """List the scenarios that can be run by name, and what each is for."""
    if shows_keys:
        _show_keys(as_json=as_json)
        return
    if not as_json:
        require_extras("harness")
    studies = [(name, path, find(name)) for name, path in shipped_scenarios().items()]
    if as_json:
        click.echo(
            to_json(
                [
                    {"name": name, "about": study.first.about, "points": len(study.points), "path": str(path)}
                    for name, path, study in studies
                ]
            )
        )
        return
    rows = []
    for name, _, study in studies:
        runs = f" ({len(study.points)} points)" if len(study.points) > 1 else ""
        rows.append((name, study.first.about + runs))
    show(Table((), rows, words=2))


def _show_keys(*, as_json: bool) -> None:
    keys = keys_of(Scenario)
    if as_json:
        rows = [
            {"key": name, "default": default, "allowed": key.allowed, "about": key.about}
            for name, (key, default) in keys.items()
        ]
        click.echo(to_json(rows))
        return
    for name, (key, default) in keys.items():
        click.echo(f"{name} = {to_json(default)}\n    {key.about}\n    {key.allowed}\n")
