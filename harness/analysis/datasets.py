"""Reads a run's directory, checks its datasets, and numbers its publications.

Publications are numbered by publisher and, of one publisher, by sequence number, without a hole. So one is
four bytes wherever it is compared, and an earlier one of the same publisher has the smaller number.

Laws.

1. Every file is looked at before anything is computed: its end, which names the columns, is read. What is
   missing, cut off or has another type is named, with the file.
2. Files whose names start with a dot or an underscore are still being written, and left alone.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, DataFrameReader, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.promises import AnalysisError, UnknownVerdictError
from harness.datasets import FLOAT, RUN, TEXT, TRUTH, WHOLE, Columns

_SPARK: Final = {TEXT: "string", WHOLE: "bigint", TRUTH: "boolean", FLOAT: "double"}
"""Types of columns, as Spark calls them."""

REQUIRED: Final = ("publications", "deliveries")
"""Without these there is nothing to judge."""


@attrs.frozen(eq=False)
class RunDatasets:
    """A run's directory, looked through. `files` has the datasets that are there; `about` is `run.json`."""

    path: Path
    about: Mapping[str, object]
    files: Mapping[str, tuple[Path, ...]]
    spark: SparkSession = attrs.field(repr=False)

    def has(self, name: str) -> bool:
        """Return whether there is anything of a dataset."""
        return name in self.files

    def read(self, name: str) -> DataFrame:
        """One dataset, with its columns alone, in their types."""
        # A name is a name: no stars and brackets in it are patterns, and nothing is escaped.
        reader = self.spark.read.option("__globPaths__", "false")
        if pq.read_schema(self.files[name][0]).types == [getattr(pa, kind)() for kind in RUN[name].values()]:
            # With the columns given, Spark need not start a job to find them.
            reader = reader.schema(
                ", ".join(f"{column} {_SPARK[kind]}" for column, kind in RUN[name].items())
            )
        return selected(reader, self.files[name], RUN[name])

    def rows(self, name: str) -> int:
        """Return the number of rows of a dataset, from the footers of its files."""
        return sum(pq.read_metadata(each).num_rows for each in self.files[name])

    @property
    def uplinks(self) -> dict[str, str]:
        """Return the uplink of each broker, "" for a root; empty if the run does not record them."""
        found = self.about.get("uplinks")
        if not isinstance(found, dict):
            return {}
        return {str(broker): str(uplink or "") for broker, uplink in found.items()}


def selected(reader: DataFrameReader, files: Iterable[Path], columns: Columns) -> DataFrame:
    """Read files of a dataset, with its columns alone, in their types."""
    frame = reader.parquet(*(f"file://{each}" for each in files))
    return frame.select(*(F.col(column).cast(_SPARK[kind]) for column, kind in columns.items()))


def open_run(spark: SparkSession, path: Path) -> RunDatasets:
    """Look through a run's directory.

    Raises:
        AnalysisError: it is no directory.
        UnknownVerdictError: a dataset is missing, empty or not what it should be.
    """
    if not path.is_dir():
        raise AnalysisError(f"{path} is no directory: give the one that harness run wrote")
    absolute = path.resolve()
    files = {name: tuple(parquet_files(absolute / name)) for name in RUN}
    for name in REQUIRED:
        if not files[name]:
            state = "holds no Parquet file" if (absolute / name).is_dir() else "is missing"
            raise UnknownVerdictError(f"{path}/{name} {state}: was this directory written by harness run?")
    for name, found in files.items():
        for each in found:
            check(each, RUN[name], str(each.relative_to(absolute)))
    return RunDatasets(
        absolute, about(absolute / "run.json"), {name: each for name, each in files.items() if each}, spark
    )


def parquet_files(folder: Path) -> Iterator[Path]:
    """The whole files of a dataset (law 2)."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*.parquet")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part.startswith((".", "_")) for part in parts):
            yield path


def check(path: Path, columns: Columns, name: str) -> None:
    """Look at a file's end (law 1); `name` is what it is called in an error.

    Raises:
        UnknownVerdictError: it is cut off, or a column is missing or has another type.
    """
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise UnknownVerdictError(f"{name} cannot be read as Parquet: {_line(error)}") from error
    for column, kind in columns.items():
        if column not in schema.names:
            raise UnknownVerdictError(f"{name} has no column {column}; it has {', '.join(schema.names)}")
        found = schema.field(column).type
        if not _fits(found, kind):
            raise UnknownVerdictError(f"{name}: column {column} is {found} and should be {_SPARK[kind]}")


def _fits(found: pa.DataType, kind: str) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    checks = {
        TEXT: (pa.types.is_string, pa.types.is_large_string),
        WHOLE: (pa.types.is_integer,),
        TRUTH: (pa.types.is_boolean,),
        FLOAT: (pa.types.is_floating, pa.types.is_integer),
    }
    return any(check(found) for check in checks[kind])


def about(path: Path) -> Mapping[str, object]:
    """Return the content of `run.json`, empty if there is none."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnknownVerdictError(f"run.json is not JSON: {_line(error)}") from error
    if not isinstance(found, dict):
        raise UnknownVerdictError("run.json should be one object")
    return found


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


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


def number(run: RunDatasets) -> Numbering:
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
