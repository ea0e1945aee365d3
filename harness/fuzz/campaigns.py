"""The common part of all campaigns: cases from numbers, a watch, a tally, one command line.

Laws:

1. A case follows from the seed and its number alone: `--case NUMBER` shows one again.
2. Whatever a case raises is a crash that names the case, and so is one that takes too long. A case that hangs
   ends the process with all stacks.
3. The peak of memory is watched from the end of the warm-up, which fills caches and allocator.
"""

import faulthandler
import gc
import io
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final

import click
from attrs import define, field, frozen

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

WARM_UP: Final = 20
"""The first of so many parts of a run."""

SHORT_WORDS: Final = 6
"""So many fit on a line."""

SHOWN_LETTERS: Final = 2000
"""Of a case that crashes."""

_KIB: Final = 1024
_STANDARD_ERROR: Final = 2


class Crash(Exception):  # noqa: N818 - it is what this program looks for
    """A case that ended in a way in which none may end."""


@define
class FuzzTally:
    """What became of the cases, in words; what the dearest cost; by how much the peak of memory grew."""

    words: Counter[str] = field(factory=Counter)
    dearest: int = 0
    growth_bytes: int = 0

    @property
    def total(self) -> int:
        """Return the number of cases."""
        return self.words.total()

    def summary(self, name: str, seconds: float) -> str:
        """Return the counts in a line, or in a line for each word if they are many."""
        between = ", " if len(self.words) <= SHORT_WORDS else ",\n  "
        found = between.join(f"{self.words[word]} {word}" for word in sorted(self.words))
        cost = f"; the dearest took {self.dearest:,} steps" if self.dearest else ""
        growth = f"; peak memory grew by {self.growth_bytes / _KIB:,.0f} KiB" if self.growth_bytes else ""
        return f"{self.total} {name}, {self.total / max(seconds, 1e-9):,.0f} a second: {found}{cost}{growth}"


@frozen
class Campaign:
    """How cases are made, and how one is judged: the judge returns what became of it, in a word.

    `text` writes a case, and `show` all there is to see of it. `damaging` makes a campaign from a corpus.
    """

    name: str
    make: Callable[[Random], Any]
    judge: Callable[[Any, FuzzTally], str]
    show: Callable[[Any], str] = repr
    text: Callable[[Any], str] = repr
    slow_limit_s: float = SLOW_LIMIT_S
    growth_limit_bytes: int = 0
    damaging: "Callable[[Path], Campaign] | None" = None

    def case_of(self, seed: int, number: int) -> Any:
        """Return the case of a number; the same for ever."""
        return self.make(Random(f"{seed}/{number}"))  # noqa: S311 - it has to be repeatable, not secret

    def run_case(self, case: Any, tally: FuzzTally) -> None:
        """Judge one case.

        Raises:
            Crash: something came out that must never come out.
        """
        started_s = time.process_time()
        try:
            tally.words[self.judge(case, tally)] += 1
        except (Crash, KeyboardInterrupt):
            raise
        except BaseException as unexpected:
            first = next(iter(leaves(unexpected)))
            raise Crash(f"{type(first).__name__}: {str(first)[:MESSAGE_LIMIT]}") from unexpected
        if time.process_time() - started_s > self.slow_limit_s:
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


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def run(campaign: Campaign, seed: int, numbers: Iterable[int], seconds: float = inf) -> FuzzTally:
    """Judge cases until none is left or the time is over.

    Raises:
        Crash: one is not as it should be, and the text names it; or memory grew beyond the limit.
    """
    tally, started_s, before_bytes = FuzzTally(), time.monotonic(), 0
    warm = len(numbers) // WARM_UP if isinstance(numbers, range) else sys.maxsize
    try:
        for done, number in enumerate(numbers):
            elapsed_s = time.monotonic() - started_s
            if elapsed_s >= seconds:
                break
            if not before_bytes and (done >= warm or elapsed_s >= seconds / WARM_UP):
                gc.collect()
                before_bytes = _peak_bytes()
            if done % WATCHED_CASES == 0:
                faulthandler.dump_traceback_later(HANG_LIMIT_S, exit=True, file=_STANDARD_ERROR)
            case = campaign.case_of(seed, number)
            try:
                campaign.run_case(case, tally)
            except Crash as crash:
                shown = campaign.text(case)[:SHOWN_LETTERS]
                raise Crash(f"case {number} of seed {seed}: {crash}\n{shown}") from crash
    finally:
        faulthandler.cancel_dump_traceback_later()
    tally.growth_bytes = _peak_bytes() - before_bytes if before_bytes else 0
    if campaign.growth_limit_bytes and tally.growth_bytes > campaign.growth_limit_bytes:
        limit_kib = campaign.growth_limit_bytes // _KIB
        raise Crash(f"memory grew by more than {limit_kib} KiB: something is kept")
    return tally


def command_for(campaign: Campaign, doc: str) -> click.Command:
    """Make the command line of a campaign."""

    @click.command(help=doc)
    @click.option(
        "--seconds", type=click.FloatRange(min=0), default=20.0, show_default=True, help="For how long."
    )
    @click.option(
        "--cases", type=click.IntRange(min=1), help="So many cases instead, however long they take."
    )
    @click.option("--seed", default=1, show_default=True, help="The cases follow from it.")
    @click.option("--case", "number", type=int, help="Try only the case of this number, and show it.")
    def main(
        *, seconds: float, cases: int | None, seed: int, number: int | None, corpus: Path | None = None
    ) -> None:
        chosen = campaign.damaging(corpus) if campaign.damaging and corpus else campaign
        numbers: Iterable[int] = count() if cases is None else range(cases)
        if number is not None:
            click.echo(chosen.show(chosen.case_of(seed, number)))
            numbers = range(number, number + 1)
        started_s = time.monotonic()
        try:
            tally = run(chosen, seed, numbers, inf if isinstance(numbers, range) else seconds)
        except Crash as crash:
            click.echo(f"crash: {crash}", err=True)
            sys.exit(1)
        click.echo(tally.summary(chosen.name, time.monotonic() - started_s))

    if campaign.damaging:
        path = click.Path(path_type=Path, exists=True)
        main.params.append(click.Option(["--corpus"], type=path, help="Texts to damage, a line each."))
    return main
