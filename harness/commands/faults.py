"""`concord harness faults`: the kinds of faults there are, with an example of each."""

import click

from broker.commands.lines import to_json
from harness.faults import KINDS


@click.command(
    "faults", epilog='Example: concord harness run quick --out runs/q --fault "crash edge-3 at 2s"'
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def command(*, as_json: bool) -> None:
    """List what can go wrong in a run.

    TIME is written as 10s, 500ms or 2m, counted from when publishing begins. Instead of `at TIME` every
    fault may have `every TIME [from TIME] [until TIME]`. A name may have stars in it, `core-*`, and `random`
    is anybody, drawn anew each time. A link is named by the broker at its lower end, or by both its brokers.
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
