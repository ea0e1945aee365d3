"""One row per subscription: its stream, put together, and everything that a stream says by itself."""

from collections.abc import Sequence
from typing import Final, TypeVar

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.kernels import streams
from harness.analysis.reading import MATCHED, STREAM, arrow

SCHEMA: Final = (
    "subscriber string, broker string, deliveries bigint, duplicates bigint, unpublished bigint, "
    "repeated_positions bigint, late bigint, late_number bigint, late_after bigint, owed bigint, "
    "missing bigint, missing_number bigint, unmatched bigint, pauses array<bigint>, size bigint, "
    "numbers binary, firsts binary"
)
_ARROW: Final = arrow(SCHEMA)

_Number = TypeVar("_Number", np.int32, np.int64)


@attrs.frozen(eq=False)
class _Owed:
    """Compares the deliveries of each subscription with those it should have."""

    owed: int
    missing: int
    missing_number: int
    unmatched: int


def put_together(
    pieces: DataFrame, bases: NDArray[np.int64], windows: Sequence[tuple[int, int]], *, keep_all: bool
) -> DataFrame:
    """Put every subscription's pieces together. `windows` are the times around faults.

    `numbers` are its ordered publications; with `keep_all`, `firsts` are the unordered ones as well.
    """
    around = list(windows)

    # Spark chooses the arguments by the annotations, so it is a function and not a partial one.
    def one(table: pa.Table) -> pa.Table:
        return _one(table, bases, around, keep_all=keep_all)

    some = pieces.filter(F.col("kind").isin(STREAM, MATCHED))
    return some.groupBy("name").applyInArrow(one, SCHEMA)


def _one(
    table: pa.Table, bases: NDArray[np.int64], windows: list[tuple[int, int]], *, keep_all: bool
) -> pa.Table:
    kinds = table.column("kind").to_numpy()
    delivered = table.filter(pa.array(kinds == STREAM))
    stream = streams.assemble(
        _joined(delivered, "a", np.int32),
        _joined(delivered, "b", np.int64),
        _joined(delivered, "c", np.int64),
    )
    late, late_number, late_after = streams.overtaken(stream.firsts, bases)
    owed = _against(stream.firsts, _joined(table.filter(pa.array(kinds == MATCHED)), "a", np.int32))
    pauses = streams.longest_pauses(stream.delivered_ns, windows)
    row = {
        "subscriber": table.column("name")[0].as_py(),
        "broker": delivered.column("broker")[0].as_py() if delivered.num_rows else "",
        "deliveries": stream.deliveries,
        "duplicates": stream.duplicates,
        "unpublished": stream.unpublished,
        "repeated_positions": stream.repeated_positions,
        "late": late,
        "late_number": late_number,
        "late_after": late_after,
        "owed": owed.owed,
        "missing": owed.missing,
        "missing_number": owed.missing_number,
        "unmatched": owed.unmatched,
        "pauses": [each for pause in pauses for each in pause],
        "size": len(stream.ordered),
        "numbers": stream.ordered.tobytes(),
        "firsts": stream.firsts.tobytes() if keep_all else b"",
    }
    return pa.Table.from_pylist([row], schema=_ARROW)


def _joined(table: pa.Table, column: str, kind: type[_Number]) -> NDArray[_Number]:
    parts = [np.frombuffer(each.as_buffer(), kind) for each in table.column(column)]
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _against(firsts: NDArray[np.int32], matched: NDArray[np.int32]) -> _Owed:
    size = int(max(firsts.max(initial=-1), matched.max(initial=-1))) + 1
    is_delivered, is_owed = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    is_delivered[firsts] = True
    is_owed[matched] = True
    missing = np.flatnonzero(is_owed & ~is_delivered)
    return _Owed(
        owed=int(is_owed.sum()),
        missing=len(missing),
        missing_number=int(missing[0]) if len(missing) else -1,
        unmatched=int((is_delivered & ~is_owed).sum()),
    )
