"""Analysed runs as they lie in a directory, without the work of analysing any."""

import json
from pathlib import Path

from harness.analysis.promises import PROMISES, unknown, verdict

WITNESS = {
    "kind": "pairwise",
    "text": "s at B1 delivers p/1 before q/1 (deliveries 0 and 1); t at B2 delivers q/1 before p/1 "
    "(deliveries 0 and 1)",
    "publications": [
        {"publisher": "p", "sequence": 1, "broker": "B1", "published_ns": 1_000_000},
        {"publisher": "q", "sequence": 1, "broker": "B2", "published_ns": 1_200_000},
    ],
    "views": [
        {
            "subscriber": "s",
            "broker": "B1",
            "deliveries": [
                {"publication": "p/1", "position": 0, "delivered_ns": 1_400_000},
                {"publication": "q/1", "position": 1, "delivered_ns": 2_400_000},
            ],
        },
        {
            "subscriber": "t",
            "broker": "B2",
            "deliveries": [
                {"publication": "q/1", "position": 0, "delivered_ns": 1_500_000},
                {"publication": "p/1", "position": 1, "delivered_ns": 2_200_000},
            ],
        },
    ],
}


def analysed(  # noqa: PLR0913 - what tests distinguish
    path: Path,
    ordering: str,
    *,
    scenario: str = "quick",
    subscriptions: int = 12,
    out_of_order: int = 0,
    has_faults: bool = False,
) -> Path:
    """Write `run.json` and `analysis.json` of one run."""
    path.mkdir(parents=True)
    latency = {"p50": 1.5, "p90": 2.0, "p99": 3.0, "p999": 4.0, "max": 250.0 + subscriptions, "mean": 1.7}
    analysis = {
        "verdicts": {name: verdict(out_of_order if name == "pairwise" else 0, "") for name in PROMISES},
        "publications": 100,
        "deliveries": 1_200,
        "subscribers": subscriptions,
        "pairs": 66,
        "pairs_out_of_order": out_of_order,
        "inversions": out_of_order,
        "ordering_degree": 0.9952 if out_of_order else 1.0,
        "displacement": {"0": 1_000, "1": 40} if out_of_order else {"0": 1_040},
        "publications_per_conflict": 14.0 if out_of_order else None,
        "missing": 0,
        "latency_ms": latency,
        "latency_same_broker_ms": latency,
        "traffic": {"publications": 400, "acknowledgements": 90, "control": 10, "bytes": 40_000},
        "detection_us": {"mean": 1.6, "p99": 5.0},
        "faults": [_fault()] if has_faults else [],
        "witnesses": [WITNESS] if out_of_order else [],
        "series": {
            "latency": [[1 - 10 ** (-place / 4), 1.0 + place] for place in range(1, 12)],
            "timeline": [
                {"at_s": place / 10, "deliveries_s": 100.0 + place % 7, "max_ms": 4.0} for place in range(40)
            ],
        },
    }
    about = {
        "ordering": ordering,
        "scenario": scenario,
        "seed": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "command": f"concord harness compare {scenario}.toml --out runs/{scenario}",
        "versions": {"concord-pubsub": "0.1.0", "python": "3.11.2"},
        "subscriptions": subscriptions,
        "publishers": subscriptions,
        "brokers": subscriptions // 2,
    }
    (path / "analysis.json").write_text(json.dumps(analysis))
    (path / "run.json").write_text(json.dumps(about))
    return path


def without_verdict(path: Path, ordering: str) -> Path:
    """Write a run that allows no verdict."""
    path.mkdir(parents=True)
    (path / "analysis.json").write_text(json.dumps(unknown("deliveries is missing: was this written?")))
    (path / "run.json").write_text(json.dumps({"ordering": ordering, "scenario": "quick"}))
    return path


def _fault() -> dict[str, object]:
    pause = {"p50": 12.0, "max": 480.0, "subscriber": "s"}
    return {"at_s": 1.25, "kind": "crash", "target": "core-2", "detail": "", "pause_ms": pause}
