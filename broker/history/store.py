"""The folder of a history: Parquet files by the hour in which their events came.

    DIR/events/date=2026-11-19/hour=13/00000000000000000001-00000000000000000420.parquet
    DIR/partial/                        what is being written
    DIR/name                            what this history is called

Laws.

1. Rows are numbered from 1 in the order in which they were appended, and are never changed. A file has the
   rows of its name, and these stand in that order.
2. When `append` returns, its rows are on disk: they were written aside, synced, and renamed. When it raises,
   none of them is there. So a program that is killed leaves whole files, and what stands in `partial`.
3. Small files of an hour that is over become one: it is renamed into its place before they are deleted, and
   a file whose rows all stand in another one is deleted when the folder is opened.
4. Whole hours are deleted when they are older than what is to be kept.
"""

import os
import secrets
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import define, field, frozen

from broker.client.delivery import Gap
from broker.errors import ConcordError
from broker.history.rows import SCHEMA, Row, StoredEvent, read_row
from broker.history_events import PAGE_BYTES

ROW_GROUP_COUNT: Final = 4096
"""A page is found by reading one group of rows or two."""

READ_COUNT: Final = 512
"""Rows that are decoded together: a page has about as many."""

SCANNED_COUNT_MAX: Final = 50_000
"""Rows that one page looks at: a fraction of a second, after which others have their turn."""

COMPACTED_COUNT: Final = 1_000_000
"""Rows of one compacted file at most: it is made in memory."""

ORIGINS_COUNT: Final = 1_000_000
"""The newest rows in which publishers' last numbers are looked for: far more than one crash repeats."""

LATEST: Final = b"latest_ns"
"""The key of a file's metadata for the latest time of its events."""

_NS_PER_S: Final = 1_000_000_000
_S_PER_HOUR: Final = 3600
_DIGITS: Final = 20


class HistoryFolderError(ConcordError):
    """The folder of a history cannot be used; the text names it and says why."""


@frozen
class HistoryFile:
    """One file: the numbers of its first and last row, and the latest time of its events."""

    first: int
    last: int
    latest_ns: int
    path: Path


@frozen
class HistoryPage:
    """Events of the past in order, and the number behind which the next page begins."""

    events: tuple[StoredEvent, ...]
    next: int
    is_last: bool


@define(eq=False)
class HistoryStore:
    """A folder that was opened. One program at a time."""

    folder: Path
    name: str
    files: list[HistoryFile] = field(factory=list)

    @classmethod
    def open(cls, folder: Path) -> "HistoryStore":
        """Open or make a folder, and drop what a killed program has left half written.

        Raises:
            HistoryFolderError: a file is damaged, or missing between two others.
            OSError: the folder cannot be used.
        """
        (folder / "events").mkdir(parents=True, exist_ok=True)
        (folder / "partial").mkdir(exist_ok=True)
        for path in (folder / "partial").iterdir():
            path.unlink()
        named = folder / "name"
        if not named.exists():
            _write_whole(folder, named, f"history-{secrets.token_hex(8)}\n".encode())
        store = cls(folder, named.read_text("utf-8").strip())
        store.files = _without_contained(
            sorted(map(_read_file, (folder / "events").rglob("*.parquet")), key=_place)
        )
        return store

    @property
    def last(self) -> int:
        """The number of the last row; 0 if there is none."""
        return self.files[-1].last if self.files else 0

    def append(self, rows: Sequence[Row], at_ns: int) -> None:
        """Write rows behind all others; they are on disk then.

        Raises:
            OSError: there is no room, or the disk fails; nothing was appended.
        """
        numbered = [{**row, "number": number} for number, row in enumerate(rows, self.last + 1)]
        table = pa.Table.from_pylist(numbered, SCHEMA)
        self.files.append(self._write(table, self._hour_folder(at_ns)))

    def _hour_folder(self, at_ns: int) -> Path:
        at = datetime.fromtimestamp(at_ns // _NS_PER_S, UTC)
        return self.folder / "events" / f"date={at:%Y-%m-%d}" / f"hour={at:%H}"

    def _write(self, table: pa.Table, folder: Path) -> HistoryFile:
        """Write one file aside, and rename it into a folder (law 2)."""
        first, last = table["number"][0].as_py(), table["number"][-1].as_py()
        latest_ns = pc.max(table["published_ns"]).as_py()
        path = folder / f"{first:0{_DIGITS}}-{last:0{_DIGITS}}.parquet"
        partial = self.folder / "partial" / path.name
        noted = table.replace_schema_metadata({LATEST: str(latest_ns).encode()})
        try:
            with partial.open("wb") as file:
                pq.write_table(noted, file, row_group_size=ROW_GROUP_COUNT, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            _make_folder(folder, self.folder)
            partial.rename(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        _sync(folder)
        return HistoryFile(first, last, latest_ns, path)

    # --- reading ---

    def page(self, after: int, since_ns: int, matches: Callable[[Mapping[str, object]], bool]) -> HistoryPage:
        """Return the next events behind a number, of those not older than this."""
        events: list[StoredEvent] = []
        size_bytes = 0
        for scanned, row in enumerate(self._rows(after, since_ns), 1):
            event = read_row(row)
            if isinstance(event.content, Gap):
                events.append(event)
            elif matches(event.attributes):
                if events and size_bytes + len(event.content) > PAGE_BYTES:
                    return HistoryPage(tuple(events), after, is_last=False)
                events.append(event)
                size_bytes += len(event.content)
            after = event.number
            if scanned >= SCANNED_COUNT_MAX:
                return HistoryPage(tuple(events), after, is_last=False)
        return HistoryPage(tuple(events), max(after, self.last), is_last=True)

    def _rows(self, after: int, since_ns: int) -> Iterator[Row]:
        begin = bisect_right(self.files, after, key=attrgetter("last"))
        for file in self.files[begin:]:
            if file.latest_ns < since_ns:
                continue
            with pq.ParquetFile(file.path) as content:
                groups = [each for each in range(content.num_row_groups) if _last_of(content, each) > after]
                for batch in content.iter_batches(READ_COUNT, groups):
                    is_behind = pc.greater(batch["number"], after)
                    is_young = pc.greater_equal(batch["published_ns"], since_ns)
                    yield from batch.filter(pc.and_(is_behind, is_young)).to_pylist()

    def origins(self) -> Iterator[tuple[str, bool, int]]:
        """Yield publishers with the last number of their events, of the ordered ones and of the others."""
        count = 0
        for file in reversed(self.files):
            if count >= ORIGINS_COUNT:
                return
            table = pq.read_table(file.path, columns=["publisher", "ordered", "sequence"], partitioning=None)
            count += table.num_rows
            last = table.group_by(["publisher", "ordered"]).aggregate([("sequence", "max")])
            for row in last.to_pylist():
                if row["publisher"] is not None:
                    yield row["publisher"], row["ordered"], row["sequence_max"]

    # --- keeping ---

    def compact(self, now_ns: int) -> int:
        """Make one file of the small ones of an hour that is over; return how many files became fewer."""
        present = self._hour_folder(now_ns)
        before = len(self.files)
        for folder in dict.fromkeys(each.path.parent for each in self.files):
            small = [each for each in self.files if each.path.parent == folder]
            for run in _runs(small) if folder != present else ():
                if len(run) > 1:
                    self._merge(run, folder)
        return before - len(self.files)

    def _merge(self, small: Sequence[HistoryFile], folder: Path) -> None:
        tables = [pq.read_table(each.path, partitioning=None) for each in small]
        merged = self._write(pa.concat_tables(tables), folder)
        place = self.files.index(small[0])
        self.files[place : place + len(small)] = [merged]
        for each in small:
            each.path.unlink()

    def expire(self, before_ns: int) -> int:
        """Delete the hours that were over by then; return how many files that were."""
        gone = [each for each in self.files if _hour_end_ns(each.path.parent) <= before_ns]
        # The last file stays: it says how far numbers have come.
        gone = gone[:-1] if len(gone) == len(self.files) else gone
        for each in gone:
            each.path.unlink()
            self.files.remove(each)
            with suppress(OSError):  # Others are still in there.
                each.path.parent.rmdir()
                each.path.parent.parent.rmdir()
        return len(gone)


def _runs(files: Sequence[HistoryFile]) -> Iterator[list[HistoryFile]]:
    """Yield runs of files that are merged into one each."""
    run: list[HistoryFile] = []
    for file in files:
        if run and file.last - run[0].first >= COMPACTED_COUNT:
            yield run
            run = []
        run.append(file)
    yield run


def _place(file: HistoryFile) -> tuple[int, int]:
    return file.first, -file.last


def _without_contained(files: Sequence[HistoryFile]) -> list[HistoryFile]:
    """Return the files in order, and delete those whose rows stand in another one (law 3)."""
    found: list[HistoryFile] = []
    for file in files:
        if found and file.last <= found[-1].last:
            file.path.unlink()
            continue
        if found and file.first != found[-1].last + 1 and file.first <= found[-1].last:
            raise HistoryFolderError(f"{file.path}: has rows that {found[-1].path.name} has as well")
        found.append(file)
    return found


def _read_file(path: Path) -> HistoryFile:
    try:
        metadata = pq.read_metadata(path)
        first, _, last = path.stem.partition("-")
        file = HistoryFile(int(first), int(last), int(metadata.metadata[LATEST]), path)
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise HistoryFolderError(f"{path}: is no file of a history: {error}") from None
    if metadata.num_rows != file.last - file.first + 1:
        raise HistoryFolderError(f"{path}: has {metadata.num_rows} rows, and its name says otherwise")
    return file


def _last_of(content: pq.ParquetFile, group: int) -> int:
    number: int = content.metadata.row_group(group).column(0).statistics.max
    return number


def _hour_end_ns(folder: Path) -> int:
    day = folder.parent.name.removeprefix("date=")
    at = datetime.strptime(f"{day} {folder.name.removeprefix('hour=')} +0000", "%Y-%m-%d %H %z")
    return (round(at.timestamp()) + _S_PER_HOUR) * _NS_PER_S


def _write_whole(folder: Path, path: Path, content: bytes) -> None:
    partial = folder / "partial" / path.name
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
    _sync(folder)


def _make_folder(folder: Path, root: Path) -> None:
    """Make a folder below the root, and sync the ones that got a new one in them."""
    missing = [each for each in (folder, *folder.parents) if each.is_relative_to(root) and not each.exists()]
    for each in reversed(missing):
        each.mkdir()
        _sync(each.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
