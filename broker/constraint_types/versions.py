"""Semantic versions: `version(v, '>=1.2,<2')`, with one range or several.

An attribute is a version if it is one by semver.org 2.0.0: `1.2.3`, `1.2.3-rc.1`, `1.2.3+build`. Builds do
not count. What is asked for is a set of versions in the order of semver.org, whichever ranges it was written
with; so 2.0.0-rc.1 is before 2 and after 1.9.

Law: a set is written by its bounds, and negated too; so it is compared exactly, but for bounds without any
version between them.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import ClassVar, Final

from broker.constraint_types.spans import (
    Spans,
    VersionCut,
    common,
    holds,
    includes,
    meets,
    united,
    without,
)
from broker.filters.constraint_types import ArgumentError, Call, ConstraintType, Kind
from broker.filters.values import Scalar, Value

VersionSet = Spans[VersionCut]
VersionKey = tuple[float, int, int, int, tuple[tuple[int, int, str], ...]]

IN_VERSION: Final = "version"

_DIGITS: Final = 15
"""Of one number in a version; dates and times have fewer."""

_NUMBER: Final = rf"0|[1-9]\d{{0,{_DIGITS - 1}}}"
_PART: Final = r"[0-9A-Za-z-]+"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?(?:\+{_PART}(?:\.{_PART})*)?",
    re.ASCII,
)
_RANGE: Final = re.compile(
    rf"\s*(>=|<=|==|!=|>|<|\^|~|)\s*"
    rf"(?:({_NUMBER})(?:\.({_NUMBER})(?:\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?)?)?)?(\.?\*)?\s*",
    re.ASCII,
)
_ADVICE: Final = "write bounds like '>=1.2,<2', or '1.*', '^1.2', '~1.2.3'"

_KEPT: Final = 4096
"""Versions that were read lately: events have the same ones again and again."""

_LOWEST: Final[VersionCut] = ((0, 0, 0, 0, ((0, 0, ""),)), 0)
_END: Final[VersionCut] = ((inf, 0, 0, 0, ()), 0)
_ALL: Final[VersionSet] = ((_LOWEST, _END),)

_RELEASE: Final = 1
_BEFORE_RELEASE: Final = ((0, 0, ""),)
"""What comes after the hyphen in the first version of all that lead to a release."""

_MAJORS_A_SPAN: Final = 4
"""A span over more major versions is looked up with all others like it."""


class Versions(ConstraintType[VersionSet, VersionKey]):
    """Sets of versions."""

    predicates: ClassVar[tuple[str, ...]] = (IN_VERSION,)
    kind: ClassVar[Kind] = "text"
    everything: VersionSet = _ALL

    def parse(self, predicate: str, arguments: Sequence[Scalar]) -> VersionSet | None:
        """Read ranges: bounds with commas between them, which hold together."""
        if not arguments:
            raise ArgumentError(f"it takes one range or several; write {predicate}(v, '>=1.2,<2')")
        return united(span for at, each in enumerate(arguments) for span in _range(at, each)) or None

    def printed(self, content: VersionSet) -> Call:
        """Write each span by its bounds."""
        return IN_VERSION, tuple(_printed(*each) for each in content)

    def read(self, value: Value) -> VersionKey | None:
        """Read a version."""
        return _read(value) if isinstance(value, str) else None

    def match(self, content: VersionSet, subject: VersionKey) -> bool:
        """Return whether the version is in one of the spans."""
        return holds(content, (subject, 0))

    def covers(self, one: VersionSet, other: VersionSet) -> bool:
        """Compare the bounds."""
        return includes(one, other)

    def overlaps(self, one: VersionSet, other: VersionSet) -> bool:
        """Compare the bounds."""
        return meets(one, other)

    def intersect(self, one: VersionSet, other: VersionSet) -> VersionSet:
        """Return the versions of both."""
        return common(one, other)

    def merge(self, one: VersionSet, other: VersionSet) -> VersionSet:
        """Return the versions of either."""
        return united((*one, *other))

    def subtract(self, one: VersionSet, other: VersionSet) -> VersionSet:
        """Return the versions of the first alone."""
        return without(one, other)

    def weight(self, content: VersionSet) -> int:
        """Return how many spans there are."""
        return len(content)

    def cells(self, content: VersionSet) -> Iterable[Hashable]:
        """Return the major versions of each span, if they are few."""
        found: dict[Hashable, None] = {}
        for (first, _), (last, _) in content:
            if last[0] - first[0] < _MAJORS_A_SPAN:
                found |= dict.fromkeys(range(int(first[0]), int(last[0]) + 1))
            else:
                found[None] = None
        return found

    def cells_of(self, subject: VersionKey) -> Iterable[Hashable]:
        """Return the major version, and what has too many of them."""
        return (None, subject[0])

    def examples(self, content: VersionSet) -> Iterator[Value]:
        """Yield the bounds, and what comes behind the first one."""
        for (first, _), (last, _) in content:
            yield _text(first)
            yield f"{first[0]}.{first[1]}.{first[2] + 1}"
            if last[0] != inf:
                yield _text(last)


VERSIONS: Final = Versions()


@lru_cache(_KEPT)
def _read(text: str) -> VersionKey | None:
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    major, minor, patch, before = found.groups()
    parts = _parts(before)
    return None if parts is None else (int(major), int(minor), int(patch), int(not parts), parts)


def _parts(before: str | None) -> tuple[tuple[int, int, str], ...] | None:
    """Return what stands behind the hyphen in its order, None if a number in it is not written as one."""
    found: list[tuple[int, int, str]] = []
    for part in before.split(".") if before else ():
        if not part.isdigit():
            found.append((1, 0, part))
        elif len(part) > _DIGITS or (part[0] == "0" and part != "0"):
            return None
        else:
            found.append((0, int(part), ""))
    return tuple(found)


def _range(at: int, argument: Scalar) -> VersionSet:
    """Read bounds that hold together."""
    if not isinstance(argument, str):
        raise ArgumentError(f"a range is a text; {_ADVICE}", at)
    spans = _ALL
    for bound in argument.split(","):
        found = _RANGE.fullmatch(bound)
        numbers = [] if found is None else [int(each) for each in found.group(2, 3, 4) if each is not None]
        parts = None if found is None else _parts(found[5])
        if found is None or parts is None or not _is_bound(found[1], numbers, found[6], found[5]):
            raise ArgumentError(f"{bound.strip()!r} is no bound of versions; {_ADVICE}", at)
        spans = common(spans, _bound(found[1], numbers, parts, has_star=found[6] is not None))
    return spans


def _is_bound(sign: str, numbers: Sequence[int], star: str | None, before: str | None) -> bool:
    """Return whether a star stands alone or behind a number but the last, and all else has numbers."""
    if star is None:
        return bool(numbers)
    has_place = star.startswith(".") == bool(numbers) and len(numbers) < 3  # noqa: PLR2004 - one is left
    return has_place and sign in {"", "==", "!="} and before is None


def _bound(
    sign: str, numbers: Sequence[int], parts: tuple[tuple[int, int, str], ...], *, has_star: bool
) -> VersionSet:
    """Return the versions that one bound allows; numbers left out are 0."""
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    key: VersionKey = (major, minor, patch, int(not parts), parts)
    before, after = (key, 0), (key, 1)
    if has_star:
        alike: VersionSet = ((before, _next(numbers)),) if numbers else _ALL
        return without(_ALL, alike) if sign == "!=" else alike
    leading = next((at for at, each in enumerate(numbers) if each), len(numbers) - 1)
    spans = {
        ">=": [(max(before, _LOWEST), _END)],
        ">": [(after, _END)],
        "<": [(_LOWEST, before)],
        "<=": [(_LOWEST, after)],
        "!=": [(_LOWEST, before), (after, _END)],
        "^": [(before, _next(numbers[: leading + 1]))],
        "~": [(before, _next(numbers[:2]))],
    }
    return united(spans.get(sign, [(before, after)]))


def _next(numbers: Sequence[int]) -> VersionCut:
    """Return where versions begin that have a larger number in the last of these places."""
    major, minor, patch = (*numbers[:-1], numbers[-1] + 1, 0, 0)[:3]
    return (major, minor, patch, 0, _BEFORE_RELEASE), 0


def _printed(first: VersionCut, last: VersionCut) -> str:
    if first[0] == last[0]:
        return f"=={_text(first[0])}"
    bounds = [] if first == _LOWEST else [f"{'>' if first[1] else '>='}{_text(first[0])}"]
    if last != _END:
        bounds.append(f"{'<=' if last[1] else '<'}{_text(last[0])}")
    return ",".join(bounds) or "*"


def _text(key: VersionKey) -> str:
    major, minor, patch, release, parts = key
    before = ".".join(text or str(number) for _, number, text in parts)
    return f"{major}.{minor}.{patch}" + ("" if release == _RELEASE else f"-{before}")
