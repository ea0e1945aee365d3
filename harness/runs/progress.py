"""The progress of a run: a line that changes on a terminal, plain lines elsewhere, or nothing.

Everything goes to standard error, so that standard output is what was asked for.
"""

import sys
import time
from typing import TYPE_CHECKING, Final

import click
from attrs import define, field

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PLAIN_EVERY_S: Final = 5.0
"""Between two plain lines of the same stage."""


class Progress:
    """Shows the progress of a run; this one shows nothing."""

    def run(self, title: str) -> None:
        """A run begins."""

    def stage(self, text: str, total: float) -> None:
        """Begin a stage that is complete when `advance` has reached `total`."""

    def advance(self, done: float, published: int | None = None, delivered: int | None = None) -> None:
        """So much is done."""

    def event(self, text: str) -> None:
        """Show an event, such as a fault."""

    def close(self) -> None:
        """End the display."""


def _counts(published: int | None, delivered: int | None) -> str:
    if published is None:
        return ""
    return f"{published:,} published, {delivered or 0:,} delivered"


@define(eq=False)
class Plain(Progress):
    """A line for each stage and each event, and one now and then in between."""

    _title: str = ""
    _text: str = ""
    _total: float = 1.0
    _last_s: float = 0.0

    def run(self, title: str) -> None:
        """Remember what the next lines are about."""
        self._title = title

    def stage(self, text: str, total: float) -> None:
        """Say that something begins."""
        self._text, self._total = text, total
        self._last_s = time.monotonic()
        self._say(text)

    def advance(self, done: float, published: int | None = None, delivered: int | None = None) -> None:
        """Say it now and then."""
        if time.monotonic() - self._last_s >= PLAIN_EVERY_S:
            self._last_s = time.monotonic()
            self._say(f"{self._text} {done:.0f} of {self._total:g}  {_counts(published, delivered)}".rstrip())

    def event(self, text: str) -> None:
        """Say it."""
        self._say(text)

    def _say(self, text: str) -> None:
        click.echo(f"{self._title}: {text}", err=True)


@define(eq=False)
class Rich(Progress):
    """One line that changes, and a line above it for each event."""

    _display: "RichProgress"
    _task: "TaskID"
    _title: str = field(default="", init=False)

    def run(self, title: str) -> None:
        """Show what the line is about."""
        self._title = title

    def stage(self, text: str, total: float) -> None:
        """Begin the line anew."""
        self._display.update(
            self._task, description=f"{self._title}: {text}", total=total, completed=0, counts=""
        )

    def advance(self, done: float, published: int | None = None, delivered: int | None = None) -> None:
        """Move the bar."""
        self._display.update(self._task, completed=done, counts=_counts(published, delivered))

    def event(self, text: str) -> None:
        """Leave a line above."""
        self._display.console.print(f"{self._title}: {text}", markup=False, highlight=False)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._display.stop()


def progress_for(*, is_quiet: bool) -> Progress:
    """Return the display of progress that fits standard error."""
    if is_quiet:
        return Progress()
    if not sys.stderr.isatty():
        return Plain()
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - likewise
    from rich.progress import Progress as Display  # noqa: PLC0415 - likewise

    display = Display(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    display.start()
    return Rich(display, display.add_task("", counts=""))
