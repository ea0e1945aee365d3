"""Writes what was found: `analysis.json`, and its tables as CSV files beside it."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

TABLES: Final = "tables"
"""The folder of the CSV files, beside `analysis.json`."""

Analysis = Mapping[str, object]
Table = tuple[str, Sequence[str], Iterable[Sequence[object]]]


def write(path: Path, analysis: Analysis) -> Path:
    """Write the analysis of the run in a directory."""
    return save(path, analysis, _tables(analysis))


def save(path: Path, analysis: Analysis, tables: Iterable[Table]) -> Path:
    """Write an analysis and its tables. A file is there whole or not at all."""
    folder = path / TABLES
    folder.mkdir(exist_ok=True)
    for name, head, rows in tables:
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(head)
            writer.writerows(rows)
    target = path / "analysis.json"
    unfinished = path / ".analysis.json"
    unfinished.write_text(json.dumps(analysis, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(target)
    return target


def _tables(analysis: Analysis) -> Iterator[Table]:
    series = _object(analysis.get("series"))
    for name in ("latency", "latency_same_broker"):
        yield name, ("part", "ms"), _list(series.get(name))
    timeline = _list(series.get("timeline"))
    yield "timeline", ("at_s", "deliveries_s", "max_ms"), [tuple(_object(each).values()) for each in timeline]
    yield "displacement", ("places", "publications"), _object(analysis.get("displacement")).items()
    by_distance = _object(analysis.get("latency_by_distance_ms"))
    names = ("p50", "p90", "p99", "p999", "max", "mean")
    yield (
        "latency_by_distance",
        ("links", *(f"{name}_ms" for name in names)),
        [(away, *(_object(each)[name] for name in names)) for away, each in by_distance.items()],
    )
    by_broker = _object(series.get("traffic_by_broker"))
    kinds = ("publications", "acknowledgements", "control", "bytes")
    yield (
        "traffic",
        ("broker", *kinds),
        [(broker, *(_object(each).get(kind) for kind in kinds)) for broker, each in by_broker.items()],
    )
    faults = [_object(each) for each in _list(analysis.get("faults"))]
    yield (
        "faults",
        ("at_s", "kind", "target", "detail", "pause_p50_ms", "pause_max_ms", "subscriber"),
        [
            (
                *(each[name] for name in ("at_s", "kind", "target", "detail")),
                *_object(each["pause_ms"]).values(),
            )
            for each in faults
        ],
    )


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Sequence[object]]:
    return value if isinstance(value, Sequence) else ()
