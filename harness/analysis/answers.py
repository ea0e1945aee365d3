"""Everything that was found, as it stands in `analysis.json`."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from harness.analysis import measures
from harness.analysis.comparing import Pairs
from harness.analysis.promises import verdict

_NOT_MATCHED: Final = "the run does not say what should be delivered (dataset matches/)"


@attrs.frozen
class Totals:
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
    """What the steps of an analysis found."""

    about: Mapping[str, object]
    totals: Totals
    pairs: Pairs
    witnesses: Sequence[Mapping[str, object]]
    latencies: measures.Latencies
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
