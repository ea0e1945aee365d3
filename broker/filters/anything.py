"""The constraint that every value satisfies: `exists(x)`.

It is the only one that reaches over all types of value and the only one that not-a-number satisfies.
"""

from typing import ClassVar

from attrs import frozen

from broker.filters.values import Attributes, Matcher


@frozen
class AnyValue:
    """The attribute exists, whatever its value: `exists(x)`."""

    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0

    def accepts(self, value: object) -> bool:
        """Tell whether the value satisfies the constraint; None stands for a missing attribute."""
        return value is not None

    def reader(self, name: str) -> Matcher:
        """Make the test of that attribute as fast as can be."""

        def present(attributes: Attributes) -> bool:
            return name in attributes

        return present

    def intersect(self, other: object) -> "AnyValue | None":
        """Return what satisfies both, or None: other types are narrower and answer for themselves."""
        return self if isinstance(other, AnyValue) else None

    def covers(self, other: object) -> bool:
        """Tell whether everything that satisfies the other satisfies this."""
        return other is not None

    def overlaps(self, other: object) -> bool:
        """Tell whether some value satisfies both."""
        return other is not None

    def complement(self) -> tuple[()]:
        """Return the values of the same type that do not satisfy it: there are none."""
        return ()

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return f"exists({name})"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (0, 0.0)
