"""A Spark session that keeps to this machine, to a bounded memory, and to itself.

Spark and Java print much on standard error before anything can be configured. The user of an analysis
reads one line of progress and one line of error, so all of that goes to a file, of which the end is shown if
Java does not start.
"""

import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import attr
import attrs
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from harness.analysis.promises import AnalysisError

DRIVER_MEMORY: Final = "3g"
"""Ten million deliveries need one; Python's workers, which hold the arrays, are not in it."""

PARALLEL_LEAST: Final = 8
"""Partitions of a shuffle where there is much to do: small tasks share two cores evenly."""

SMALL_ROWS: Final = 50_000
"""A partition of fewer rows costs more to begin than to work through: a task takes 10 ms at least."""

PARTITIONS_LEAST: Final = 2
"""Of a shuffle, so that two cores share even the smallest."""

BATCH_ROWS: Final = 1 << 17
"""Rows that a worker is given at once: enough for numpy to be at its speed, a few megabytes."""

_CONFIGURATION: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": DRIVER_MEMORY,
    # Most of the work is numpy's, so Java's best compiler never earns what it costs: without it ten million
    # deliveries take a tenth less processor time, and a run of some thousands half.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    # One subscriber's stream may have more than the two gigabytes that short offsets reach.
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    # Planning anew after each stage makes each a job of its own, which costs a small run half of its time.
    # Nothing is gained by it: tasks are few and heavy in Python, and skewed pairs are split by us.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # A file that is cut off is an error that says so, not fewer deliveries.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.maxPartitionBytes": "32m",
}

_LOCAL: Final = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_NO_JAVA: Final = (
    "Spark needs Java 17 or newer, and there is no java: install a headless one, "
    "such as openjdk-17-jre-headless"
)


@contextmanager
def session(master: str | None = "local[*]") -> Iterator[SparkSession]:
    """Start Spark, and stop it in the end. `master` as Spark takes it; None is what spark-submit said.

    Raises:
        AnalysisError: Spark does not start; says why.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise AnalysisError(_NO_JAVA)
    with tempfile.TemporaryDirectory(prefix="concord-analysis-") as scratch:
        spark = _started(master, Path(scratch))
        try:
            yield spark
        finally:
            spark.stop()


def package(target: Path) -> Path:
    """Write the modules that workers need as an archive, for `--py-files` of spark-submit."""
    here = Path(__file__).resolve().parent
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("__init__.py", "datasets.py"):
            archive.write(here.parent / name, f"harness/{name}")
        for folder, place in ((here, "harness/analysis"), *_attrs()):
            for path in sorted(folder.rglob("*.py")):
                archive.write(path, str(Path(place) / path.relative_to(folder)))
    return target


def _attrs() -> list[tuple[Path, str]]:
    """The one small library that numerical Python does not bring along: it is shipped too."""
    return [(Path(str(each.__file__)).parent, each.__name__) for each in (attr, attrs)]


def _started(master: str | None, scratch: Path) -> SparkSession:
    is_here = master is not None and master.startswith("local")
    # What spark-submit started has its package already: --py-files ships it.
    is_shipped = master is not None and not re.match(r"local(\[|$)", master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_here:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.appName("concord analyze")
    if master is not None:
        builder = builder.master(master)
    for key, value in (_CONFIGURATION | (_LOCAL if is_here else {})).items():
        builder = builder.config(key, value)
    if is_here and (path := os.environ.get("PYTHONPATH")):
        # Executors of a local cluster do not inherit it.
        builder = builder.config("spark.executorEnv.PYTHONPATH", path)
    builder = builder.config("spark.local.dir", str(scratch))
    builder = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    with (scratch / "java.log").open("w+") as log:
        try:
            with _errors_to(log):
                spark = builder.getOrCreate()
        except (PySparkException, OSError, RuntimeError) as error:
            raise AnalysisError(
                f"Spark does not start with --master {master}: {_last(log, error)}"
            ) from error
    spark.sparkContext.setLogLevel("OFF")
    if is_shipped:
        spark.sparkContext.addPyFile(str(package(scratch / "concord-analysis.zip")))
    return spark


def fit(spark: SparkSession, rows: int) -> None:
    """Have shuffles in as many partitions as so many rows are worth."""
    most = max(PARALLEL_LEAST, 2 * spark.sparkContext.defaultParallelism)
    wanted = min(most, max(PARTITIONS_LEAST, rows // SMALL_ROWS))
    spark.conf.set("spark.sql.shuffle.partitions", str(wanted))


@contextmanager
def _errors_to(log: IO[str]) -> Iterator[None]:
    """While Java starts, standard error is a file: it inherits that, and we get ours back."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _last(log: IO[str], error: BaseException) -> str:
    """Return the line that explains the failure: the last line of Java, or the error of Python."""
    log.seek(0)
    said = [line.strip() for line in log if line.strip() and not line.startswith(("\tat ", "WARNING"))]
    return said[-1] if said else str(error).partition("\n")[0]
