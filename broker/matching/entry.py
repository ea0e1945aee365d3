"""An entry: one conjunction in the index, with the keys that want it.

Laws:

* Equal conjunctions share one entry, however many keys hold them: the index tries each only once.
* An entry may lie in several buckets, but a lookup meets at most one of them: the values of a set are
  distinct, and the cells of a range do not overlap. So an entry's keys come out at most once per event.
"""

from typing import Generic, TypeVar

from attrs import define, evolve, field, frozen

from broker.filters import Conjunction
from broker.filters.constraints import Constraint
from broker.matching.compile import Test, compile_tests

Key = TypeVar("Key")

# What a lookup tries: a test of what is not proven yet (None: nothing is left), the keys it is for, and
# the entry whose keys they are.
Item = tuple[Test | None, list[Key], "Entry[Key]"]


@frozen
class Path:
    """The attributes on the way from the root to a bucket.

    `used` were looked up; of those, `proven` need no further test, because the lookup was exact.
    """

    used: frozenset[str] = frozenset()
    proven: frozenset[str] = frozenset()

    def after(self, name: str, *, exact: bool) -> "Path":
        """The path one step deeper, below a lookup of this attribute."""
        proven = self.proven | {name} if exact else self.proven
        return evolve(self, used=self.used | {name}, proven=proven)


@define(eq=False)
class Entry(Generic[Key]):
    """A conjunction and its keys."""

    conjunction: Conjunction
    keys: list[Key] = field(factory=list)
    _proven: frozenset[str] | None = None
    _item: Item[Key] | None = None

    def item(self, path: Path) -> Item[Key]:
        """What a bucket at the end of this path tries.

        The last answer is kept, because the buckets of a range lie at the ends of equal paths and share it.
        """
        if self._item is None or self._proven != path.proven:
            open_constraints = [pair for pair in self.conjunction if pair[0] not in path.proven]
            self._item = (compile_tests(open_constraints), self.keys, self)
            self._proven = path.proven
        return self._item

    def constraint(self, name: str) -> Constraint:
        """What the conjunction demands of this attribute."""
        return next(constraint for attribute, constraint in self.conjunction if attribute == name)
