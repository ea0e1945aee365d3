"""Groups of commands that load a command only when it is asked for.

A group has commands of its own, in a table, and takes those that distributions offer as entry points. Entry
points are looked up only for a name that is not in the table, or to list all: that costs some milliseconds.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points

import click


def offered(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by their names; nothing if the group has no name."""
    return {point.name: point for point in entry_points(group=group)} if group else {}


def lazy_group(commands: Mapping[str, str], entry_point_group: str = "") -> type[click.Group]:
    """Make a kind of group over `name -> module:attribute`; click's own want every command at the start."""

    class LazyGroup(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
            return sorted({*commands, *offered(entry_point_group)})

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
            if cmd_name in commands:
                point = EntryPoint(cmd_name, commands[cmd_name], entry_point_group)
            elif cmd_name in (more := offered(entry_point_group)):
                point = more[cmd_name]
            else:
                return None
            command = point.load()
            assert isinstance(command, click.Command)
            return command

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            try:
                return super().resolve_command(ctx, args)
            except click.UsageError as error:
                near = get_close_matches(args[0], self.list_commands(ctx), 1)
                if not near:
                    raise
                raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error

    return LazyGroup
