"""Which generated pages are older than the code that they measure.

    python -m harness.results          # a line for each page of docs/results

Every page there begins with what made it: the commit, the command, the machine, and the load. `measures`
names the files and folders whose code its figures are about. A page is *old* when one of them has changed
since that commit; git says so. Nothing is measured again here.
"""

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from attrs import frozen

from harness.tables import Table, show

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = Path("docs/results")

KEYS: Final = ("commit", "command", "machine", "load", "measures")
"""The keys that the head of a page must have; `note` is optional."""

HEAD: Final = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_CHANGES_SHOWN: Final = 3


class PageError(ValueError):
    """The head of a page lacks a key, such as the command that made the page."""


@frozen
class Age:
    """How a page stands to the code: the commits `changed` since, or `missing` if git lacks its own."""

    page: str
    commit: str
    changed: tuple[str, ...]
    missing: bool = False

    @property
    def is_old(self) -> bool:
        """Return whether the page may be out of date."""
        return self.missing or bool(self.changed)


def provenance(text: str) -> Mapping[str, str]:
    """Return the keys and values of the head of a page.

    Raises:
        PageError: it has no head, or a key is missing.
    """
    head = HEAD.match(text)
    if head is None:
        raise PageError("the page does not begin with --- and what made it")
    found = dict(line.split(": ", 1) for line in head[1].splitlines() if ": " in line)
    if absent := [key for key in KEYS if not found.get(key)]:
        raise PageError(f"the head of the page lacks {', '.join(absent)}")
    return found


def stamped(before: str, after: str, root: Path = ROOT, *, load: str = "") -> str:
    """Give a page that was made anew the head of the page before, with this commit and this machine.

    Where the load is known, the head has it, and no note: that was about what was measured before.
    """
    head = HEAD.match(before)
    if head is None:
        return after
    here = {"commit": _git(root, "rev-parse", "--short=7", "HEAD").strip(), "machine": _machine()}
    if load:
        here["load"] = load
    lines = [
        f"{key}: {here.get(key, said)}"
        for line in head[1].splitlines()
        for key, said in [line.split(": ", 1)]
        if not (load and key == "note")
    ]
    body = after.removeprefix(head[0]).lstrip()
    return "\n".join(["---", *lines, "---", "", body])


def filled(page: str, mark: str, content: str) -> str:
    """Return a page with this content between `<!-- mark: begin -->` and `<!-- mark: end -->`."""
    begin, end = f"<!-- {mark}: begin -->\n", f"<!-- {mark}: end -->"
    start, _, rest = page.partition(begin)
    assert end in rest, f"the page has no place for {mark}"
    return f"{start}{begin}{content}{end}{rest.partition(end)[2]}"


def age(name: str, text: str, root: Path = ROOT) -> Age:
    """Ask git whether what a page measures has changed since the page was made."""
    made = provenance(text)
    commit = made["commit"]
    if not _git(root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return Age(name, commit, (), missing=True)
    log = _git(
        root, "log", "--no-merges", "--format=%h %s", f"{commit}..HEAD", "--", *made["measures"].split()
    )
    return Age(name, commit, tuple(log.splitlines()))


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} processors, {system}, Python {platform.python_version()}"


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints; nothing where it fails, as in a copy of the sources without its history."""
    ended = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S603, S607 - our arguments; git is found as in any shell
    return ended.stdout if ended.returncode == 0 else ""


def _row(each: Age) -> tuple[str, str, str, str]:
    if each.missing:
        return each.page, each.commit, "unknown", "git does not have this commit"
    latest = "; ".join(each.changed[:_CHANGES_SHOWN])
    return each.page, each.commit, f"{len(each.changed)} changes since" if each.changed else "current", latest


@click.command("results")
def main() -> None:
    """Print for every page of results whether the code it measures has changed since."""
    pages = sorted((ROOT / PAGES).glob("*.md"))
    ages = [age(page.name, page.read_text(encoding="utf-8")) for page in pages if page.name != "index.md"]
    show(Table(("page", "made at", "age", "latest changes of what it measures"), [*map(_row, ages)], words=4))


if __name__ == "__main__":
    main()
