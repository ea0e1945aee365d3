"""Parts of text patterns: prefixes, suffixes and substrings, and how they are written.

Theory of operation: prefixes are found by sorting, or by cutting a text to every length in use, so that sets
of a thousand take a time in proportion. Substrings and suffixes are compared in pairs; what a user may name
is bounded (`PARTS_LIMIT`).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker.filters.intervals import bounds_of, interval_of
from broker.filters.values import listed, printed_set

if TYPE_CHECKING:
    from broker.filters.texts import TextPattern


def lengths(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the lengths in use, the shortest first."""
    return tuple(sorted(set(map(len, texts))))


def starts_with_one(text: str, prefixes: frozenset[str], in_use: tuple[int, ...]) -> bool:
    """Return whether the text starts with one of the prefixes, which have these lengths."""
    size = len(text)
    for length in in_use:
        if length > size:
            return False
        if text[:length] in prefixes:
            return True
    return False


def shortest_prefixes(prefixes: frozenset[str]) -> list[str]:
    """Leave out what starts with another of the prefixes; the rest is sorted."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        # All that starts with a prefix follows it without a gap.
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return kept


def shortest(parts: frozenset[str]) -> frozenset[str]:
    """Leave out what has another of the parts in it: to lack the part is to lack the whole."""
    if len(parts) < 2:  # noqa: PLR2004 - there is no other part
        return parts
    return frozenset(part for part in parts if not any(part != other and other in part for other in parts))


def longest(parts: frozenset[str], present: tuple[str, str]) -> frozenset[str]:
    """Leave out what is in another of the parts, or present anyway."""
    return frozenset(
        part
        for part in parts
        if not any(part in text for text in present)
        and not any(part != other and part in other for other in parts)
    )


def shorter_suffixes(suffixes: frozenset[str], required: str, not_contains: frozenset[str]) -> frozenset[str]:
    """Leave out the forbidden suffixes that are forbidden or impossible anyway."""
    return frozenset(
        ending
        for ending in suffixes
        if ending.endswith(required)
        and not any(ending != other and ending.endswith(other) for other in suffixes)
        and not any(part in ending for part in not_contains)
    )


def printed_pattern(pattern: "TextPattern", name: str) -> str:
    """Write a pattern; if only substrings are demanded, which lists may have too, say that it is a text."""
    parts = [*_printed_bounds(pattern, name), *_printed_affixes(pattern, name)]
    if pattern.excluded:
        parts.append(printed_set(name, pattern.excluded, "!=", "not in"))
    if len(parts) == len(pattern.contains) + len(pattern.not_contains):
        parts.append(f"{name} >= ''")
    return " and ".join(parts)


def _printed_bounds(pattern: "TextPattern", name: str) -> list[str]:
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
    """Return whether the prefix follows from the bounds."""
    interval = interval_of("", pattern.low, pattern.low_closed, pattern.high, pattern.high_closed)
    return bounds_of(interval)[0] == pattern.prefix


def _printed_affixes(pattern: "TextPattern", name: str) -> list[str]:
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
