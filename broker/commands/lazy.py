"""Groups of commands that load a command only when it is asked for."""

import importlib
from collections.abc import Mapping

import click

__all__ = ["lazy_group"]


def lazy_group(commands: Mapping[str, str]) -> type[click.Group]:
    """Make a kind of group over `name -> module:attribute`; click's own want every command at the start."""

    class LazyGroup(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
            return sorted(commands)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
            place = commands.get(cmd_name)
            if place is None:
                return None
            module_name, attribute = place.split(":")
            command = getattr(importlib.import_module(module_name), attribute)
            assert isinstance(command, click.Command)
            return command

    return LazyGroup
