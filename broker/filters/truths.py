"""Constraints on truth values. They are distinct from numbers, although Python says `True == 1`."""

from collections.abc import Iterable
from typing import ClassVar

from attrs import frozen

from broker.filters.values import Attributes, Matcher, listed

BOTH = frozenset((False, True))


@frozen
class Truths:
    """The attribute is one of these truth values."""

    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0

    values: frozenset[bool]

    def accepts(self, value: object) -> bool:
        """Tell whether the value satisfies the constraint."""
        return isinstance(value, bool) and value in self.values

    def reader(self, name: str) -> Matcher:
        """Make the test of that attribute as fast as can be."""
        if len(self.values) > 1:
            return lambda attributes: isinstance(attributes.get(name), bool)
        (truth,) = self.values

        def same(attributes: Attributes) -> bool:
            return attributes.get(name) is truth

        return same

    def intersect(self, other: object) -> "Truths | None":
        """Return what satisfies both, or None."""
        return _truths(self.values & other.values) if isinstance(other, Truths) else None

    def covers(self, other: object) -> bool:
        """Tell whether everything that satisfies the other satisfies this; exact."""
        return isinstance(other, Truths) and other.values <= self.values

    def overlaps(self, other: object) -> bool:
        """Tell whether some value satisfies both; exact."""
        return isinstance(other, Truths) and not self.values.isdisjoint(other.values)

    def complement(self) -> tuple["Truths", ...]:
        """Return the truth values that do not satisfy it."""
        rest = _truths(BOTH - self.values)
        return () if rest is None else (rest,)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        if len(self.values) == 1:
            return f"{name} == {next(iter(self.values))!r}"
        return f"{name} in {listed([repr(truth) for truth in sorted(self.values)])}"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (5, 0.0)


def unite(constraints: Iterable[object]) -> list[Truths]:
    """Return the union of constraints on truth values."""
    united: frozenset[bool] = frozenset()
    for constraint in constraints:
        if isinstance(constraint, Truths):
            united |= constraint.values
    return [Truths(united)] if united else []


def _truths(values: frozenset[bool]) -> Truths | None:
    return Truths(values) if values else None
