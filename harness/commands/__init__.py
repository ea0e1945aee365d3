"""The commands of the harness, `concord harness ...`; each is loaded only when it is asked for.

Adding one is adding a file and one line to `COMMANDS`.
"""

import importlib
from typing import Final

import click

__all__ = ["COMMANDS", "harness"]

COMMANDS: Final = {
    "explore": "harness.commands.explore:command",
    "replay": "harness.commands.replay:command",
}
"""Where each command lives, as `module:attribute`."""


class _LazyGroup(click.Group):
    """A group over `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module_name, attribute = place.split(":")
        command = getattr(importlib.import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_LazyGroup, epilog="Example: concord harness explore --schedules 10000 --seed 0 --faults churn"
)
def harness() -> None:
    """Explore the protocol in simulation; run, compare and analyse overlays of real brokers."""
