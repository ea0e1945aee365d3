"""The interface of constraint types: what a predicate of another distribution says, and what follows from it.

A type has predicates, which stand in filters as calls: `in_network(ip, '10.0.0.0/8')`. What a call demands is
a *content*: a value of the type's own class that can be hashed and never changes. The filter language
puts contents together: it negates and joins them, also with predicates of its own on the same attribute.

Theory of operation: a value of the right kind is read once (`read`), and what came out, the *subject*, is
tried on contents (`match`). A value that is not of the type satisfies no content, negated or not.

Laws, which `concord.testing.check_constraint_type` tries:

* Nothing depends on clocks, chance, files or the order of hashes: every broker says the same.
* Contents with equal meanings are equal where that is cheap to see. What `printed` writes, `parse` reads as
  the same content.
* `covers` may be false in doubt and `overlaps` true. `intersect`, `merge` and `subtract` are exact, or
  None.
* Every value that satisfies a content is found under a cell of that content.
* No operation takes a time that grows faster than the texts that the contents came from.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, Final, Generic, Literal, TypeVar

from broker.filters.values import Scalar, Value

GROUP: Final = "concord.constraints"
"""The entry points that name constraint types."""

INTERFACE_VERSION: Final = 1
"""Changes when types that were written for an earlier version would not work with this one."""

Kind = Literal["text", "number", "list", "map"]
"""The type of value that a constraint type speaks of."""

Content = TypeVar("Content", bound=Hashable)
Subject = TypeVar("Subject")

Call = tuple[str, tuple[Scalar, ...]]
"""The name of a predicate and its arguments, without the attribute."""


class ArgumentError(ValueError):
    """A predicate cannot take an argument: what is wrong, and what to write instead.

    `position` is the argument's, from 0; None means all of them.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class ConstraintType(ABC, Generic[Content, Subject]):
    """A constraint type. What has a default here is answered on the safe side by it.

    An entry point of the group `concord.constraints` names an object of a class like this; the entry
    point's name is the name of the type. A class may say for which version of this interface it was written
    (`INTERFACE_VERSION`), and which version of its own meaning it has (`VERSION`), which neighbours must
    share. Both are 1 if it does not say.
    """

    predicates: ClassVar[tuple[str, ...]]
    """The names of its predicates."""

    kind: ClassVar[Kind]
    """What values have to be, so that they are read at all."""

    everything: Content
    """What every value of this type satisfies."""

    @abstractmethod
    def parse(self, predicate: str, arguments: Sequence[Scalar]) -> Content | None:
        """Return what a call demands, None if nothing can satisfy it.

        Raises:
            ArgumentError: the arguments are none that this predicate takes.
        """

    @abstractmethod
    def printed(self, content: Content) -> Call:
        """Return the call that demands this, at most sixteen times as long as the one that was parsed."""

    @abstractmethod
    def read(self, value: Value) -> Subject | None:
        """Return what a value of the kind is to this type, None if it is no value of this type."""

    @abstractmethod
    def match(self, content: Content, subject: Subject) -> bool:
        """Return whether the subject satisfies the content."""

    def covers(self, one: Content, other: Content) -> bool:
        """Return whether everything that satisfies the other satisfies the first; false in doubt."""
        return one in {other, self.everything}

    def overlaps(self, one: Content, other: Content) -> bool:  # noqa: ARG002 - in doubt they do
        """Return whether something satisfies both; true in doubt."""
        return True

    def intersect(self, one: Content, other: Content) -> Content | None:  # noqa: ARG002 - in doubt there is none
        """Return the content that says exactly what both do together; None if there is none, or in doubt.

        It is asked only where both overlap.
        """
        return None

    def merge(self, one: Content, other: Content) -> Content | None:  # noqa: ARG002 - likewise
        """Return the content that says exactly that one of both is satisfied; None if there is none.

        None in doubt, too.
        """
        return None

    def subtract(self, one: Content, other: Content) -> Content | None:  # noqa: ARG002 - likewise
        """Return the content that says exactly that the first is satisfied and not the other; None in doubt.

        It is asked only where the other does not cover the first.
        """
        return None

    def weight(self, content: Content) -> int:  # noqa: ARG002 - most list nothing
        """Return how many things the content lists; comparing takes a time in proportion."""
        return 1

    def cells(self, content: Content) -> Iterable[Hashable]:  # noqa: ARG002 - there is one cell
        """Return the cells of the matching index in which the content lies: a few, whatever it demands."""
        return (None,)

    def cells_of(self, subject: Subject) -> Iterable[Hashable]:  # noqa: ARG002 - likewise
        """Return the cells in which all contents lie that the subject satisfies, and perhaps others."""
        return (None,)

    def examples(self, content: Content) -> Iterable[Value]:  # noqa: ARG002 - none is known
        """Return values that satisfy the content, at best some that few others are satisfied by.

        With one, routing finds what the content covers without comparing it with everything.
        """
        return ()
