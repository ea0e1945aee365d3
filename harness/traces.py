"""A run's directory: its datasets, and how their many small files become few.

Programs write with `broker.trace` while the run goes on; this module defines the datasets, and merges files
afterwards.

Laws of merging, once nobody writes to a dataset any more:

1. Nothing is lost and nothing is there twice, wherever it is interrupted: a merged file gets its name after
   the files it replaces have lost theirs, and those are deleted last.
2. Memory does not grow with the dataset: one row group is held at a time.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from broker.trace import RowFiles
from harness.datasets import RUN, Columns

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS: Final = 250_000
"""Rows of a row group: a piece of work for a parallel reader, and some tens of megabytes in memory."""

FILE_ROWS: Final = 5_000_000
"""Rows of a file, so that a large dataset can be read by several at once."""


@attrs.frozen
class Dataset:
    """A folder of Parquet files."""

    name: str
    columns: Columns

    def schema(self) -> "pa.Schema":
        """Return its columns as Parquet knows them."""
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only who writes pays for it

        types = ((name, getattr(pa, kind)()) for name, kind in self.columns.items())
        return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types])

    def folder(self, run: Path) -> Path:
        """Return where a run has it."""
        return run / self.name

    def writer(self, run: Path, stem: str) -> RowFiles:
        """Return what writes rows to it; `stem` names the writer."""
        return RowFiles(self.folder(run), stem, self.columns)


PUBLICATIONS: Final = Dataset("publications", RUN["publications"])
DELIVERIES: Final = Dataset("deliveries", RUN["deliveries"])
MATCHES: Final = Dataset("matches", RUN["matches"])
BROKERS: Final = Dataset("brokers", RUN["brokers"])
FAULTS: Final = Dataset("faults", RUN["faults"])
SEEN: Final = Dataset("seen", RUN["seen"])
SUBSCRIPTIONS: Final = Dataset("subscriptions", RUN["subscriptions"])


def merge(dataset: Dataset, run: Path) -> int:
    """Merge the files of one dataset; return how many rows it has."""
    folder = dataset.folder(run)
    # A hidden file is one that its writer was killed over, or what an interrupted merge has left.
    small = sorted(folder.glob("[!.]*.parquet")) if folder.is_dir() else []
    if not small:
        _write_empty(dataset, folder)
        return 0
    parts, rows = _copy(dataset, folder, small)
    for path in small:
        path.rename(_hidden(path))
    for part in parts:
        part.rename(folder / part.name.removeprefix("."))
    for path in small:
        _hidden(path).unlink()
    return rows


def _hidden(path: Path) -> Path:
    return path.with_name(f".merged-{path.name}")


def _write_empty(dataset: Dataset, folder: Path) -> None:
    """Leave a file without rows, so that readers find the columns."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy, and only who merges pays for it

    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(dataset.schema().empty_table(), folder / "part-0.parquet", compression="zstd")


def _copy(dataset: Dataset, folder: Path, small: list[Path]) -> tuple[list[Path], int]:
    """Write the rows of all files to hidden parts; return those and how many rows there are."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only who merges pays for it
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    schema = dataset.schema()
    parts: list[Path] = []
    rows = part_rows = 0
    writer: pq.ParquetWriter | None = None
    for group in _groups(small, schema):
        if writer is None or part_rows >= FILE_ROWS:
            if writer is not None:
                writer.close()
            parts.append(folder / f".part-{len(parts)}.parquet")
            writer, part_rows = pq.ParquetWriter(parts[-1], schema, compression="zstd"), 0
        writer.write_table(pa.concat_tables(group).combine_chunks())
        part_rows += sum(table.num_rows for table in group)
        rows += sum(table.num_rows for table in group)
    if writer is not None:
        writer.close()
    return parts, rows


def _groups(small: list[Path], schema: "pa.Schema") -> Iterator["list[pa.Table]"]:
    """Read the files one after the other, and yield the tables of each row group."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy, and only who merges pays for it

    group: list[pa.Table] = []
    for path in small:
        group.append(pq.read_table(path, schema=schema, partitioning=None))
        if sum(table.num_rows for table in group) >= GROUP_ROWS:
            yield group
            group = []
    if group:
        yield group
