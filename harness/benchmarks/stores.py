"""Where a broker could keep its journal: segments of our own beside SQLite, one sync per batch.

Run as `python -m harness.benchmarks.stores`. It is why `broker.journal` has files of its own.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

import attrs
import click

from broker.journal import open_journal
from harness.benchmarks.rounds import machine
from harness.tables import Column, show, table

_BATCHES: Final = 200
_SIZES_BYTES: Final = (300, 4096, 65_536, 1_048_576)


@attrs.frozen
class Cost:
    """What a batch takes: the median until it is on disk, and the processor's time on average."""

    p50_ms: float
    used_us: float


def _time(keep: Callable[[], object], batches: int) -> Cost:
    times_s = []
    used_s = process_time()
    for _ in range(batches):
        started_s = perf_counter()
        keep()
        times_s.append(perf_counter() - started_s)
    return Cost(sorted(times_s)[batches // 2] * 1000, (process_time() - used_s) / batches * 1e6)


def _segments(directory: Path, content: bytes, batches: int) -> Cost:
    journal = open_journal(directory / "journal", "B1")

    def keep() -> None:
        journal.append(content)
        journal.flush()

    try:
        return _time(keep, batches)
    finally:
        journal.close()


def _sqlite(directory: Path, content: bytes, batches: int) -> Cost:
    connection = sqlite3.connect(directory / "journal.db", isolation_level=None)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("create table records (number integer primary key, content blob)")
        # Without an open transaction each statement is one of its own, and synced.
        return _time(
            lambda: connection.execute("insert into records (content) values (?)", (content,)), batches
        )
    finally:
        connection.close()


def measure(directory: Path, size_bytes: int, batches: int = _BATCHES) -> tuple[Cost, Cost]:
    """Keep so many batches of that size both ways, in a directory."""
    content = os.urandom(size_bytes)
    with tempfile.TemporaryDirectory(prefix="concord-stores-", dir=directory) as place:
        return _segments(Path(place), content, batches), _sqlite(Path(place), content, batches)


@click.command()
@click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="Where they are kept meanwhile.  [default: here]",
)
def command(*, directory: Path) -> None:
    """Measure the time to write a batch to disk.

    Example: python -m harness.benchmarks.stores
    """
    compare(directory)


_COLUMNS: Final[Sequence[Column[tuple[int, Cost, Cost]]]] = (
    ("bytes", lambda each: f"{each[0]:,}"),
    ("segments p50 ms", lambda each: f"{each[1].p50_ms:.2f}"),
    ("processor us", lambda each: f"{each[1].used_us:.0f}"),
    ("SQLite p50 ms", lambda each: f"{each[2].p50_ms:.2f}"),
    ("processor us", lambda each: f"{each[2].used_us:.0f}"),
)


def compare(directory: Path) -> None:
    """Measure both stores with batches of every size, and print what that took."""
    rows = [(size_bytes, *measure(directory, size_bytes)) for size_bytes in _SIZES_BYTES]
    click.echo(f"{_BATCHES} batches of each size, each synced; {machine()}.\n")
    show(table(_COLUMNS, rows, words=0))


if __name__ == "__main__":
    command()
