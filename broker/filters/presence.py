"""Constraints on whether an attribute is there, and whether it is null."""

from typing import TYPE_CHECKING, ClassVar

from attrs import frozen

from broker.filters.values import MISSING

if TYPE_CHECKING:
    from broker.filters.constraints import Constraint


@frozen
class AnyValue:
    """The attribute exists, with any value: `exists(x)`.

    It reaches over all types of value, and not-a-number satisfies it.
    """

    width: ClassVar[int] = 4
    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return value is not MISSING

    def intersect(self, other: "Constraint") -> "Constraint":
        """Return what satisfies both."""
        return other

    def covers(self, _other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this."""
        return True

    def overlaps(self, _other: object) -> bool:
        """Return whether some value satisfies both."""
        return True

    def complement(self) -> tuple[()]:
        """Return the values of the same type that do not satisfy it: there are none."""
        return ()

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return f"exists({name})"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (0, 0.0)


@frozen
class NotNull:
    """The attribute exists, with any value but null: `x is not None`. Not-a-number satisfies it."""

    width: ClassVar[int] = 3
    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return value is not MISSING and value is not None

    def intersect(self, other: "Constraint") -> "Constraint | None":
        """Return what satisfies both, or None."""
        return None if isinstance(other, Null) else other

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        return not isinstance(other, Null | AnyValue)

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact."""
        return not isinstance(other, Null)

    def complement(self) -> tuple[()]:
        """Return the values of the same types that do not satisfy it: there are none."""
        return ()

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return f"{name} is not None"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (0, 1.0)


@frozen
class Null:
    """The attribute is null: `x is None`. One that is absent is not."""

    width: ClassVar[int] = 0
    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return value is None

    def intersect(self, other: object) -> "Null | None":
        """Return what satisfies both, or None."""
        return self if isinstance(other, Null) else None

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        return isinstance(other, Null)

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact."""
        return isinstance(other, Null)

    def complement(self) -> tuple[()]:
        """Return the values of the same type that do not satisfy it: there are none."""
        return ()

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return f"{name} is None"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (0, 2.0)
