"""One pass over all deliveries: rows go in, packed pieces of streams and small histograms come out.

A worker is given a few hundred thousand rows at a time. What they say of latencies becomes histograms on the
spot; of each subscription it keeps a piece: marks, positions and times as arrays of bytes. So no row is ever
shuffled, only pieces, which are a third of their size.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.kernels import histograms
from harness.analysis.kernels.streams import marks_of

if TYPE_CHECKING:
    # Workers load this module, and have no use for what only the driver does.
    from harness.analysis.datasets import Numbering, RunDatasets

STREAM: Final = 0
"""A piece of a stream: marks, positions, times."""
MATCHED: Final = 1
"""Numbers that a subscription should deliver."""
LATENCY: Final = 2
"""Latencies from brokers so many links away (`key`): bins, counts, and [count, sum, max, negative]."""
TIME: Final = 3
"""Deliveries over time: bins of time, counts, longest latencies."""

ELSEWHERE: Final = -1
"""The distance between two brokers if the number of links between them is unknown."""

SCHEMA: Final = "kind int, name string, broker string, key int, a binary, b binary, c binary"

_TYPES: Final = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.large_string(),
    "binary": pa.large_binary(),
    "array<bigint>": pa.list_(pa.int64()),
}


def arrow(schema: str) -> pa.Schema:
    """Return columns as Arrow has them, given as Spark writes them."""
    columns = (column.split(" ") for column in schema.split(", "))
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


_ARROW: Final = arrow(SCHEMA)

BROADCAST_MAX: Final = 3_000_000
"""Publications that every worker may hold in a table of its own; more are joined by sorting."""

Distances = Mapping[tuple[str, str], int]
Row = tuple[int, str, str, int, bytes, bytes, bytes]

BROKERS_MAX: Final = 500
"""Distances go to every worker as a table of all pairs; beyond this it would be larger than the answer is
worth."""


@attrs.frozen
class TraceClock:
    """Divides a run's time into bins, counted from its first publication."""

    start_ns: int
    bin_ns: int


def pieces(run: "RunDatasets", numbering: "Numbering", distances: Distances, clock: TraceClock) -> DataFrame:
    """Every piece of every kind."""
    deliveries = run.read("deliveries").join(_known(numbering), ["publisher", "sequence"], "left")
    columns = (
        "subscriber",
        "broker",
        "position",
        "delivered_ns",
        "number",
        "published_ns",
        "origin",
        "is_ordered",
    )
    read = partial(_read, distances=distances, clock=clock)
    found = deliveries.select(*columns).mapInArrow(read, SCHEMA)
    if run.has("matches"):
        matches = run.read("matches").join(_known(numbering), ["publisher", "sequence"], "inner")
        found = found.unionAll(matches.select("subscriber", "number").mapInArrow(_matched, SCHEMA))
    return found


def unpublished_matches(run: "RunDatasets", numbering: "Numbering") -> int:
    """Return how many matches of unpublished events were not delivered; these have names and no number."""
    key = ["publisher", "sequence"]
    unknown = run.read("matches").distinct().join(_known(numbering), key, "left_anti")
    return unknown.join(run.read("deliveries"), ["subscriber", *key], "left_anti").count()


def unpublished_repeats(run: "RunDatasets", numbering: "Numbering") -> int:
    """Return how many deliveries of unpublished events are repeats: they count as duplicates only."""
    key = ["publisher", "sequence"]
    unknown = run.read("deliveries").join(_known(numbering), key, "left_anti").select("subscriber", *key)
    return unknown.count() - unknown.distinct().count()


def _known(numbering: "Numbering") -> DataFrame:
    return F.broadcast(numbering.frame) if numbering.count <= BROADCAST_MAX else numbering.frame


def _read(
    batches: Iterable[pa.RecordBatch], distances: Distances, clock: TraceClock
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            yield _record([*_streams(batch), *_latencies(batch, distances), *_times(batch, clock)])


def _record(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _column(batch: pa.RecordBatch, name: str, absent: int = 0) -> NDArray[np.int64]:
    found: NDArray[np.int64] = batch.column(name).fill_null(absent).to_numpy(zero_copy_only=False)
    return found


def _encoded(column: pa.Array) -> tuple[NDArray[np.int32], list[str]]:
    """A column of texts as codes, and the texts."""
    encoded = column.fill_null("").dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def _groups(codes: NDArray[np.int32], many: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows by code, and where each code's begin and the last one's end."""
    order = np.argsort(codes, kind="stable")
    bounds = np.zeros(many + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=many), out=bounds[1:])
    return order, bounds


def _streams(batch: pa.RecordBatch) -> Iterator[Row]:
    codes, names = _encoded(batch.column("subscriber"))
    brokers = batch.column("broker").fill_null("")
    order, bounds = _groups(codes, len(names))
    is_published = batch.column("number").is_valid().to_numpy(zero_copy_only=False)
    is_ordered = batch.column("is_ordered").fill_null(pa.scalar(value=True)).to_numpy(zero_copy_only=False)
    marks = marks_of(_column(batch, "number"), is_published, is_ordered)[order]
    positions = _column(batch, "position")[order]
    times = _column(batch, "delivered_ns")[order]
    for code, name in enumerate(names):
        part = slice(int(bounds[code]), int(bounds[code + 1]))
        broker = brokers[int(order[part.start])].as_py()
        yield STREAM, name, broker, 0, marks[part].tobytes(), positions[part].tobytes(), times[part].tobytes()


def _latencies(batch: pa.RecordBatch, distances: Distances) -> Iterator[Row]:
    known = batch.filter(batch.column("number").is_valid())
    if not known.num_rows:
        return
    durations = _column(known, "delivered_ns") - _column(known, "published_ns")
    origins, origin_names = _encoded(known.column("origin"))
    brokers, broker_names = _encoded(known.column("broker"))
    table = np.array([[_distance(distances, o, b) for b in broker_names] for o in origin_names], np.int64)
    away = table[origins, brokers]
    for distance in np.unique(away):
        some = durations[away == distance]
        bins, counts = histograms.counted(some)
        totals = np.array([len(some), some.sum(), some.max(), (some < 0).sum()], np.int64)
        yield LATENCY, "", "", int(distance), bins.tobytes(), counts.tobytes(), totals.tobytes()


def _distance(distances: Distances, origin: str, broker: str) -> int:
    return 0 if origin == broker else distances.get((origin, broker), ELSEWHERE)


def _times(batch: pa.RecordBatch, clock: TraceClock) -> Iterator[Row]:
    times = _column(batch, "delivered_ns")
    durations = times - _column(batch, "published_ns")
    durations[~batch.column("number").is_valid().to_numpy(zero_copy_only=False)] = 0
    bins, places = np.unique((times - clock.start_ns) // clock.bin_ns, return_inverse=True)
    longest = np.zeros(len(bins), np.int64)
    np.maximum.at(longest, places, durations)
    counts = np.bincount(places).astype(np.int64)
    yield TIME, "", "", 0, bins.tobytes(), counts.tobytes(), longest.tobytes()


def _matched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            codes, names = _encoded(batch.column("subscriber"))
            order, bounds = _groups(codes, len(names))
            numbers = _column(batch, "number").astype(np.int32)[order]
            parts = [numbers[bounds[code] : bounds[code + 1]].tobytes() for code in range(len(names))]
            yield _record(
                [(MATCHED, name, "", 0, part, b"", b"") for name, part in zip(names, parts, strict=True)]
            )


def distances(uplinks: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """The number of links between any two brokers that are connected; empty beyond the limit."""
    if len(uplinks) > BROKERS_MAX:
        return {}
    climbs = {broker: _climb(uplinks, broker) for broker in uplinks}
    found = {}
    for one, other in product(climbs, repeat=2):
        common = next((each for each in climbs[one] if each in climbs[other]), None)
        if common is not None:
            found[one, other] = climbs[one][common] + climbs[other][common]
    return found


def _climb(uplinks: Mapping[str, str], broker: str) -> dict[str, int]:
    """Every broker above, itself included, and how many links away."""
    chain: dict[str, int] = {}
    while broker and broker not in chain:
        chain[broker] = len(chain)
        broker = uplinks.get(broker, "")
    return chain
