"""Constraints on texts in the filter language."""

from typing import TYPE_CHECKING

from broker.filters.intervals import bounds_of, interval_of
from broker.filters.values import listed

if TYPE_CHECKING:
    from broker.filters.texts import TextPattern


def printed_bounds(pattern: "TextPattern", name: str) -> list[str]:
    """Write the bounds, and the prefix where they do not imply it."""
    low, high = pattern.low, pattern.high
    left, right = "<=" if pattern.low_closed else "<", "<=" if pattern.high_closed else "<"
    parts: list[str] = []
    if low is not None and high is not None:
        parts.append(f"{low!r} {left} {name} {right} {high!r}")
    elif low is not None:
        parts.append(f"{name} {'>=' if pattern.low_closed else '>'} {low!r}")
    elif high is not None:
        parts.append(f"{name} {right} {high!r}")
    if pattern.prefix and not _is_implied(pattern):
        parts.append(f"{name}.startswith({pattern.prefix!r})")
    return parts


def _is_implied(pattern: "TextPattern") -> bool:
    """Tell whether the prefix follows from the bounds."""
    interval = interval_of("", pattern.low, pattern.low_closed, pattern.high, pattern.high_closed)
    return bounds_of(interval)[0] == pattern.prefix


def printed_patterns(pattern: "TextPattern", name: str) -> list[str]:
    """Write what is demanded of the ends and the inside."""
    parts = [f"{part!r} in {name}" for part in sorted(pattern.contains)]
    if pattern.suffix:
        parts.append(f"{name}.endswith({pattern.suffix!r})")
    if pattern.not_prefixes:
        parts.append(f"not {name}.startswith({_one_or_many(pattern.not_prefixes)})")
    if pattern.not_suffixes:
        parts.append(f"not {name}.endswith({_one_or_many(pattern.not_suffixes)})")
    parts.extend(f"{part!r} not in {name}" for part in sorted(pattern.not_contains))
    return parts


def _one_or_many(texts: frozenset[str]) -> str:
    return repr(next(iter(texts))) if len(texts) == 1 else listed([repr(text) for text in sorted(texts)])


def printed_set(name: str, texts: frozenset[str], one: str, many: str) -> str:
    """Write a comparison with one text or with several."""
    if len(texts) == 1:
        return f"{name} {one} {next(iter(texts))!r}"
    return f"{name} {many} {listed([repr(text) for text in sorted(texts)])}"
