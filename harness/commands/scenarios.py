"""`concord harness scenarios`: the scenarios that come with the product."""

import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from harness.scenarios import find, shipped_scenarios
from harness.tables import Table, show


@click.command("scenarios", epilog="Example: concord harness scenarios")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def command(*, as_json: bool) -> None:
    """List the scenarios that can be run by name, and what each is for."""
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
