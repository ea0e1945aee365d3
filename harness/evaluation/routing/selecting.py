"""Finds points of an analysis."""

from collections.abc import Sequence

from harness.analysis.points import Point

__all__ = ["at", "limit", "of_study"]


def of_study(points: Sequence[Point], study: str) -> list[Point]:
    """The measured points of a study, by the number of consumers."""
    found = [each for each in points if each.study == study and not each.is_continued]
    return sorted(found, key=lambda each: each.consumers)


def at(points: Sequence[Point], study: str, consumers: int) -> Point | None:
    """A point of a study, measured if it was, else continued."""
    found = [each for each in points if each.study == study and each.consumers == consumers]
    return min(found, key=lambda each: each.is_continued, default=None)


def limit(points: Sequence[Point], locality: float, *, is_advertised: bool) -> Point | None:
    """The point at which every stock of a subtree is wanted everywhere in it."""
    return next(
        (
            each
            for each in points
            if each.group == "locality-limit"
            and each.locality == locality
            and each.has_advertisements == is_advertised
        ),
        None,
    )
