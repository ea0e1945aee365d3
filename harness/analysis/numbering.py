"""Numbers all publications: by publisher and, of one publisher, by sequence number, without a hole.

So a publication is four bytes wherever it is compared, and an earlier one of the same publisher has the
smaller number. What is known of a publication is looked up by its number from then on.
"""

import attrs
import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.datasets import Run
from harness.analysis.promises import UnknownVerdictError


@attrs.frozen(eq=False)
class Numbering:
    """Columns of `frame`: publisher, sequence, number, published_ns, origin, is_ordered.

    `bases` has the publishers' first numbers.
    """

    frame: DataFrame
    bases: NDArray[np.int64]
    count: int
    first_ns: int
    last_ns: int


def number(run: Run) -> Numbering:
    """Number a run's publications.

    Raises:
        UnknownVerdictError: there are none, or one of them twice.
    """
    publications = run.read("publications")
    publishers = (
        publications.groupBy("publisher")
        .agg(
            F.count("*").alias("count"),
            F.countDistinct("sequence").alias("distinct"),
            F.min("published_ns").alias("first_ns"),
            F.max("published_ns").alias("last_ns"),
        )
        .orderBy("publisher")
        .collect()
    )
    if not publishers:
        raise UnknownVerdictError("publications/ is empty: nothing was published")
    for each in publishers:
        if each["publisher"] is None or each["count"] != each["distinct"]:
            raise UnknownVerdictError(
                f"publications/ lists a sequence number of {each['publisher']} twice, or none: "
                "each publication stands there once"
            )
    counts = np.array([each["count"] for each in publishers], np.int64)
    bases = np.cumsum(counts) - counts
    names = [(each["publisher"], int(base)) for each, base in zip(publishers, bases, strict=True)]
    table = run.spark.createDataFrame(names, "publisher string, base bigint")
    place = F.row_number().over(Window.partitionBy("publisher").orderBy("sequence")) - 1
    frame = publications.join(F.broadcast(table), "publisher").select(
        "publisher",
        "sequence",
        (F.col("base") + place).alias("number"),
        "published_ns",
        F.col("broker").alias("origin"),
        F.col("ordered").alias("is_ordered"),
    )
    return Numbering(
        frame.persist(),
        bases,
        int(counts.sum()),
        min(each["first_ns"] for each in publishers),
        max(each["last_ns"] for each in publishers),
    )
