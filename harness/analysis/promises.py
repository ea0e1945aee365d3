"""The promises a run is judged by, as `ordering.verdicts` names them, and why there may be no verdict."""

from collections.abc import Mapping, Sequence
from typing import Final

try:
    from broker.errors import ConcordError as _Error
except ImportError:
    # On a cluster there is this package alone, and the user who started the job reads the error there.
    _Error = Exception  # type: ignore[misc, assignment]  # a name for one of two classes

PROMISES: Final = ("pairwise", "publisher", "causal", "integrity", "completeness")

VIOLATED: Final = 1
UNKNOWN: Final = 2
"""Exit statuses."""


class AnalysisError(_Error):
    """The analysis itself could not run: no Spark, no such directory."""


class UnknownVerdictError(_Error):
    """The datasets do not allow a verdict; the text names it, with the reason."""


def verdict(violations: int, doubt: str) -> dict[str, object]:
    """A violation is a violation; without one, a doubt remains one."""
    if violations:
        return {"outcome": False, "word": "false", "reason": ""}
    if doubt:
        return {"outcome": None, "word": "unknown", "reason": doubt}
    return {"outcome": True, "word": "true", "reason": ""}


def unknown(reason: str) -> dict[str, object]:
    """The words of `analysis.json` when the datasets allow no verdict."""
    return {"verdicts": {name: verdict(0, reason) for name in PROMISES}, "reason": reason}


def status(analysis: Mapping[str, object], require: Sequence[str]) -> tuple[int, str]:
    """The exit status if some promises are required, and the reason if there is no verdict."""
    if "reason" in analysis:
        return UNKNOWN, f"the verdict is unknown: {analysis['reason']}"
    verdicts = analysis["verdicts"]
    assert isinstance(verdicts, Mapping)
    required = [(name, verdicts[name]) for name in require]
    if any(found["outcome"] is False for _, found in required):
        return VIOLATED, ""
    doubts = [f"{name} is unknown: {found['reason']}" for name, found in required if found["outcome"] is None]
    return (UNKNOWN, doubts[0]) if doubts else (0, "")
