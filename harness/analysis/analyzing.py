"""The whole analysis of one run: from its datasets to the answer, step by step.

    with session() as spark:
        analysis = analyze(spark, Path("runs/quick/pairwise"))
    analysis["verdicts"]["pairwise"]["outcome"]   # True, False, or None for unknown

Nothing but answers comes to the driver: sums, histograms, and the few witnesses.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis import comparing, measures, reading, subscribers, witnesses
from harness.analysis.answers import Answers, AnswerTotals, answer, write
from harness.analysis.datasets import Numbering, RunDatasets, number, open_run
from harness.analysis.promises import UnknownVerdictError, unknown
from harness.analysis.reports import reports
from harness.analysis.session import fit

Progress = Callable[[str], None]

_TIME_BINS: Final = 120
"""Points of a timeline: as many as a figure has room for."""

_BIN_LEAST_NS: Final = 50_000_000
"""Shorter bins show when processes were scheduled, and nothing of brokers."""

_REASON_MAX: Final = 500
"""Characters of Spark's error that one line has room for."""


def _silent(_: str) -> None:
    pass


def analyze(
    spark: SparkSession, path: Path, *, progress: Progress = _silent, long: int = comparing.LONG
) -> dict[str, object]:
    """Analyse a run and return the content of `analysis.json`.

    Streams longer than `long` are compared in parts.

    Raises:
        AnalysisError: there is no such directory.
        UnknownVerdictError: the datasets do not allow a verdict; says which one, and why.
    """
    try:
        return _analyze(spark, path, progress, long)
    except (PySparkException, Py4JError) as error:
        raise UnknownVerdictError(f"{path} cannot be analysed: {_first_line(error)}") from error
    finally:
        spark.catalog.clearCache()


def judged(spark: SparkSession, path: Path, progress: Progress = _silent) -> dict[str, object]:
    """Analyse a run and write the result, even if it is that there is no verdict.

    Raises:
        AnalysisError: there is no such directory.
    """
    try:
        analysis = analyze(spark, path, progress=progress)
    except UnknownVerdictError as error:
        analysis = unknown(str(error))
    write(path, analysis)
    return analysis


def _analyze(spark: SparkSession, path: Path, progress: Progress, long: int) -> dict[str, object]:
    run = open_run(spark, path)
    fit(spark, run.rows("deliveries"))
    progress("numbering publications")
    numbering = number(run)
    clock = _clock(numbering)
    found = measures.faults(run)
    progress(f"reading what was delivered of {numbering.count:,} publications")
    pieces = reading.pieces(run, numbering, reading.distances(run.uplinks), clock).persist()
    put_together = subscribers.put_together(pieces, numbering.bases, measures.windows(found), keep_all=False)
    # Whatever is asked of streams afterwards is small beside making them.
    streams = comparing.coded(put_together.persist(), _unordered(run)).persist()
    totals = _totals(run, numbering, streams)
    progress(
        f"comparing the streams of {totals.subscribers:,} subscriptions, {totals.deliveries:,} deliveries"
    )
    summed = _compared(spark, streams, numbering, long)
    if summed.clashes:
        progress("looking up witnesses")
    late = witnesses.late(streams)
    answers = Answers(
        about=run.about,
        uplinks=run.uplinks,
        totals=totals,
        pairs=summed,
        reports=reports(streams, numbering.count, totals.deliveries),
        witnesses=(
            *witnesses.pairwise(run, numbering, streams, summed.clashes),
            *witnesses.publisher(run, numbering, late),
        ),
        latencies=measures.latencies(pieces),
        timeline=measures.timeline(pieces, clock),
        counters=measures.grown(run.read("brokers")) if run.has("brokers") else {},
        faults=measures.pauses(streams, found, numbering.first_ns),
        doubt_of_causes=_doubt_of_causes(run),
    )
    return answer(answers)


def _clock(numbering: Numbering) -> reading.TraceClock:
    span = numbering.last_ns - numbering.first_ns
    return reading.TraceClock(numbering.first_ns, max(span // _TIME_BINS, _BIN_LEAST_NS))


def _doubt_of_causes(run: RunDatasets) -> str:
    """Return why causal order cannot be judged, or an empty text if it can.

    Where publishers had read nothing, a cause of a publication is an earlier one of its publisher, and order
    between those is per-publisher order. A run that writes `seen/` without a row states just that.
    """
    if not run.has("seen"):
        return "the run does not say what had been delivered to a client before it published (dataset seen/)"
    if run.read("seen").isEmpty():
        return ""
    return "publishers had read something before they published, and how that spread is not followed here"


def _totals(run: RunDatasets, numbering: Numbering, streams: DataFrame) -> AnswerTotals:
    """Return sums over subscriptions; raise `UnknownVerdictError` if the datasets allow no verdict."""
    names = ("deliveries", "duplicates", "unpublished", "late", "owed", "missing", "unmatched")
    row = streams.agg(
        F.count_if(F.col("deliveries") > 0).alias("subscribers"),
        *(F.sum(name).alias(name) for name in names),
        F.max(F.struct("repeated_positions", "subscriber")).alias("repeated"),
    ).collect()[0]
    if not row["deliveries"]:
        raise UnknownVerdictError("deliveries/ is empty: nothing was delivered to anybody")
    if row["repeated"]["repeated_positions"]:
        raise UnknownVerdictError(
            f"deliveries/ has a position of {row['repeated']['subscriber']} twice: "
            "the order of deliveries is unknown"
        )
    _refuse_silent(run, streams)
    sums: dict[str, int] = {name: row[name] for name in names}
    if sums["unpublished"]:
        repeats = reading.unpublished_repeats(run, numbering)
        sums["unpublished"] -= repeats
        sums["duplicates"] += repeats
    if run.has("matches"):
        sums["missing"] += reading.unpublished_matches(run, numbering)
    return AnswerTotals(
        publications=numbering.count, subscribers=row["subscribers"], has_matches=run.has("matches"), **sums
    )


def _refuse_silent(run: RunDatasets, streams: DataFrame) -> None:
    """Raise `UnknownVerdictError` if a subscription delivered nothing: it agrees with any order."""
    silent = streams.filter("deliveries = 0 and owed > 0").select("subscriber")
    if run.has("subscriptions"):
        receiving = streams.filter("deliveries > 0").select("subscriber")
        silent = run.read("subscriptions").select("subscriber").join(receiving, "subscriber", "left_anti")
        if run.has("matches"):
            owed = streams.filter("owed > 0").select("subscriber")
            silent = silent.join(owed, "subscriber", "left_semi")
    names = [row["subscriber"] for row in silent.orderBy("subscriber").limit(2).collect()]
    if names:
        more = " and others" if len(names) > 1 else ""
        raise UnknownVerdictError(
            f"{names[0]}{more} delivered nothing: without its deliveries no order can be judged"
        )


def _unordered(run: RunDatasets) -> DataFrame | None:
    """Return the unordered subscriptions, if the run records them."""
    if not run.has("subscriptions"):
        return None
    return run.read("subscriptions").filter("not ordered").select("subscriber")


def _compared(spark: SparkSession, streams: DataFrame, numbering: Numbering, long: int) -> comparing.Pairs:
    sizes = [
        row["size"] for row in streams.filter("code is not null").select("size").orderBy("code").collect()
    ]
    sharing = comparing.share(sizes, spark.sparkContext.defaultParallelism, long)
    compared = comparing.compare(spark, streams, sharing, numbering.count).persist()
    return comparing.sum_up(compared, streams.filter("code is not null").select("code", "broker"))


def _first_line(error: BaseException) -> str:
    """Return the cause of an error, from a stack trace of Java and Python in one text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    if causes:
        return causes[-1].removeprefix("Caused by: ")[:_REASON_MAX]
    # Of a worker's Python it is the last line that says it; of Spark's own complaints the first.
    return lines[-1 if isinstance(error, PythonException) else 0][:_REASON_MAX]
