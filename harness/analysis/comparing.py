"""All pairs of subscriptions: shared out as blocks against blocks, compared, and summed up.

Streams are coded by size, the longest first, and dealt to blocks in turn, so blocks weigh about the same. A
stream longer than `LONG` is a block of its own, and two such are compared in several parts: where the common
publications are cut, inversions across the cut are counted by the part that has their later element.

Of pairs that disagree, the nearest two publications of some are kept, as witnesses.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.kernels.pairs import Block, Compared, compare_blocks, compare_part
from harness.analysis.reading import arrow

LONG: Final = 1 << 21
"""Counting this many publications of one pair in the worst order takes a second; longer pairs are divided."""

BLOCK_BYTES: Final = 64 << 20
"""Elements of each of two blocks that a worker holds at most, unless one stream alone is longer."""

TASKS_EACH: Final = 4
"""Tasks for each core: blocks are equal only in what they hold, not in how much of it is out of order."""

PAIR: Final = 0
"""Of two subscriptions (`one`, `other`): common, inversions, displaced, furthest."""
DISPLACED: Final = 1
"""How many publications (`common`) are so far from their place (`furthest`)."""
CLASH: Final = 2
"""Two publications (`inversions` before `displaced` at `one`, after it at `other`), `furthest` apart
there."""

SCHEMA: Final = (
    "kind int, one int, other int, common bigint, inversions bigint, displaced bigint, furthest bigint"
)
_ARROW: Final = arrow(SCHEMA)

SAMPLE: Final = 100
"""Pairs of subscribers at different brokers, drawn at random as the paper draws them."""

WITNESSES_MAX: Final = 5
"""As many witnesses as `ordering.verdicts` has; counts are complete."""


@attrs.frozen
class Sharing:
    """How streams are shared out: long ones, the first codes, are blocks alone, the others are dealt."""

    long_sizes: tuple[int, ...]
    blocks: int
    long: int = LONG

    def tasks(self) -> Iterator[tuple[int, int, int, int]]:
        """Each task: two blocks, and which part of how many."""
        many = len(self.long_sizes) + self.blocks
        for one in range(many):
            for other in range(one, many):
                parts = self._parts(one, other)
                yield from ((one, other, part, parts) for part in range(parts))

    def _parts(self, one: int, other: int) -> int:
        """A long stream has nothing to be compared with in its own block."""
        if other >= len(self.long_sizes):
            return 1
        return 0 if one == other else -(-min(self.long_sizes[one], self.long_sizes[other]) // self.long)


def coded(subscribers: DataFrame, unordered: DataFrame | None) -> DataFrame:
    """Give each subscription that takes part a code, the longest stream first, without a hole.

    Those do that delivered anything ordered, and are not among the ones that asked for no order.
    """
    rank = F.row_number().over(Window.orderBy(F.desc("size"), "subscriber"))
    sizes = subscribers.filter("size > 0").select("subscriber", "size")
    if unordered is not None:
        sizes = sizes.join(F.broadcast(unordered), "subscriber", "left_anti")
    sizes = sizes.withColumn("code", rank - 1)
    return subscribers.join(F.broadcast(sizes.select("subscriber", "code")), "subscriber", "left")


def share(sizes: Sequence[int], cores: int, long: int = LONG) -> Sharing:
    """Decide on blocks, given the sizes of all streams, the longest first."""
    long_sizes = tuple(size for size in sizes if size > long)
    short = len(sizes) - len(long_sizes)
    needed = -(-sum(sizes[len(long_sizes) :]) * 4 // BLOCK_BYTES)
    busy = 1
    while busy * (busy + 1) // 2 < TASKS_EACH * cores:
        busy += 1
    return Sharing(long_sizes, min(max(needed, busy), short), long)


def compare(spark: SparkSession, streams: DataFrame, sharing: Sharing, publications: int) -> DataFrame:
    """Compare all coded streams: rows of three kinds, as above."""
    alone = len(sharing.long_sizes)
    code = F.col("code")
    dealt = alone + (code - alone) % max(sharing.blocks, 1)
    block = F.when(code < alone, code).otherwise(dealt)
    rows = [
        (task, side, block_number, one == other, part, parts)
        for task, (one, other, part, parts) in enumerate(sharing.tasks())
        for side, block_number in enumerate((one,) if one == other else (one, other))
    ]
    tasks = spark.createDataFrame(rows, "task int, side int, block int, is_own boolean, part int, parts int")
    shared = streams.filter("code is not null").select("code", "numbers", block.cast("int").alias("block"))

    # Spark chooses the arguments by the annotations, so it is a function and not a partial one.
    def task(table: pa.Table) -> pa.Table:
        return _task(table, publications)

    return shared.join(F.broadcast(tasks), "block").groupBy("task").applyInArrow(task, SCHEMA)


def _task(table: pa.Table, publications: int) -> pa.Table:
    rows = table.select(["code", "side", "is_own", "part", "parts"]).to_pylist()
    streams = [np.frombuffer(each.as_buffer(), np.int32) for each in table.column("numbers")]
    order = sorted(range(len(rows)), key=lambda index: int(rows[index]["code"]))
    sides: tuple[list[int], list[int]] = ([], [])
    for index in order:
        sides[rows[index]["side"]].append(index)
    first = rows[0]
    if first["parts"] > 1:
        (one,), (other,) = sides
        codes = rows[one]["code"], rows[other]["code"]
        part = compare_part(streams[one], streams[other], codes, first["part"], first["parts"])
        return _table([part])
    blocks = [Block.of([rows[i]["code"] for i in side], [streams[i] for i in side]) for side in sides]
    return _table(compare_blocks(blocks[0], None if first["is_own"] else blocks[1], publications))


def _table(found: Iterator[Compared] | list[Compared]) -> pa.Table:
    parts: list[list[NDArray[np.integer]]] = [[] for _ in _ARROW]
    histogram = np.zeros(1, np.int64)
    for each in found:
        histogram = _added(histogram, each.histogram)
        many = len(each.others)
        columns = (each.others, each.common, each.inversions, each.displaced, each.furthest)
        _append(parts, np.full(many, PAIR), np.full(many, each.code), *columns)
        if each.span:
            clash = (CLASH, each.code, each.against, 0, each.early, each.late, each.span)
            _append(parts, *(np.array([value]) for value in clash))
    distances = np.flatnonzero(histogram)
    zeros = np.zeros(len(distances), np.int64)
    _append(parts, zeros + DISPLACED, zeros, zeros, histogram[distances], zeros, zeros, distances)
    arrays = [
        pa.array(np.concatenate(part).astype(field.type.to_pandas_dtype()))
        for part, field in zip(parts, _ARROW, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=_ARROW)


def _append(parts: list[list[NDArray[np.integer]]], *columns: NDArray[np.integer]) -> None:
    for part, column in zip(parts, columns, strict=True):
        part.append(column)


def _added(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(one) < len(other):
        one, other = other, one
    total = one.copy()
    total[: len(other)] += other
    return total


@attrs.frozen
class Clash:
    """Subscription `one` delivers `early` before `late`, `other` the other way round."""

    one: int
    other: int
    early: int
    late: int
    span: int


@attrs.frozen(eq=False)
class Pairs:
    """Sums over pairs with two or more common publications; names as in `analysis.json`."""

    pairs: int
    pairs_out_of_order: int
    inversions: int
    common: int
    ordering_degree: float | None
    ordering_degree_min: float | None
    ordering_degree_sample: float | None
    displacement: dict[int, int]
    clashes: tuple[Clash, ...]

    @property
    def publications_per_conflict(self) -> float | None:
        """Return how many common publications there are for each pair of them that is inverted."""
        return self.common / self.inversions if self.inversions else None


def pairs(compared: DataFrame) -> DataFrame:
    """Return one row per pair: the sum of the results of its parts."""
    return (
        compared.filter(F.col("kind") == PAIR)
        .groupBy("one", "other")
        .agg(
            F.sum("common").alias("common"),
            F.sum("inversions").alias("inversions"),
            F.sum("displaced").alias("displaced"),
            F.max("furthest").alias("furthest"),
        )
        .filter("common >= 2")
        .withColumn("degree", 1 - F.col("displaced") / (F.col("common").cast("double") * F.col("common")))
    )


def sum_up(compared: DataFrame, brokers: DataFrame) -> Pairs:
    """Add up all pairs. `brokers` has the broker of each subscription's code."""
    each = pairs(compared)
    row = each.agg(
        F.count("*").alias("pairs"),
        F.count_if(F.col("inversions") > 0).alias("out_of_order"),
        F.sum("inversions").alias("inversions"),
        F.sum("common").alias("common"),
        F.avg("degree").alias("degree"),
        F.min("degree").alias("degree_min"),
    ).collect()[0]
    return Pairs(
        pairs=row["pairs"],
        pairs_out_of_order=row["out_of_order"],
        inversions=row["inversions"] or 0,
        common=row["common"] or 0,
        ordering_degree=row["degree"],
        ordering_degree_min=row["degree_min"],
        ordering_degree_sample=_sampled(each, brokers),
        displacement=_displacement(compared),
        clashes=_clashes(compared),
    )


def _sampled(each: DataFrame, brokers: DataFrame) -> float | None:
    """The mean degree of some pairs at different brokers, always the same for the same run."""
    one = brokers.select(F.col("code").alias("one"), F.col("broker").alias("one_broker"))
    other = brokers.select(F.col("code").alias("other"), F.col("broker").alias("other_broker"))
    drawn = (
        each.join(F.broadcast(one), "one")
        .join(F.broadcast(other), "other")
        .filter("one_broker != other_broker")
        .orderBy(F.xxhash64("one", "other"), "one", "other")
        .limit(SAMPLE)
    )
    mean: float | None = drawn.agg(F.avg("degree")).collect()[0][0]
    return mean


def _displacement(compared: DataFrame) -> dict[int, int]:
    rows = (
        compared.filter((F.col("kind") == DISPLACED) & (F.col("common") > 0))
        .groupBy("furthest")
        .agg(F.sum("common").alias("count"))
        .orderBy("furthest")
        .collect()
    )
    return {row["furthest"]: row["count"] for row in rows}


def _clashes(compared: DataFrame) -> tuple[Clash, ...]:
    rows = (
        compared.filter(F.col("kind") == CLASH)
        .orderBy("furthest", "one", "other", "inversions")
        .limit(WITNESSES_MAX)
        .collect()
    )
    return tuple(
        Clash(row["one"], row["other"], row["inversions"], row["displaced"], row["furthest"]) for row in rows
    )
