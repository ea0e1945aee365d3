"""Rows of one dataset, written as they come, so that a crash loses at most the last second.

A Parquet file can be read only when its end has been written. So each second's rows become a file of their
own: `STEM-000001.parquet`, `STEM-000002.parquet` and so on. A file gets its name when it is whole; until
then it has one that readers of datasets pass over.

Parquet is loaded when the first file is written, never by importing this. That stalls the process for a third
of a second: a measurement calls `prepare` before.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

from attrs import define, field

FLUSH_EVERY_S: Final = 1.0
"""The time of which a crash may lose the rows."""

ROWS_MAX: Final = 200_000
"""Kept at most before a file is written early: some tens of megabytes, and a file of a good size."""

TEXT: Final = "string"
WHOLE: Final = "int64"
FLOAT: Final = "float64"
TRUTH: Final = "bool_"

Columns = Mapping[str, str]
"""The columns of a dataset in their order, each with its type."""

Value = str | int | float | bool


@define(eq=False)
class RowFiles:
    """Writes the rows of one writer. `stem` names it among all that write to the same dataset."""

    folder: Path
    stem: str
    columns: Columns
    count: int = field(default=0, init=False)
    _rows: list[tuple[Value, ...]] = field(factory=list, init=False, repr=False)
    _files: int = field(default=0, init=False)

    def append(self, *row: Value) -> None:
        """Keep a row for the next file."""
        self._rows.append(row)
        if len(self._rows) >= ROWS_MAX:
            self.flush()

    def take(self) -> "Pending | None":
        """Return the rows since the last call, to be written in another thread."""
        if not self._rows:
            return None
        rows, self._rows = self._rows, []
        self._files += 1
        self.count += len(rows)
        return Pending(self.folder, f"{self.stem}-{self._files:06}.parquet", self.columns, rows)

    def flush(self) -> None:
        """Write the rows since the last call, in this thread."""
        if (pending := self.take()) is not None:
            pending.write()


@define(eq=False)
class Pending:
    """Rows on their way into a file."""

    folder: Path
    name: str
    columns: Columns
    rows: list[tuple[Value, ...]] = field(repr=False)

    def write(self) -> None:
        """Write the file; from another thread, if that is better."""
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / f".{self.name}"
        _write(self.columns, self.rows, unfinished)
        unfinished.rename(self.folder / self.name)


def prepare() -> None:
    """Load all that writing takes: the first file costs as much time as any other then."""
    _write({"text": TEXT}, [("",)], BytesIO())


def _write(columns: Columns, rows: Sequence[tuple[Value, ...]], target: Path | BytesIO) -> None:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only who writes pays for it
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    fields = [pa.field(name, getattr(pa, kind)(), nullable=False) for name, kind in columns.items()]
    schema = pa.schema(fields)
    values = zip(zip(*rows, strict=True), schema, strict=True)
    arrays = [pa.array(each, column.type) for each, column in values]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), target, compression="zstd")
