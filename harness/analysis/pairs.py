"""What all pairs of subscriptions say together, and the nearest two publications of some that disagree."""

from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.comparing import CLASH, DISPLACED, PAIR

__all__ = ["Clash", "Pairs", "pairs", "sum_up"]

SAMPLE: Final = 100
"""Pairs of subscribers at different brokers, drawn at random as the paper draws them."""

WITNESSES_MAX: Final = 5
"""As many as `ordering.verdicts` tells; counts are complete."""


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
        """How many common publications there are for each pair of them that is inverted."""
        return self.common / self.inversions if self.inversions else None


def pairs(compared: DataFrame) -> DataFrame:
    """One row per pair: what parts found is added up."""
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
