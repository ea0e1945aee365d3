"""Constraints on texts: sets of texts, and patterns of bounds, prefix, suffix and substrings.

Theory of operation: texts are ordered by code point, and in that order a prefix is an interval too (see
`broker.filters.intervals`). Bounds, prefixes, and texts and prefixes left out are therefore one interval
with holes, on which every operation is exact. Suffixes and substrings are only compared with each other;
where that cannot decide, a pattern counts as satisfiable, which is the safe side (`covers` false,
`overlaps` true).

Laws:

* A pattern's prefix is the longest that its bounds imply, its bounds are only those that the prefix does not
  imply, no hole touches a bound, and nothing is listed that follows from the rest (`text_pattern`).
* Few texts are a set, never a pattern.
"""

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter
from typing import ClassVar, Final

from attrs import evolve, frozen

from broker.filters.intervals import (
    LAST,
    ZERO,
    Interval,
    after_prefix,
    bounds_of,
    contains,
    disjoint,
    earlier,
    interval_of,
    members,
    point,
    trimmed,
)
from broker.filters.limits import CHARACTERS_A_STEP, HOLE_STEPS, PREFIX_STEPS, SHAPING_STEPS, text_steps
from broker.filters.text_parts import (
    lengths,
    longest,
    printed_pattern,
    shorter_suffixes,
    shortest,
    shortest_prefixes,
    starts_with_one,
)
from broker.filters.values import printed_set

TRYING_STEPS: Final = 4
"""A text looked for among the excluded ones, and compared with two bounds and an affix."""


@frozen
class TextSet:
    """The attribute is one of these texts."""

    width: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

    values: frozenset[str]

    @cached_property
    def weight(self) -> int:
        """Return the steps that going through its texts takes."""
        return text_steps(self.values)

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return isinstance(value, str) and value in self.values

    def intersect(self, other: object) -> "TextSet | None":
        """Return what satisfies both, or None."""
        if isinstance(other, TextSet | TextPattern):
            return text_set(filter(other.accepts, self.values))
        return None

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        return isinstance(other, TextSet) and other.values <= self.values

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact."""
        if isinstance(other, TextSet):
            return not self.values.isdisjoint(other.values)
        return isinstance(other, TextPattern) and any(map(other.accepts, self.values))

    def complement(self) -> "tuple[TextConstraint, ...]":
        """Return the texts that do not satisfy it."""
        return _present(text_pattern(TextPattern(excluded=self.values)))

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return printed_set(name, self.values, "==", "in")

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (3, 0.0)


@frozen
class TextPattern:
    """The attribute is a text between the bounds that satisfies every listed pattern.

    Bounds compare by code point. A prefix that follows from a longer one is not listed, likewise for
    suffixes and substrings.
    """

    width: ClassVar[int] = 0

    low: str | None = None
    low_closed: bool = False
    high: str | None = None
    high_closed: bool = False
    prefix: str = ""
    suffix: str = ""
    contains: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    not_prefixes: frozenset[str] = frozenset()
    not_suffixes: frozenset[str] = frozenset()
    not_contains: frozenset[str] = frozenset()

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        if not isinstance(value, str) or value in self.excluded:
            return False
        start, end = self.interval
        if value < start or (end is not None and value >= end):
            return False
        return self.accepts_ends(value) and not self.forbids_start(value)

    def accepts_ends(self, value: str) -> bool:
        """Return whether the text satisfies what is demanded of its suffix and substrings."""
        return (
            value.endswith(self.suffix)
            and all(part in value for part in self.contains)
            and not value.endswith(self.unwanted_ends)
            and not any(part in value for part in self.not_contains)
        )

    def forbids_start(self, value: str) -> bool:
        """Return whether the text starts with a prefix that is left out."""
        return bool(self.not_prefixes) and starts_with_one(value, self.not_prefixes, self.prefix_lengths)

    @cached_property
    def unwanted_ends(self) -> tuple[str, ...]:
        """Return the suffixes that are left out, for `str.endswith`."""
        return tuple(self.not_suffixes)

    @cached_property
    def prefix_lengths(self) -> tuple[int, ...]:
        """Return the lengths of the prefixes that are left out, the shortest first."""
        return lengths(self.not_prefixes)

    @property
    def parts(self) -> int:
        """Return how many substrings and unwanted suffixes it names; they are compared in pairs."""
        return len(self.contains) + len(self.not_contains) + len(self.not_suffixes)

    @property
    def trying(self) -> int:
        """Return the steps that trying one text takes."""
        return TRYING_STEPS + (self._demands if self.parts else 0)

    @cached_property
    def _demands(self) -> int:
        return text_steps(self.contains) + text_steps(self.not_contains) + text_steps(self.not_suffixes)

    @property
    def weight(self) -> int:
        """Return the steps that going through all that it names takes; short bounds alone take none."""
        ends = len(self.low or "") + len(self.high or "") + len(self.prefix) + len(self.suffix)
        listed = self._listed_weight if self._lists_anything() else 0
        return ends // CHARACTERS_A_STEP + listed

    @cached_property
    def _listed_weight(self) -> int:
        return self._demands + text_steps(self.excluded) + text_steps(self.not_prefixes)

    @property
    def shaping(self) -> int:
        """Return the steps that bringing its union or intersection with another into canonical form takes."""
        return PREFIX_STEPS if self.is_bare_prefix() else SHAPING_STEPS + HOLE_STEPS * self.weight

    @cached_property
    def interval(self) -> Interval:
        """Return the interval of the bounds and the prefix, holes not counted."""
        return interval_of(self.prefix, self.low, self.low_closed, self.high, self.high_closed)

    def is_bare_prefix(self) -> bool:
        """Return whether nothing but a prefix is demanded."""
        return self.low is None and self.high is None and not self.suffix and not self._lists_anything()

    def _lists_anything(self) -> bool:
        holes = self.excluded or self.not_prefixes
        return bool(holes or self.contains or self.not_suffixes or self.not_contains)

    def intersect(self, other: object) -> "TextConstraint | None":
        """Return what satisfies both, or None."""
        if isinstance(other, TextSet):
            return other.intersect(self)
        return _both(self, other) if isinstance(other, TextPattern) else None

    def covers(self, other: object) -> bool:
        """Return whether all that satisfies the other satisfies this; exact without suffix and substring."""
        if isinstance(other, TextSet):
            return all(map(self.accepts, other.values))
        if not isinstance(other, TextPattern):
            return False
        if not contains(self.interval, other.interval):
            return False
        return _ends_cover(self, other) and _holes_cover(self, other)

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact without suffix and substring."""
        if not isinstance(other, TextPattern):
            return isinstance(other, TextSet) and other.overlaps(self)
        if disjoint(self.interval, other.interval):
            return False
        if self.is_bare_prefix() and other.is_bare_prefix():
            return True
        return _both(self, other) is not None

    def complement(self) -> "tuple[TextConstraint, ...]":
        """Return the texts that do not satisfy it: each demand is negated in turn."""
        raw: list[TextPattern] = []
        if self.low is not None:
            raw.append(TextPattern(high=self.low, high_closed=not self.low_closed))
        if self.high is not None:
            raw.append(TextPattern(low=self.high, low_closed=not self.high_closed))
        if self.prefix:
            raw.append(TextPattern(not_prefixes=frozenset((self.prefix,))))
        if self.suffix:
            raw.append(TextPattern(not_suffixes=frozenset((self.suffix,))))
        raw.extend(TextPattern(not_contains=frozenset((part,))) for part in sorted(self.contains))
        raw.extend(TextPattern(prefix=part) for part in sorted(self.not_prefixes))
        raw.extend(TextPattern(suffix=part) for part in sorted(self.not_suffixes))
        raw.extend(TextPattern(contains=frozenset((part,))) for part in sorted(self.not_contains))
        left_out = (TextSet(self.excluded),) if self.excluded else ()
        return _present(*map(text_pattern, raw), *left_out)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return printed_pattern(self, name)

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (4, 0.0)


TextConstraint = TextSet | TextPattern


def text_set(texts: Iterable[str]) -> TextSet | None:
    """Return the set of those texts, or None if there are none."""
    values = frozenset(texts)
    return TextSet(values) if values else None


def text_pattern(raw: TextPattern) -> TextConstraint | None:
    """Bring a pattern into canonical form, or return None where it is seen that nothing satisfies it."""
    return raw if _is_canonical(raw) else shaped(raw.interval, raw)


def _is_canonical(raw: TextPattern) -> bool:
    """Decide at once what is the commonest: a single bound, affix or substring, or unwanted texts.

    The ends of all texts are left out: nothing comes before the empty text, and a last character has no next.
    """
    if raw.not_prefixes or raw.not_suffixes or raw.not_contains or len(raw.contains) > 1:
        return False
    named = [text for text in (raw.low, raw.high, raw.prefix, raw.suffix, *raw.contains) if text]
    if len(named) + bool(raw.excluded) != 1 or "" in raw.excluded or raw.low == "" or raw.high == "":
        return False
    return not named or not (named[0].endswith((ZERO, LAST)) or named[0].startswith(LAST))


def shaped(interval: Interval, raw: TextPattern) -> TextConstraint | None:
    """Return the texts of the interval that satisfy all else of the pattern; its own bounds are ignored."""
    holes = [*_cylinders(raw), *map(point, raw.excluded)]
    rest = trimmed(interval, holes)
    if rest is None:
        return None
    few = members(rest)
    if few is not None:
        return text_set(
            text
            for text in few
            if raw.accepts_ends(text) and text not in raw.excluded and not raw.forbids_start(text)
        )
    prefix, low, low_closed, high, high_closed = bounds_of(rest)
    if _contradicts_itself(prefix, raw):
        return None
    not_contains = shortest(raw.not_contains)
    solid = TextPattern(
        low=low,
        low_closed=low_closed,
        high=high,
        high_closed=high_closed,
        prefix=prefix,
        suffix=raw.suffix,
        contains=longest(raw.contains, (prefix, raw.suffix)),
        not_suffixes=shorter_suffixes(raw.not_suffixes, raw.suffix, not_contains),
        not_contains=not_contains,
    )
    return _with_holes(solid, raw) if holes else solid


def _contradicts_itself(prefix: str, raw: TextPattern) -> bool:
    required = (prefix, raw.suffix, *raw.contains)
    return raw.suffix.endswith(raw.unwanted_ends) or any(
        part in text for part in raw.not_contains for text in required
    )


def _with_holes(solid: TextPattern, raw: TextPattern) -> TextPattern:
    """Add the holes that cut something out; the interval is trimmed, so none straddles its ends."""
    start, end = solid.interval
    not_prefixes = frozenset(
        prefix
        for prefix in shortest_prefixes(raw.not_prefixes)
        if start < prefix
        and (end is None or prefix < end)
        and not any(part in prefix for part in solid.not_contains)
    )
    in_use = lengths(not_prefixes)
    excluded = frozenset(
        text
        for text in raw.excluded
        if solid.accepts(text) and not starts_with_one(text, not_prefixes, in_use)
    )
    return evolve(solid, not_prefixes=not_prefixes, excluded=excluded)


def _cylinders(pattern: TextPattern) -> list[Interval]:
    """Return the intervals of the prefixes left out."""
    return [(prefix, after_prefix(prefix)) for prefix in pattern.not_prefixes]


def _both(one: TextPattern, other: TextPattern) -> TextConstraint | None:
    if disjoint(one.interval, other.interval):
        return None
    if one.is_bare_prefix() and other.is_bare_prefix():
        return one if len(one.prefix) > len(other.prefix) else other
    shorter, longer = sorted((one.suffix, other.suffix), key=len)
    if not longer.endswith(shorter):
        return None
    (one_start, one_end), (other_start, other_end) = one.interval, other.interval
    interval = max(one_start, other_start), earlier(one_end, other_end)
    raw = TextPattern(
        suffix=longer,
        contains=one.contains | other.contains,
        excluded=one.excluded | other.excluded,
        not_prefixes=one.not_prefixes | other.not_prefixes,
        not_suffixes=one.not_suffixes | other.not_suffixes,
        not_contains=one.not_contains | other.not_contains,
    )
    return text_pattern(raw) if interval == raw.interval else shaped(interval, raw)


def _ends_cover(one: TextPattern, other: TextPattern) -> bool:
    """Return whether the other's suffix and substrings imply what the first demands of them."""
    present = (other.prefix, other.suffix, *other.contains)
    return (
        other.suffix.endswith(one.suffix)
        and all(any(part in text for text in present) for part in one.contains)
        and all(_lacks_suffix(other, ending) for ending in one.not_suffixes)
        and all(any(lacked in part for lacked in other.not_contains) for part in one.not_contains)
    )


def _lacks_suffix(pattern: TextPattern, ending: str) -> bool:
    return (
        not (ending.endswith(pattern.suffix) or pattern.suffix.endswith(ending))
        or ending.endswith(pattern.unwanted_ends)
        or any(part in ending for part in pattern.not_contains)
    )


def _holes_cover(one: TextPattern, other: TextPattern) -> bool:
    """Return whether the other has nothing in the holes of the first."""
    if any(map(other.accepts, one.excluded)):
        return False
    if not one.not_prefixes:
        return True
    holes = sorted([*_cylinders(other), *map(point, other.excluded)], key=itemgetter(0))
    return all(_lacks_prefix(other, prefix, holes) for prefix in one.not_prefixes)


def _lacks_prefix(pattern: TextPattern, prefix: str, holes: list[Interval]) -> bool:
    """Return whether no text of the pattern starts with the prefix; the holes are the pattern's, in order."""
    if pattern.forbids_start(prefix) or any(part in prefix for part in pattern.not_contains):
        return True
    (start, end), after = pattern.interval, after_prefix(prefix)
    first = bisect_left(holes, prefix, key=itemgetter(0))
    last = len(holes) if after is None else bisect_left(holes, after, first, key=itemgetter(0))
    return trimmed((max(start, prefix), earlier(end, after)), holes[first:last]) is None


def _present(*parts: TextConstraint | None) -> tuple[TextConstraint, ...]:
    return tuple(part for part in parts if part is not None)
