"""The promises a run is judged by, as `ordering.verdicts` names them, and the words of a verdict."""

from typing import Final

__all__ = ["PROMISES", "unknown", "verdict"]

PROMISES: Final = ("pairwise", "publisher", "causal", "integrity", "completeness")


def verdict(violations: int, doubt: str) -> dict[str, object]:
    """A violation is a violation; without one, a doubt remains one."""
    if violations:
        return {"outcome": False, "word": "false", "reason": ""}
    if doubt:
        return {"outcome": None, "word": "unknown", "reason": doubt}
    return {"outcome": True, "word": "true", "reason": ""}


def unknown(reason: str) -> dict[str, object]:
    """What stands in `analysis.json` when the datasets allow no verdict."""
    return {"verdicts": {name: verdict(0, reason) for name in PROMISES}, "reason": reason}
