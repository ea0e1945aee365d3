"""Reports on order that is not promised: local total order, and whether one sequence explains every stream.

Pairwise total order implies the first and not the second. Both are about all streams at once, so one worker
holds them; runs of more deliveries than it should hold are not reported on.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from harness.analysis.kernels.wholes import EDGES_MAX, judge
from harness.analysis.promises import verdict
from harness.analysis.reading import arrow

DELIVERIES_MAX: Final = 20_000_000
"""Their numbers are eighty megabytes, which Java and Python both hold."""

SCHEMA: Final = "audiences bigint, wrong bigint, circling bigint"
_ARROW: Final = arrow(SCHEMA)

REPORTS: Final = ("acyclic", "local")

OrderReports = Mapping[str, Mapping[str, object]]


def reports(streams: DataFrame, publications: int, deliveries: int) -> OrderReports:
    """Report on all coded streams."""
    if deliveries > DELIVERIES_MAX:
        doubt = f"more than {DELIVERIES_MAX:,} deliveries are not held in one place"
        return {name: verdict(0, doubt) for name in REPORTS}

    some = streams.filter("code is not null").select("numbers")
    rows = some.coalesce(1).mapInArrow(partial(_all, publications=publications), SCHEMA).collect()
    audiences, wrong, circling = rows[0] if rows else (0, 0, 0)
    doubt = f"more than {EDGES_MAX:,} different steps from one publication to the next are not followed"
    return {
        "acyclic": {**verdict(circling or 0, doubt if circling is None else ""), "circling": circling},
        "local": {**verdict(wrong, ""), "audiences": audiences, "audiences_out_of_order": wrong},
    }


def _all(batches: Iterable[pa.RecordBatch], publications: int) -> Iterator[pa.RecordBatch]:
    parts = [each for batch in batches for each in batch.column("numbers")]
    streams = [np.frombuffer(each.as_buffer(), np.int32) for each in parts]
    found = judge(streams, publications)
    row = {
        "audiences": found.audiences,
        "wrong": found.audiences_out_of_order,
        "circling": found.circling,
    }
    yield pa.RecordBatch.from_pylist([row], schema=_ARROW)
