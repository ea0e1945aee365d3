"""What a command needs beyond the core, and the line that says how to install it.

A command asks with `require_extras` before it starts anything. Its module imports what belongs to an extra
only inside functions, so that its `--help` works without.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

import click

DISTRIBUTION: Final = "concord-pubsub"

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "analysis": ("numpy", "pandas", "pyarrow", "pyspark", "rich"),
    "harness": ("pyarrow", "rich"),
    "history": ("pyarrow",),
    "schema": ("jsonschema",),
    "spark": ("pyarrow", "pyspark"),
    "web": ("hypercorn", "starlette"),
}
"""The modules of each extra, as `pyproject.toml` has them."""


class MissingExtraError(click.ClickException):
    """A command needs what is not installed."""

    exit_code = 2


def require_extras(*extras: str, option: str = "") -> None:
    """Check that the extras which the running command, or one of its options, needs are installed.

    Raises:
        MissingExtraError: one is not; the message says what to install.
    """
    absent = {extra: [name for name in EXTRAS[extra] if not _is_installed(name)] for extra in extras}
    needed = [extra for extra in extras if absent[extra]]
    if not needed:
        return
    context = click.get_current_context(silent=True)
    command = " ".join(filter(None, (context.command_path if context else "this", option)))
    missing = sorted({name for extra in needed for name in absent[extra]})
    raise MissingExtraError(
        f"{command} needs {_named(needed)}: pip install '{DISTRIBUTION}[{','.join(needed)}]' "
        f"({', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing)"
    )


def _named(extras: list[str]) -> str:
    return f"the extra{'s' if len(extras) > 1 else ''} {' and '.join(map(repr, extras))}"


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
