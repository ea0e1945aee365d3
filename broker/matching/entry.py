"""An entry: one conjunction in the index, with the keys that want it.

Laws:

* Equal conjunctions share one entry, however many keys hold them: the index tries each only once.
* An entry may lie in several buckets, but a lookup meets at most one of them: the values of a set are
  distinct, and the cells of a range do not overlap. So an entry is found at most once per event.
* What lies in buckets is the entry's payload: the key itself while it is the only one, which spares a lookup
  two trips through cold memory, else the entry. An entry is moved to no bucket while its payload changes.
"""

from typing import Generic, TypeVar, Union

from attrs import define, evolve, field, frozen

from broker.filters import Conjunction
from broker.matching.compile import Test, compile_test

Key = TypeVar("Key")

# What a lookup finds.
Payload = Union[Key, "Entry[Key]"]

# What a lookup tries: the tests of what is not proven yet, what is found if they all hold, and the entry they
# belong to.
Item = tuple[tuple[Test, ...], Payload[Key], "Entry[Key]"]


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
    """A conjunction and its keys; `keys` is None while there is only one."""

    conjunction: Conjunction
    payload: Payload[Key]
    keys: dict[Key, None] | None = None
    _proven: frozenset[str] | None = field(default=None, init=False)
    _item: Item[Key] | None = field(default=None, init=False)

    def share(self) -> dict[Key, None]:
        """Make room for more keys than one; the entry must be in no bucket."""
        assert self.keys is None
        assert not isinstance(self.payload, Entry)
        self.keys = {self.payload: None}
        self.payload = self
        self._item = None
        return self.keys

    def item(self, path: Path) -> Item[Key]:
        """What a bucket at the end of this path tries.

        The last answer is kept, because the buckets of a range lie at the ends of equal paths and share it.
        """
        if self._item is None or self._proven != path.proven:
            self._item = (self.tests(path.proven), self.payload, self)
            self._proven = path.proven
        return self._item

    def tests(self, proven: frozenset[str]) -> tuple[Test, ...]:
        """Return a test of each attribute but the proven ones."""
        return tuple(compile_test(*pair) for pair in self.conjunction if pair[0] not in proven)

    def unproven_count(self, path: Path) -> int:
        """How many constraints remain to be tested at the end of this path."""
        return len(self.conjunction) - len(path.proven)
