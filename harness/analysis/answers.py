"""Everything that was found, as it stands in `analysis.json`, and its tables as CSV files beside that."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from harness.analysis import measures
from harness.analysis.comparing import Pairs
from harness.analysis.promises import verdict
from harness.analysis.reports import OrderReports

_NOT_MATCHED: Final = "the run does not say what should be delivered (dataset matches/)"

TABLES: Final = "tables"
"""The folder of the CSV files, beside `analysis.json`."""

Analysis = Mapping[str, object]
Table = tuple[str, Sequence[str], Iterable[Sequence[object]]]


@attrs.frozen
class AnswerTotals:
    """Sums over all subscriptions."""

    publications: int
    subscribers: int
    has_matches: bool
    deliveries: int
    duplicates: int
    unpublished: int
    late: int
    owed: int
    missing: int
    unmatched: int


@attrs.frozen(eq=False)
class Answers:
    """The results of the steps of an analysis."""

    about: Mapping[str, object]
    uplinks: Mapping[str, str]
    totals: AnswerTotals
    pairs: Pairs
    reports: OrderReports
    witnesses: Sequence[Mapping[str, object]]
    latencies: measures.LatencyMeasures
    timeline: Sequence[Mapping[str, float]]
    counters: measures.Grown
    faults: Sequence[Mapping[str, object]]
    doubt_of_causes: str


def answer(found: Answers) -> dict[str, object]:
    """Put it in order, the verdicts first."""
    totals, pairs = found.totals, found.pairs
    everywhere, by_distance = found.latencies.all, found.latencies.by_distance
    same = by_distance.get(0)
    return {
        "verdicts": _verdicts(found),
        "reports": dict(found.reports),
        "publications": totals.publications,
        "deliveries": totals.deliveries,
        "subscribers": totals.subscribers,
        "pairs": pairs.pairs,
        "pairs_out_of_order": pairs.pairs_out_of_order,
        "inversions": pairs.inversions,
        "ordering_degree": pairs.ordering_degree,
        "ordering_degree_min": pairs.ordering_degree_min,
        "ordering_degree_sample": pairs.ordering_degree_sample,
        "displacement": {str(distance): count for distance, count in pairs.displacement.items()},
        "publications_per_conflict": pairs.publications_per_conflict,
        "publisher_violations": totals.late,
        "causal_violations": None if found.doubt_of_causes else 0,
        "duplicates": totals.duplicates,
        "unpublished": totals.unpublished,
        "missing": totals.missing if totals.has_matches else None,
        "unmatched": totals.unmatched if totals.has_matches else None,
        "latency_ms": everywhere.summary() if everywhere else None,
        "latency_same_broker_ms": same.summary() if same else None,
        "latency_by_distance_ms": {str(away): each.summary() for away, each in by_distance.items()},
        "negative_latencies": everywhere.negative if everywhere else 0,
        "traffic": measures.traffic(found.counters),
        "detection_us": measures.detection_us(found.counters),
        "detection_by_place_us": measures.detection_by_place_us(found.counters, found.uplinks),
        "deferral_ms": measures.deferral_ms(found.counters),
        "faults": list(found.faults),
        "witnesses": list(found.witnesses),
        "series": {
            "latency": everywhere.curve() if everywhere else [],
            "latency_same_broker": same.curve() if same else [],
            "timeline": list(found.timeline),
            "traffic_by_broker": _by_broker(found.counters),
        },
        "run": dict(found.about),
    }


def _verdicts(found: Answers) -> dict[str, dict[str, object]]:
    totals, pairs = found.totals, found.pairs
    matched = "" if totals.has_matches else _NOT_MATCHED
    faulty = totals.duplicates + totals.unpublished + (totals.unmatched if totals.has_matches else 0)
    missing = totals.missing if totals.has_matches else 0
    return {
        "pairwise": verdict(pairs.inversions, ""),
        "publisher": verdict(totals.late, ""),
        "causal": verdict(0, found.doubt_of_causes),
        "integrity": verdict(faulty, matched),
        "completeness": verdict(missing, matched),
    }


def _by_broker(counters: measures.Grown) -> dict[str, dict[str, float]]:
    """Traffic of each broker, by kind."""
    found: dict[str, dict[str, float]] = {}
    for kind, name in measures.TRAFFIC.items():
        for broker, value in counters.get(name, {}).items():
            found.setdefault(broker, {})[kind] = value
    return found


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
