"""Unions of constraints on texts, so that equal interests get equal forms where that is cheap to see.

Laws:

* A union is exact: what cannot be written as one pattern without loss stays several constraints.
* Prefixes are kept as users write them: a bare prefix is never joined with a neighbour into a range, although
  what starts with "a" or with "b" is one interval too. It only gives up holes that another constraint fills.
* Joining goes on until nothing more can be joined, so a union of a union is itself.
"""

from collections.abc import Iterable, Iterator

from attrs import evolve

from broker.filters.intervals import Cut, Interval, after_prefix, contains, disjoint, ends_by, point
from broker.filters.texts import TextConstraint, TextPattern, TextSet, shaped, text_set

WINDOW = 64
"""A pattern is compared with so many that start before it: enough for what users write, linear for what
attackers do."""


def unite(constraints: Iterable[object]) -> list[TextConstraint]:
    """Return the union of constraints on texts."""
    values: frozenset[str] = frozenset()
    patterns: list[TextPattern] = []
    for constraint in constraints:
        if isinstance(constraint, TextSet):
            values |= constraint.values
        elif isinstance(constraint, TextPattern):
            patterns.append(constraint)
    patterns = _joined(patterns)
    while patterns and values:
        widened, left = _absorbed(patterns, values)
        if left == values:
            break
        patterns, values = _joined(widened), left
    rest = text_set(values)
    return [*patterns, *([] if rest is None else [rest])]


def _joined(patterns: list[TextPattern]) -> list[TextPattern]:
    """Join patterns until no two near each other can be joined."""
    while True:
        joined: list[TextPattern] = []
        for pattern in sorted(patterns, key=_position):
            for index in range(max(0, len(joined) - WINDOW), len(joined)):
                union = _union(joined[index], pattern)
                if union is not None:
                    joined[index] = union
                    break
            else:
                joined.append(pattern)
        if len(joined) == len(patterns):
            return joined
        patterns = joined


def _position(pattern: TextPattern) -> tuple[str, bool, str, str]:
    start, end = pattern.interval
    return start, end is None, end or "", pattern.printed("x")


def _absorbed(
    patterns: list[TextPattern], values: frozenset[str]
) -> tuple[list[TextPattern], frozenset[str]]:
    """Move every text into the patterns it belongs to or completes; return the patterns and what is left."""
    patterns = list(patterns)
    left: set[str] = set()
    for value in sorted(values):
        taken = False
        for index, pattern in enumerate(patterns):
            wider = _with_text(pattern, value)
            if wider is not None:
                patterns[index] = wider
                taken = True
        if not taken:
            left.add(value)
    return patterns, frozenset(left)


def _with_text(pattern: TextPattern, value: str) -> TextPattern | None:
    """Return the pattern with that text in addition, or None if it cannot be one pattern."""
    if pattern.accepts(value):
        return pattern
    if not pattern.accepts_ends(value):
        return None
    start, end = interval = pattern.interval
    if value in pattern.excluded:
        return _pattern(interval, evolve(pattern, excluded=pattern.excluded - {value}))
    first, after = point(value)
    if _is_prefix_shaped(pattern) or (value != end and after != start):
        return None
    return _pattern((min(first, start), after if value == end else end), pattern)


def _union(one: TextPattern, other: TextPattern) -> TextPattern | None:
    """Return both patterns as one, or None if that is not possible without loss."""
    if _ends(one) != _ends(other):
        return None
    interval = _joint_interval(one, other)
    if interval is None:
        return None
    excluded = _points_left(one, other) | _points_left(other, one) | _gap(one, other)
    prefixes = _prefixes_left(one, other), _prefixes_left(other, one)
    if prefixes[0] is None or prefixes[1] is None:
        return None
    return _pattern(interval, evolve(one, excluded=excluded, not_prefixes=prefixes[0] | prefixes[1]))


def _pattern(interval: Interval, rest: TextPattern) -> TextPattern | None:
    pattern = shaped(interval, rest)
    return pattern if isinstance(pattern, TextPattern) else None


def _ends(pattern: TextPattern) -> tuple[str, frozenset[str], frozenset[str], frozenset[str]]:
    return pattern.suffix, pattern.contains, pattern.not_suffixes, pattern.not_contains


def _is_prefix_shaped(pattern: TextPattern) -> bool:
    return pattern.low is None and pattern.high is None


def _joint_interval(one: TextPattern, other: TextPattern) -> Interval | None:
    """Return the interval that both make together, if it is right to make one."""
    left, right = one.interval, other.interval
    if contains(left, right):
        return left
    if contains(right, left):
        return right
    if _is_prefix_shaped(one) or _is_prefix_shaped(other):
        return None
    if disjoint(left, right) and left[1] != right[0] and right[1] != left[0] and not _gap(one, other):
        return None
    return min(left[0], right[0]), _later(left[1], right[1])


def _later(one: Cut, other: Cut) -> Cut:
    return other if ends_by(one, other) else one


def _gap(one: TextPattern, other: TextPattern) -> frozenset[str]:
    """Return the single text that parts two intervals, if that is what parts them."""
    for (_, end), (start, _) in (
        (one.interval, other.interval),
        (other.interval, one.interval),
    ):
        if end is not None and point(end)[1] == start:
            return frozenset((end,))
    return frozenset()


def _points_left(one: TextPattern, other: TextPattern) -> frozenset[str]:
    """Return the excluded texts of the first that the second does not fill."""
    return frozenset(text for text in one.excluded if not other.accepts(text))


def _prefixes_left(one: TextPattern, other: TextPattern) -> frozenset[str] | None:
    """Return the excluded prefixes of the first that the second leaves, None if it fills one in part."""
    left: set[str] = set()
    for prefix in one.not_prefixes:
        hole = (prefix, after_prefix(prefix))
        if disjoint(hole, other.interval) or any(contains(each, hole) for each in _holes(other)):
            left.add(prefix)
        elif not contains(other.interval, hole):
            return None
    return frozenset(left)


def _holes(pattern: TextPattern) -> Iterator[Interval]:
    return ((prefix, after_prefix(prefix)) for prefix in pattern.not_prefixes)
