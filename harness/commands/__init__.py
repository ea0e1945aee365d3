"""The commands of the harness, `concord harness ...`; each is loaded only when it is asked for.

Adding one is adding a file and one line to `COMMANDS`.
"""

from typing import Final

import click

from broker.commands.lazy import lazy_group as _lazy_group

__all__ = ["COMMANDS", "harness"]

COMMANDS: Final = {
    "advise": "harness.commands.advise:command",
    "advised-moves": "harness.commands.advised_moves:command",
    "analyze": "harness.commands.analyze:command",
    "compare": "harness.commands.compare:command",
    "explore": "harness.commands.explore:command",
    "faults": "harness.commands.listing:faults",
    "large": "harness.commands.large:command",
    "methods": "harness.commands.methods:command",
    "moves": "harness.commands.moves:command",
    "peers": "harness.commands.peers:command",
    "run": "harness.commands.run:command",
    "scenarios": "harness.commands.listing:scenarios",
    "replay": "harness.commands.replay:command",
    "report": "harness.commands.analyze:report",
    "upgrade": "harness.commands.upgrade:command",
    "watch": "harness.commands.watch:command",
}
"""Where each command lives, as `module:attribute`."""


@click.group(
    cls=_lazy_group(COMMANDS),
    epilog="Example: concord harness explore --schedules 10000 --seed 0 --faults churn",
)
def harness() -> None:
    """Explore the protocol in simulation; run, compare and analyse overlays of real brokers."""
