"""How large a filter may be, and how much work: any peer may send it and every broker stores it.

Theory of operation: every operation that can grow faster than its input takes its steps in advance. A step is
about a tenth of a microsecond. Counts depend on the filters alone, so that every broker decides alike.

Laws:

* A budget that is exceeded ends the operation with `OverBudgetError`, which no caller of the package sees:
  parsing turns it into a `FilterError`, comparing into the answer on the safe side, simplifying into the form
  it had.
* A filter that was accepted is accepted again when it is printed and parsed: nothing but multiplying
  alternatives takes a large part of the budget for parsing.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from attrs import define

SIZE_LIMIT_BYTES = 8 * 1024
"""Of text in UTF-8: some 400 predicates, and small beside a frame."""

LEVELS_LIMIT = 64
"""Of brackets, and of `and`, `or` and `not` within each other: far beyond what a person reads, far below
Python's stack."""

CONJUNCTIONS_LIMIT = 256
"""After expansion; each is an entry in every matching index on the way."""

ELEMENT_LEVELS_LIMIT = 4
"""Of `any` and `all` within each other."""

DEPTH_LIMIT = 8
"""Levels of lists and maps that an attribute may have: every JSON document that people write has fewer."""

NAME_LIMIT_BYTES = 255
"""The longest attribute name that a publication can carry; no path is longer either."""

PARTS_LIMIT = 64
"""Substrings and unwanted suffixes that one conjunction names for one attribute: they are compared in pairs,
and every event of that attribute is searched for each."""

CONDITIONS_LIMIT = 32
"""Constraints on the elements of one list in one conjunction, for the same reasons; dearer than texts."""

CALLS_LIMIT = 32
"""Calls of constraint types on one attribute in one conjunction: they are compared in pairs."""

EXPANDING_STEPS: Final = 60_000
"""For the alternatives of one text that are multiplied and written out: 256 conjunctions of 8 attributes.
What is in proportion to the text is not counted here; it takes up to three times as many."""

SIMPLIFYING_STEPS: Final = 30_000
"""For one canonical form: 256 conjunctions of a few attributes. What takes more stays as it is written."""

ELEMENT_STEPS: Final = 10_000
"""For the canonical form of one condition on elements, which has at most 32 constraints."""

COMPARING_STEPS: Final = 30_000
"""For one question whether filters cover or overlap: 256 conjunctions beside 256 on a few attributes."""

READING_STEPS: Final = 4
"""A character of a filter: some 0.4 microseconds for scanning, Python's parser and the walk over its tree."""

PAIR_STEPS: Final = 8
"""Two constraints compared or intersected, of which neither lists anything."""

PREDICATE_STEPS: Final = 30
"""A predicate: its names and constants are looked at and become a constraint."""

CONSTRAINT_STEPS: Final = 10
"""A constraint of the result: it is sorted, hashed and compiled, and files an entry in every index on the
way. What it lists costs the same again for each."""


PREFIX_STEPS: Final = 10
"""A prefix of texts alone, which is compared without bringing it into canonical form."""

SHAPING_STEPS: Final = 80
"""A pattern of texts brought into canonical form."""

HOLE_STEPS: Final = 4
"""A text or prefix left out, which is sorted and trimmed in turn."""

CHARACTERS_A_STEP: Final = 16
"""Of a text that is compared or searched; a search takes one text's length times the other's at worst."""


def text_steps(texts: Iterable[str]) -> int:
    """Return the steps that going through the texts takes."""
    return sum([1 + len(text) // CHARACTERS_A_STEP for text in texts])


class Weighed(Protocol):
    """A constraint that knows how dear it is."""

    @property
    def weight(self) -> int:
        """Return the steps that going through all that it lists takes."""

    @property
    def trying(self) -> int:
        """Return the steps that trying one value takes."""

    @property
    def shaping(self) -> int:
        """Return the steps that its canonical form takes when it is intersected or united."""


def covering_steps(one: Weighed, other: Weighed) -> int:
    """Return the steps that deciding whether one constraint covers another takes at most."""
    return PAIR_STEPS + one.weight * (1 + other.trying) + other.weight * (1 + one.trying)


def shaping_steps(one: Weighed, other: Weighed) -> int:
    """Return the steps that intersecting or uniting two constraints takes, or deciding if they overlap."""
    covering = one.weight * (1 + other.trying) + other.weight * (1 + one.trying)
    return PAIR_STEPS + covering + one.shaping + other.shaping


class OverBudgetError(Exception):
    """An operation takes more steps than it may."""


@define
class Steps:
    """A budget. Without a limit it is for operations on a few constraints, whose size alone bounds them."""

    limit: int = 1 << 62
    spent: int = 0
    """How many steps were taken, those that exceeded the limit included."""

    def take(self, steps: int) -> None:
        """Take steps from the budget; raise `OverBudgetError` if there are not so many left."""
        self.spent += steps
        if self.spent > self.limit:
            raise OverBudgetError
