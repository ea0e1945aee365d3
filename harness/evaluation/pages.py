"""How numbers stand on the pages of the evaluations."""

from collections.abc import Sequence
from typing import Final

from harness.tables import NONE

_EXACT: Final = 1e-9
_THOUSAND: Final = 1_000


def whole(value: float | None) -> str:
    """Write a number that has no fraction."""
    return NONE if value is None else f"{value:,.0f}"


def plain(value: float | None, digits: int) -> str:
    """Write a number with so many digits behind the point."""
    return NONE if value is None else f"{value:,.{digits}f}"


def number(value: float | None) -> str:
    """Large ones whole, small ones with three digits."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.3g}"


def percent(part: float | None, *, digits: int = 1) -> str:
    """A part of a whole."""
    return NONE if part is None else f"{part * 100:.{digits}f} %"


def deviation(value: float, reference: float) -> float:
    """How far a value is from its reference, as a part of it."""
    return value / reference - 1


def beside(value: float | None, reference: float | None) -> str:
    """Ours, and in brackets the reference with how far ours is from it."""
    if value is None or not reference:
        return number(value)
    return f"{number(value)} ({number(reference)}, {deviation(value, reference) * 100:+.1f} %)"


def exactly(title: str, reference: float, found: Sequence[float], digits: int = 2) -> Sequence[str]:
    """A row: what must be, what is at all points, and whether they are equal."""
    if not found:
        return title, f"{reference:,.{digits}f}", NONE, NONE
    low, high = min(found), max(found)
    off = max(abs(each - reference) for each in found)
    verdict = "equal" if off <= _EXACT * max(reference, 1) else f"off by up to {off:,.4g}"
    shown = (
        f"{low:,.{digits}f}"
        if f"{low:.{digits}f}" == f"{high:.{digits}f}"
        else f"{low:,.{digits}f} to {high:,.{digits}f}"
    )
    return (
        title,
        f"{reference:,.{digits}f}",
        shown,
        f"{verdict}, {len(found)} points" if len(found) > 1 else verdict,
    )
