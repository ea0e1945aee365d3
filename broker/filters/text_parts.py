"""Sets of prefixes, suffixes and substrings: which of them say something, and how dear they are to compare.

Theory of operation: prefixes are found by sorting, or by cutting a text to every length in use, so that sets
of a thousand take a time in proportion. Substrings and suffixes are compared in pairs; what a user may name
is bounded (`PARTS_LIMIT`).
"""

from collections.abc import Iterable
from typing import Final

CHARACTERS_A_STEP: Final = 16
"""Of a text that is compared or searched; a search takes one text's length times the other's at worst."""


def weight(texts: Iterable[str]) -> int:
    """Return the steps that going through the texts takes."""
    return sum(1 + len(text) // CHARACTERS_A_STEP for text in texts)


def lengths(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the lengths in use, the shortest first."""
    return tuple(sorted(set(map(len, texts))))


def starts_with_one(text: str, prefixes: frozenset[str], in_use: tuple[int, ...]) -> bool:
    """Tell whether the text starts with one of the prefixes, which have these lengths."""
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


def telling_suffixes(suffixes: frozenset[str], required: str, not_contains: frozenset[str]) -> frozenset[str]:
    """Leave out the forbidden suffixes that are forbidden or impossible anyway."""
    return frozenset(
        ending
        for ending in suffixes
        if ending.endswith(required)
        and not any(ending != other and ending.endswith(other) for other in suffixes)
        and not any(part in ending for part in not_contains)
    )
