"""What the campaigns against texts have in common: cases from numbers, a watch, a tally, one command line.

A case follows from the seed and its number alone. A case that hangs ends the process with all stacks.
"""

import faulthandler
import io
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from itertools import count
from random import Random
from typing import Any, Final

import click
from attrs import frozen

from broker.commands import _status_of
from broker.exception_groups import leaves

MESSAGE_LIMIT: Final = 1000
"""Characters of an error."""

SLOW_LIMIT_S: Final = 5.0
"""Of processor time for one case, which takes some milliseconds: far above what a busy machine adds."""

HANG_LIMIT_S: Final = 60.0
"""No case takes a second; if `WATCHED_CASES` take this long, one of them never ends."""

WATCHED_CASES: Final = 64
"""The watch is wound up once for so many cases: it starts a thread each time."""

_STANDARD_ERROR: Final = 2

Tally = Counter[str]
"""What became of the cases, in words."""


class Crash(Exception):  # noqa: N818 - it is what this program looks for
    """A case that ended in a way that nobody can read."""


@frozen
class Campaign:
    """How cases are made, and how one is judged; the judge returns what became of it, in a word."""

    name: str
    make: Callable[[Random], Any]
    judge: Callable[[Any], str]

    def case_of(self, seed: int, number: int) -> Any:
        """Return the case of a number; the same for ever."""
        return self.make(Random(f"{seed}/{number}"))  # noqa: S311 - it has to be repeatable, not secret

    def run_case(self, case: Any, tally: Tally) -> None:
        """Judge one case.

        Raises:
            Crash: something came out that must never come out.
        """
        started_s = time.process_time()
        try:
            tally[self.judge(case)] += 1
        except Crash:
            raise
        except BaseException as unexpected:
            if isinstance(unexpected, KeyboardInterrupt):
                raise
            first = next(iter(leaves(unexpected)))
            raise Crash(f"{type(first).__name__}: {str(first)[:MESSAGE_LIMIT]}") from unexpected
        if time.process_time() - started_s > SLOW_LIMIT_S:
            raise Crash(f"it took {time.process_time() - started_s:.1f} s")


def check_message(message: str) -> None:
    """Look at an error that people are to read.

    Raises:
        Crash: it is too long for a terminal, or has more than one line.
    """
    if not 0 < len(message) <= MESSAGE_LIMIT:
        raise Crash(f"a message of {len(message)} characters: {message[:200]!r}...")
    if not message.isprintable():
        raise Crash(f"a message that is not one line: {message!r}")


def line_of(error: Exception) -> str:
    """Return the line that `concord` prints for an error.

    Raises:
        Crash: it prints a traceback instead, or more than a line.
    """
    printed = io.StringIO()
    with redirect_stderr(printed):
        status = _status_of(error)
    if status is None:
        raise Crash(f"a traceback: {type(error).__name__}: {str(error)[:MESSAGE_LIMIT]}") from error
    line = printed.getvalue().removesuffix("\n")
    check_message(line)
    return line


def run(campaign: Campaign, seed: int, numbers: Iterator[int], until_s: float) -> Tally:
    """Judge cases until none is left or the time is over.

    Raises:
        Crash: one is not as it should be; the text names it.
    """
    tally = Tally()
    try:
        for done, number in enumerate(numbers):
            if time.monotonic() >= until_s:
                break
            if done % WATCHED_CASES == 0:
                faulthandler.dump_traceback_later(HANG_LIMIT_S, exit=True, file=_STANDARD_ERROR)
            case = campaign.case_of(seed, number)
            try:
                campaign.run_case(case, tally)
            except Crash as crash:
                raise Crash(f"case {number} of seed {seed}: {crash}\n{case!r:.2000}") from crash
    finally:
        faulthandler.cancel_dump_traceback_later()
    return tally


def command_for(campaign: Campaign, doc: str) -> click.Command:
    """Make the command line of a campaign."""

    @click.command(help=doc)
    @click.option(
        "--seconds", type=click.FloatRange(min=0), default=20.0, show_default=True, help="For how long."
    )
    @click.option("--seed", default=1, show_default=True, help="The cases follow from it.")
    @click.option("--case", "number", type=int, help="Try only the case of this number, and show it.")
    def main(seconds: float, seed: int, number: int | None) -> None:
        if number is not None:
            click.echo(repr(campaign.case_of(seed, number)))
        numbers = count() if number is None else iter((number,))
        try:
            tally = run(campaign, seed, numbers, time.monotonic() + seconds)
        except Crash as crash:
            click.echo(f"crash: {crash}", err=True)
            sys.exit(1)
        found = ", ".join(f"{tally[word]} {word}" for word in sorted(tally))
        click.echo(f"{tally.total()} {campaign.name}: {found}")

    return main
