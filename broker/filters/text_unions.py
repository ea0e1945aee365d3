"""Unions of constraints on texts, so that equal interests get equal forms where that is cheap to see.

Laws:

* A union is exact: what cannot be written as one pattern without loss stays several constraints.
* Prefixes are kept as users write them: a bare prefix is never joined with a neighbour into a range, although
  what starts with "a" or with "b" is one interval too. It only gives up holes that another constraint fills.
* Joining goes on until nothing more can be joined, so a union of a union is itself.
"""

from bisect import bisect_left
from collections.abc import Iterable

from attrs import evolve

from broker.filters.intervals import (
    ZERO,
    Cut,
    Interval,
    after_prefix,
    contains,
    disjoint,
    ends_by,
    point,
)
from broker.filters.limits import CONSTRAINT_STEPS, Steps, shaping_steps
from broker.filters.texts import TextConstraint, TextPattern, TextSet, shaped, text_set

WINDOW = 64
"""A pattern is compared with so many that start before it and may reach it: enough for what users write,
linear for what attackers do."""

Ends = tuple[str, frozenset[str], frozenset[str], frozenset[str]]


def unite(constraints: Iterable[object], steps: Steps | None = None) -> list[TextConstraint]:
    """Return the union of constraints on texts; raise `OverBudgetError` if it takes more steps."""
    steps = steps or Steps()
    values: frozenset[str] = frozenset()
    patterns: list[TextPattern] = []
    for constraint in constraints:
        if isinstance(constraint, TextSet):
            values |= constraint.values
        elif isinstance(constraint, TextPattern):
            patterns.append(constraint)
    patterns = _joined(patterns, steps)
    while patterns and values:
        widened, left = _absorbed(patterns, values, steps)
        if left == values:
            break
        patterns, values = _joined(widened, steps), left
    rest = text_set(values)
    return [*patterns, *([] if rest is None else [rest])]


def _joined(patterns: list[TextPattern], steps: Steps) -> list[TextPattern]:
    """Join patterns until none that reach each other can be joined."""
    by_ends: dict[Ends, list[TextPattern]] = {}
    for pattern in patterns:
        by_ends.setdefault(_ends(pattern), []).append(pattern)
    joined: list[TextPattern] = []
    for group in by_ends.values():
        count = 0
        while len(group) != count:
            count = len(group)
            group = _joined_once(group, steps)  # noqa: PLW2901 - until it is joined
        joined += group
    return joined


def _joined_once(patterns: list[TextPattern], steps: Steps) -> list[TextPattern]:
    """Join each pattern with the first before it that it can be joined with; all have the same ends."""
    if len(patterns) == 1:
        return patterns
    joined: list[TextPattern] = []
    reaching: list[int] = []
    for pattern in sorted(patterns, key=_position):
        steps.take(CONSTRAINT_STEPS + pattern.weight)
        reaching = [index for index in reaching if _reaches(joined[index], pattern)][-WINDOW:]
        for index in reaching:
            steps.take(shaping_steps(joined[index], pattern))
            union = _union(joined[index], pattern)
            if union is not None:
                joined[index] = union
                break
        else:
            reaching.append(len(joined))
            joined.append(pattern)
    return joined


def _reaches(one: TextPattern, later: TextPattern) -> bool:
    """Return whether a pattern goes on to where one that starts no earlier does, a single text left out."""
    end = one.interval[1]
    return end is None or later.interval[0] <= end + ZERO


def _position(pattern: TextPattern) -> tuple[str, bool, str, str]:
    start, end = pattern.interval
    return start, end is None, end or "", pattern.printed("x")


def _absorbed(
    patterns: list[TextPattern], values: frozenset[str], steps: Steps
) -> tuple[list[TextPattern], frozenset[str]]:
    """Move every text into the patterns it belongs to or completes; return the patterns and what is left."""
    ordered = sorted(values)
    left = set(values)
    widened: list[TextPattern] = []
    for pattern in patterns:
        start, end = pattern.interval
        first = bisect_left(ordered, start)
        last = len(ordered) if end is None else bisect_left(ordered, end, first)
        steps.take(CONSTRAINT_STEPS + pattern.shaping + (last - first) * (1 + pattern.trying))
        wider, taken = _with_texts(pattern, ordered[first:last], values)
        widened.append(wider)
        left -= taken
    return widened, frozenset(left)


def _with_texts(
    pattern: TextPattern, within: list[str], values: frozenset[str]
) -> tuple[TextPattern, frozenset[str]]:
    """Return the pattern with the texts that belong to it or complete it, and those texts.

    They are the ones within its interval that it accepts or excludes, and those that lengthen the interval.
    """
    filled = frozenset(text for text in within if text in pattern.excluded and pattern.accepts_ends(text))
    accepted = frozenset(text for text in within if text not in filled and pattern.accepts(text))
    interval, added = _lengthened(pattern, values)
    if not filled and not added:
        return pattern, accepted
    wider = _pattern(interval, evolve(pattern, excluded=pattern.excluded - filled))
    return (pattern, accepted) if wider is None else (wider, accepted | filled | added)


def _lengthened(pattern: TextPattern, values: frozenset[str]) -> tuple[Interval, frozenset[str]]:
    """Return the interval with the texts that lie at its ends, and those texts; a prefix is kept as it is."""
    start, end = pattern.interval
    added: set[str] = set()
    if not _is_prefix_shaped(pattern):
        while end is not None and end in values and pattern.accepts_ends(end):
            added.add(end)
            end += ZERO
        while start.endswith(ZERO) and start[:-1] in values and pattern.accepts_ends(start[:-1]):
            start = start[:-1]
            added.add(start)
    return (start, end), frozenset(added)


def _union(one: TextPattern, other: TextPattern) -> TextPattern | None:
    """Return both patterns as one, or None if that is not possible without loss; their ends are the same."""
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


def _ends(pattern: TextPattern) -> Ends:
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
        if disjoint(hole, other.interval) or other.forbids_start(prefix):
            left.add(prefix)
        elif not contains(other.interval, hole):
            return None
    return frozenset(left)
