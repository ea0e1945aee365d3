"""Feeds spoilt journals to whoever opens them: `python -m harness.fuzz.journals --seconds 60 --seed 1`.

Every case is a small journal that was used for a while, and then spoilt: below its checksums, which are
right again afterwards, or by what stands beside its files. It has to be opened, to give every record it says
it has, to go on, and to be opened again; or it has to be refused with a `ConcordError` of one line that can
be printed and is not long. Anything else is a crash. Some cases are on the real file system, with
directories, pipes and links where files should be.

A case follows from the seed and its number alone: `--case NUMBER` shows one again. A case that hangs ends the
process with all stacks; what one takes of memory at its peak is watched, too.
"""

import faulthandler
import os
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import click
from attrs import define, field

from broker.errors import ConcordError
from broker.journal import Journal, open_journal
from broker.journal.files import Files
from broker.journal.identity import LOCK, identify
from broker.journal.opening import opened_in
from harness.fuzz.forgeries import Directory, forge
from harness.journals.disk import SimulatedDisk
from harness.journals.truth import BROKER, ID, Keeper

HANG_LIMIT_S: Final = 30.0
"""No case takes a tenth of a second."""

MEMORY_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""A case's files have less than a megabyte; what is claimed in them is not to be believed."""

WATCHED_CASES: Final = 16
"""Every so manieth case is one whose memory is watched: that takes several times as long."""

REAL_CASES: Final = 256
"""Every so manieth case is one on the file system: that takes a hundred times as long."""

TEXT_MAX: Final = 1000
"""What is longer than this nobody reads in a log."""

_SEGMENT_BYTES: Final = 8 * 4096
_STANDARD_ERROR: Final = 2
_NEWS: Final = b"goes on"


class Crash(Exception):  # noqa: N818 - it is what this program looks for
    """A journal that was neither opened nor refused as it should be."""


@define
class Tally:
    """What became of the cases, and of each kind of forgery."""

    opened: int = 0
    refused: int = 0
    kinds: Counter[str] = field(factory=Counter)


def _used(random: Random) -> SimulatedDisk:
    """A journal that was used for a while, and closed or not."""
    disk = SimulatedDisk()
    keeper = Keeper(disk, random, _SEGMENT_BYTES)
    keeper.open()
    for _ in range(random.randrange(1, 12)):
        for _ in range(random.randrange(1, 4)):
            keeper.append(random.choice((1, 10, 300, 5000)))
        keeper.flush()
        if random.random() < _PICTURED:
            keeper.snapshot()
        if random.random() < _SPARED:
            keeper.journal.make_room()
    if random.getrandbits(1):
        keeper.journal.close()
    return disk


_PICTURED: Final = 0.2
_SPARED: Final = 0.3


def _went_on(journal: Journal) -> int:
    """Read all that was recovered, and go on; return how many records there are then."""
    try:
        read = sum(1 for _ in journal.recovered.records())
        if read != journal.recovered.count:
            raise Crash(f"it has {read} records and says {journal.recovered.count}")
        journal.append(_NEWS)
        journal.flush()
        journal.snapshot(b"everything", journal.appended - 1)
        return journal.appended
    finally:
        journal.close()


def _open(files: Files) -> Journal:
    return opened_in(files, identify(files, BROKER, ID), _SEGMENT_BYTES, fresh=Random(1).randbytes)  # noqa: S311 - repeatable


def _judged(opened: "Opening") -> bool:
    """Whether it is opened; it is refused otherwise. Raises `Crash`."""
    try:
        appended = _went_on(opened())
    except ConcordError as error:
        _check_text(str(error))
        return False
    again = opened()
    try:
        if (again.appended, list(again.recovered.records())[-1:]) != (appended, [_NEWS]):
            raise Crash(f"it had {appended} records, and has {again.appended} when it is opened again")
    finally:
        again.close()
    return True


def _check_text(text: str) -> None:
    if len(text) > TEXT_MAX or not text.isprintable():
        raise Crash(f"it is refused with what is no line to print: {text!r}")


@define
class _InMemory:
    """Opens a journal on the simulated disk."""

    files: Files

    def __call__(self) -> Journal:
        return _open(self.files)


@define
class _OnDisk:
    """Opens a journal on the file system."""

    path: Path

    def __call__(self) -> Journal:
        return open_journal(self.path, BROKER)


Opening = _InMemory | _OnDisk


def run_case(seed: int, number: int, tally: Tally) -> str:
    """Judge one case; return what was done to the journal.

    Raises:
        Crash: it was neither opened nor refused as it should be.
    """
    random = Random(f"{seed}/{number}")  # noqa: S311 - it has to be repeatable, not secret
    disk = _used(random)
    files = {name: bytearray(disk.content(name)) for name in disk.names()}
    what = forge(files, ID, random)
    try:
        if number % REAL_CASES == 0:
            is_opened = _on_disk(files, random)
        elif number % WATCHED_CASES == 0:
            is_opened = _watched(_InMemory(SimulatedDisk.of(files)))
        else:
            is_opened = _judged(_InMemory(SimulatedDisk.of(files)))
    except Crash as crash:
        raise Crash(f"{what}: {crash}") from crash
    except Exception as unexpected:
        raise Crash(f"{what}: {type(unexpected).__name__}: {unexpected}") from unexpected
    tally.opened += is_opened
    tally.refused += not is_opened
    tally.kinds[f"{what}: {'opened' if is_opened else 'refused'}"] += 1
    return what


def _watched(opening: Opening) -> bool:
    tracemalloc.start()
    try:
        is_opened = _judged(opening)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak_bytes > MEMORY_LIMIT_BYTES:
        raise Crash(f"{peak_bytes} bytes of memory were used")
    return is_opened


# --- on the file system -------------------------------------------------------------------------------


def _on_disk(files: Directory, random: Random) -> bool:
    with tempfile.TemporaryDirectory(prefix="concord-fuzz-") as directory:
        path = Path(directory)
        for name, content in files.items():
            (path / name).write_bytes(content)
        _exchange(path / random.choice([*sorted(files), LOCK]), random)
        return _watched(_OnDisk(path))


def _exchange(path: Path, random: Random) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    match random.randrange(6):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to(path.parent / "nowhere" / "at all")
        case 3:
            path.symlink_to(path.name)
        case 4:
            path.symlink_to(os.devnull)
        case _:
            path.write_bytes(random.randbytes(random.choice((0, 10, 5000))))


def run(seed: int, cases: int, until_s: float | None = None) -> Tally:
    """Judge so many cases, or as many as there is time for.

    Raises:
        Crash: one is not as it should be; the text names it.
    """
    tally = Tally()
    for number in range(cases):
        if until_s is not None and time.monotonic() > until_s:
            break
        faulthandler.dump_traceback_later(HANG_LIMIT_S, exit=True, file=_STANDARD_ERROR)
        try:
            run_case(seed, number, tally)
        except Crash as crash:
            raise Crash(f"case {number} of seed {seed}: {crash}") from crash
        finally:
            faulthandler.cancel_dump_traceback_later()
    return tally


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(min=0), default=20.0, show_default=True, help="For how long."
)
@click.option("--cases", type=click.IntRange(min=1), default=10**9, help="No more than so many cases.")
@click.option("--seed", default=1, show_default=True, help="The cases follow from it.")
@click.option("--case", "number", type=int, help="Try only the case of this number, and show it.")
def main(seconds: float, cases: int, seed: int, number: int | None) -> None:
    """Open spoilt journals.

    Example: python -m harness.fuzz.journals --seconds 60 --seed 1
    """
    started_s = time.monotonic()
    try:
        if number is not None:
            tally = Tally()
            run_case(seed, number, tally)
            click.echo("; ".join(tally.kinds))
            return
        tally = run(seed, cases, started_s + seconds)
    except Crash as crash:
        click.echo(f"crash: {crash}", err=True)
        sys.exit(1)
    elapsed_s = time.monotonic() - started_s
    count = tally.opened + tally.refused
    click.echo(
        f"{count} spoilt journals, {count / elapsed_s:,.0f} a second: "
        f"{tally.refused} refused, {tally.opened} opened"
    )


if __name__ == "__main__":
    main()
