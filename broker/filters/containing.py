"""What contains texts: a text of which they are parts, or a list of which they are elements.

Theory of operation: it is what `'fire' in x` says while nothing else shows which of the two x is. Intersected
with a constraint of either type, it becomes that type's.
"""

from functools import cached_property
from typing import ClassVar

from attrs import frozen

from broker.filters.lists import Alternatives, ListPattern, element_set, list_pattern
from broker.filters.texts import TextConstraint, TextPattern, TextSet, text_pattern


@frozen
class Containing:
    """The attribute contains all of some texts and none of others."""

    width: ClassVar[int] = 1

    present: frozenset[str]
    absent: frozenset[str] = frozenset()

    @cached_property
    def as_text(self) -> TextPattern:
        """Return the texts among what satisfies it."""
        pattern = text_pattern(TextPattern(contains=self.present, not_contains=self.absent))
        assert isinstance(pattern, TextPattern), "what no text satisfies is a constraint on lists"
        return pattern

    @cached_property
    def as_list(self) -> ListPattern:
        """Return the lists among what satisfies it."""
        return _as_list(self.present, self.absent)

    @property
    def parts(self) -> int:
        """Return how many texts it names; they are compared in pairs."""
        return len(self.present) + len(self.absent)

    @property
    def weight(self) -> int:
        """Return the steps that going through all that it names takes."""
        return self.as_text.weight

    @property
    def trying(self) -> int:
        """Return the steps that trying one value takes."""
        return self.as_text.trying

    @property
    def shaping(self) -> int:
        """Return the steps that bringing an intersection with another into canonical form takes."""
        return self.as_text.shaping

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return self.as_text.accepts(value) or self.as_list.accepts(value)

    def intersect(self, other: object) -> "Containing | TextConstraint | ListPattern | None":
        """Return what satisfies both, or None."""
        if isinstance(other, Containing):
            return containing(self.present | other.present, self.absent | other.absent)
        if isinstance(other, TextSet | TextPattern):
            return self.as_text.intersect(other)
        return self.as_list.intersect(other)

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        if isinstance(other, Containing):
            return self.as_text.covers(other.as_text) and self.as_list.covers(other.as_list)
        return self.as_text.covers(other) or self.as_list.covers(other)

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both."""
        return self.intersect(other) is not None

    def complement(self) -> tuple[TextConstraint | ListPattern, ...]:
        """Return the texts and lists that do not satisfy it."""
        return (*self.as_text.complement(), *self.as_list.complement())

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        present = [f"{text!r} in {name}" for text in sorted(self.present)]
        return " and ".join([*present, *(f"{text!r} not in {name}" for text in sorted(self.absent))])

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (4, 1.0)


def containing(present: frozenset[str], absent: frozenset[str]) -> Containing | ListPattern | None:
    """Return what contains these texts and not those, or None if nothing does."""
    if present & absent:
        return None
    if text_pattern(TextPattern(contains=present, not_contains=absent)) is None:
        return list_pattern(_as_list(present, absent))
    return Containing(present, absent)


def _as_list(present: frozenset[str], absent: frozenset[str]) -> ListPattern:
    """No element is two of the texts, so nothing here follows from anything else."""
    return ListPattern(some=_elements(present), none=_elements(absent))


def _elements(texts: frozenset[str]) -> frozenset[Alternatives]:
    return frozenset(element_set([TextSet(frozenset((text,)))]) for text in texts)
