"""Analyses routing strategies: table sizes, and messages for a change, over the number of consumers.

    with session() as spark:
        analysis = analyze(spark, Path("runs/evaluation-routing"))
    analysis["points"]   # one for each study and number of consumers

Laws.

1. Sums over brokers, changes and quotes are Spark's; what comes to the driver is one row a point.
2. A point has no value for what its study did not measure.
3. What was not simulated but continued in a straight line says so (`is_continued`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.answers import Table, save
from harness.analysis.datasets import about, check, parquet_files, selected
from harness.analysis.points import MeasuredPoint, points
from harness.analysis.promises import AnalysisError
from harness.datasets import STUDY

_POINT: Final = ("study", "consumers")


def analyze(spark: SparkSession, path: Path) -> dict[str, object]:
    """Analyse all studies in a directory that are whole.

    Raises:
        AnalysisError: there are none.
        UnknownVerdictError: a dataset is not what it should be.
    """
    studies = {str(each["name"]): each for each in map(about, _described(path))}
    if not studies:
        raise AnalysisError(f"{path} holds no study: make evaluation-routing makes them")
    frames = {name: _read(spark, path, name) for name in STUDY}
    rows = {(row["study"], row["consumers"]): row.asDict() for row in _joined(frames).collect()}
    found = [_point(studies[study], rows[study, consumers]) for study, consumers in sorted(rows)]
    found = [*found, *_continued(found)]
    return {"points": [attrs.asdict(each) for each in _with_break_even(found)], "studies": studies}


def write(path: Path, analysis: Mapping[str, object]) -> Path:
    """Write `analysis.json`, and the points as a table."""
    head = [field.name for field in attrs.fields(MeasuredPoint)]
    rows = [[_cell(getattr(each, name)) for name in head] for each in points(analysis)]
    table: Table = ("points", head, rows)
    return save(path, analysis, [table])


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list) else value


def _described(path: Path) -> list[Path]:
    return [each for each in sorted(path.glob("*/run.json")) if not each.parent.name.startswith(".")]


def _read(spark: SparkSession, path: Path, name: str) -> DataFrame | None:
    files = [file for each in _described(path) for file in parquet_files(each.parent.resolve() / name)]
    for file in files:
        check(file, STUDY[name], f"{file.parent.parent.name}/{name}/{file.name}")
    if not files:
        return None
    reader = spark.read.option("__globPaths__", "false")
    return selected(reader, files, STUDY[name])


def _joined(frames: Mapping[str, DataFrame | None]) -> DataFrame:
    tables = frames["tables"]
    if tables is None:
        raise AnalysisError("no study has counted its tables: tables/ is missing everywhere")
    joined = _tables(tables)
    for frame, summed in ((frames["changes"], _changes), (frames["events"], _events)):
        if frame is not None:
            joined = joined.join(summed(frame), [*_POINT], "left")
    if frames["expected"] is not None:
        joined = joined.join(_differing(tables, frames["expected"]), [*_POINT], "left")
    return joined


def _tables(tables: DataFrame) -> DataFrame:
    router = ~F.col("is_local")
    levels = [
        F.avg(F.when(router & (F.col("level") == level), F.col("entries"))).alias(f"level_{level}")
        for level in LEVELS
    ]
    return tables.groupBy(*_POINT).agg(
        F.first("subscriptions").alias("subscriptions"),
        F.sum("entries").alias("entries"),
        F.count("*").alias("brokers"),
        *levels,
    )


LEVELS: Final = (1, 2, 3, 4)
"""Of routers."""


def _differing(tables: DataFrame, expected: DataFrame) -> DataFrame:
    both = tables.join(expected.withColumnRenamed("entries", "right"), [*_POINT, "broker"])
    return both.groupBy(*_POINT).agg(F.count_if(F.col("entries") != F.col("right")).alias("differing"))


def _changes(changes: DataFrame) -> DataFrame:
    """Rounds are samples of their own: what one consumer changes is not independent."""
    rounds = changes.groupBy(*_POINT, "round").agg(
        F.avg("messages").alias("mean"),
        F.sum("messages").alias("messages"),
        F.sum("acknowledgements").alias("acknowledgements"),
        F.count("*").alias("changes"),
    )
    return rounds.groupBy(*_POINT).agg(
        F.sum("changes").alias("changes"),
        (F.sum("messages") / F.sum("changes")).alias("messages"),
        (F.stddev_samp("mean") / F.sqrt(F.count("*"))).alias("messages_error"),
        (F.sum("acknowledgements") / F.sum("changes")).alias("acknowledgements"),
    )


def _events(events: DataFrame) -> DataFrame:
    wrong: Column = F.abs(F.col("delivered") - F.col("wanted"))
    return events.groupBy(*_POINT).agg(
        F.count("*").alias("quotes"),
        F.avg("messages").alias("publications"),
        (F.sum("messages") / F.sum("needed") - 1).alias("extra"),
        F.sum(wrong).alias("wrong"),
    )


def _point(study: Mapping[str, object], row: Mapping[str, object]) -> MeasuredPoint:
    """One point, of what the study is and what was added up; both use the names of `MeasuredPoint`."""
    about_study = {name: study.get(name) for name in _OF_STUDY}
    summed = {name: value for name, value in row.items() if not name.startswith("level_")}
    [found] = points({"points": [about_study | summed | {"level_entries": _levels(row)}]})
    if found.publications is None:
        return found
    return attrs.evolve(found, saved=1 - found.publications / (found.brokers - 1))


def _levels(row: Mapping[str, object]) -> list[object]:
    return [row[f"level_{level}"] for level in LEVELS]


_OF_STUDY: Final = ("group", "kind", "strategy", "has_advertisements", "locality", "factor")


def _continued(found: Sequence[MeasuredPoint]) -> Iterator[MeasuredPoint]:
    """Simple routing's tables grow in a straight line: go on with it where others were measured."""
    every = sorted({each.consumers for each in found if each.group == "tables"})
    straight = [each for each in found if each.group == "tables" and each.strategy == "simple"]
    for name in sorted({each.study for each in straight}):
        last = max((each for each in straight if each.study == name), key=_consumers)
        for consumers in every:
            if consumers > last.consumers:
                times = consumers / last.consumers
                yield attrs.evolve(
                    last,
                    consumers=consumers,
                    subscriptions=round(last.subscriptions * times),
                    entries=round(last.entries * times),
                    level_entries=[each * times for each in last.level_entries],
                    differing=None,
                    is_continued=True,
                )


def _consumers(point: MeasuredPoint) -> int:
    return point.consumers


def _with_break_even(found: Sequence[MeasuredPoint]) -> Iterator[MeasuredPoint]:
    """Add the ratio, and for simple routing points where identity was measured.

    What a change costs simple routing is the same everywhere, and what is saved does not depend on the
    strategy, as far as tables hold nothing that nobody wants.
    """
    for each in found:
        yield attrs.evolve(each, break_even=_ratio(each, each.messages))
    for each in found:
        if each.strategy != "identity" or each.saved is None:
            continue
        plain = _plain(found, each)
        if plain is not None and not _has(found, plain.study, each):
            yield attrs.evolve(
                plain,
                consumers=each.consumers,
                locality=each.locality,
                subscriptions=each.subscriptions,
                entries=round(plain.entries / plain.subscriptions * each.subscriptions),
                level_entries=(),
                differing=None,
                changes=None,
                saved=each.saved,
                break_even=_ratio(each, plain.messages),
                is_continued=True,
            )


def _has(found: Iterable[MeasuredPoint], study: str, like: MeasuredPoint) -> bool:
    same = (study, like.consumers, like.locality)
    return any((each.study, each.consumers, each.locality) == same for each in found)


def _plain(found: Sequence[MeasuredPoint], like: MeasuredPoint) -> MeasuredPoint | None:
    """Simple routing under the same circumstances, wherever it was measured last."""
    some = [
        each
        for each in found
        if each.strategy == "simple"
        and each.messages is not None
        and each.has_advertisements == like.has_advertisements
        and (each.locality is None) == (like.locality is None)
    ]
    return max(some, key=_consumers, default=None)


def _ratio(point: MeasuredPoint, messages: float | None) -> float | None:
    if messages is None or not point.saved:
        return None
    return messages / (point.saved * (point.brokers - 1))
