"""What the documentation site adds to the pages: links to the sources, what made results, commands.

Sphinx reads the Markdown of `docs/`, and `docs/conf.py` names the functions here. Links that leave `docs/`
lead to the repository, for only `docs/` is on the site. The head of a page of results becomes a box. A line
`{{ commands }}` becomes what `concord --help` prints, and that of every command below it.
"""

import os.path
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import click

from broker.commands import concord
from harness.results import HEAD, KEYS, provenance

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SOURCE: Final = "https://concord.example/source"
"""Where the repository is read; the same as in pyproject.toml."""

COMMANDS: Final = "{{ commands }}"

_WIDTH: Final = 100
_LINK: Final = re.compile(r"\]\((\.\./[^)\s#]*)(#[^)\s]*)?\)")
_TITLE: Final = re.compile(r"^# .*\n", re.MULTILINE)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Connect the transformations of pages to Sphinx."""
    app.connect("source-read", _shown)
    app.connect("autodoc-skip-member", _skipped)
    return {"parallel_read_safe": True}


def _shown(_: "Sphinx", page: str, source: list[str]) -> None:
    text = boxed(source[0]) if HEAD.match(source[0]) else source[0]
    if COMMANDS in text:
        text = text.replace(COMMANDS, "\n".join(helps(concord, "concord")))
    source[0] = outward(page, text)


def _skipped(_: "Sphinx", kind: str, name: str, *_rest: object) -> bool | None:
    """Leave out what Python makes of a class: users neither call nor override it."""
    del kind
    return True if name.startswith("__") else None


def slug(heading: str) -> str:
    """Return how a heading is linked to, as those who read the pages in the repository see it too."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).replace(" ", "-")


def version_here() -> str:
    """Return the version of what is installed; sources that are not installed have none."""
    try:
        return version("concord-pubsub")
    except PackageNotFoundError:
        return ""


def outward(page: str, text: str) -> str:
    """Let the links of a page that leave `docs/` lead to the repository."""

    def led(link: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath("docs", page).parent / link[1])
        return link[0] if target.startswith("docs/") else f"]({SOURCE}/{target})"

    return _LINK.sub(led, text)


def boxed(text: str) -> str:
    """Show below the title of a page of results its commit, command and machine."""
    made = provenance(text)
    rows = [f"| {key} | {_said(key, made[key])} |" for key in (*KEYS, "note") if key in made]
    box = "\n".join(["", "```{note}", "What made this page:", "", "| | |", "|---|---|", *rows, "```", ""])
    return _TITLE.sub(lambda title: title[0] + box, HEAD.sub("", text), count=1)


def _said(key: str, value: str) -> str:
    return f"`{value}`" if key in {"commit", "command", "measures"} else value


def helps(command: click.Command, name: str) -> Iterator[str]:
    """Print the help of a command and of all below it, as Markdown."""
    context = click.Context(command, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH)
    yield from (f"## {name}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from helps(found, f"{name} {each}")
