"""Entries, and the buckets where the structures put them.

An entry is one conjunction in the index, with the keys that want it.

Laws:

* Equal conjunctions share one entry, however many keys hold them: the index tries each only once.
* An entry may lie in several buckets, but a lookup meets at most one of them: the values of a set are
  distinct, and the cells of a range do not overlap. So an entry is found at most once per event.
* What lies in buckets is the entry's payload: the key itself while it is the only one, which spares a lookup
  two trips through cold memory, else the entry. An entry is moved to no bucket while its payload changes.
* A bucket is a plain list of items while it is small: trying a few tests is cheaper than any structure.
* A bucket that outgrows the list becomes a node, which looks the entries up by their next attribute.
* An empty bucket is removed.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from typing import Generic, Protocol, TypeVar, Union

from attrs import define, evolve, field, frozen

from broker.filters import Conjunction, Filter
from broker.filters.constraints import Constraint, Value
from broker.filters.lists import Alternatives, ListPattern
from broker.filters.readers import reader
from broker.filters.values import Matcher

Key = TypeVar("Key")

# What a lookup finds.
Payload = Union[Key, "IndexEntry[Key]"]

# What a lookup tries: the tests of what is not proven yet, what is found if they all hold, and the entry they
# belong to.
Item = tuple[tuple[Matcher, ...], Payload[Key], "IndexEntry[Key]"]


@frozen
class Path:
    """The attributes on the way from the root to a bucket.

    `used` were looked up, in the order of `lookups`: a list by each of its conditions. Those `proven`
    need no further test, because the lookups were exact.
    """

    used: frozenset[str] = frozenset()
    proven: frozenset[str] = frozenset()
    lookups: tuple[str, ...] = ()

    def after(self, name: str, *, exact: bool, taken: int = 1) -> "Path":
        """The path one step deeper, below a lookup of this attribute by so many of its conditions."""
        proven = self.proven | {name} if exact else self.proven
        return Path(self.used | {name}, proven, (*self.lookups, *[name] * taken))

    def inexact(self) -> "Path":
        """The same path if the last lookup was not exact."""
        return evolve(self, proven=self.proven.difference(self.lookups[-1:]))


def lookups_of(constraint: Constraint) -> int:
    """Return how often the attribute can be looked up: a list by each condition on some element."""
    return max(1, len(constraint.selective)) if isinstance(constraint, ListPattern) else 1


@define(eq=False)
class IndexEntry(Generic[Key]):
    """A conjunction and its keys; `keys` is None while there is only one."""

    conjunction: Conjunction
    payload: Payload[Key]
    keys: dict[Key, None] | None = None
    _proven: frozenset[str] | None = field(default=None, init=False)
    _item: Item[Key] | None = field(default=None, init=False)

    def share(self) -> dict[Key, None]:
        """Make room for more keys than one; the entry must be in no bucket."""
        assert self.keys is None
        assert not isinstance(self.payload, IndexEntry)
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

    def tests(self, proven: frozenset[str]) -> tuple[Matcher, ...]:
        """Return a test of each attribute but the proven ones."""
        return tuple([reader(*pair) for pair in self.conjunction if pair[0] not in proven])

    @cached_property
    def lookups_count(self) -> int:
        """Return by how many lookups it can be found, one after the other."""
        return sum(lookups_of(constraint) for _, constraint in self.conjunction)

    def unproven_count(self, path: Path) -> int:
        """Return how many constraints remain to be tested at the end of this path."""
        return len(self.conjunction) - len(path.proven)


# Trying this many items costs about as much as one more lookup by attribute, but takes much less memory.
FEW = 6

# A list whose items have no attribute left to look up gains nothing from a node but quick removal.
MANY = 64


Event = Mapping[str, Value]


class Structure(Protocol[Key]):
    """An index over the values of one attribute; the modules beside this one hold them."""

    def add(self, entry: IndexEntry[Key], constraint: Constraint, /) -> None:
        """Put the entry where values that satisfy the constraint will find it."""

    def remove(self, entry: IndexEntry[Key], constraint: Constraint, /) -> None:
        """Take it away from there."""

    def probe(
        self, value: Value, event: Event, pending: "list[Bucket[Key]]", found: list[Payload[Key]], /
    ) -> None:
        """Append the buckets to look into for this value of the event, and what is certain already."""

    def __bool__(self) -> bool:
        """Return whether anything is in it."""


Probe = Callable[[Value, Event, "list[Bucket[Key]]", list[Payload[Key]]], None]


class IndexNode(Protocol[Key]):
    """A bucket with structure; see `broker.matching.node`."""

    probes: dict[str, tuple[Probe[Key], ...]]
    rest: dict[IndexEntry[Key], Item[Key]]

    def add(self, entry: IndexEntry[Key]) -> None:
        """Put an entry into it."""

    def remove(self, entry: IndexEntry[Key]) -> None:
        """Take an entry out of it."""

    def __bool__(self) -> bool:
        """Return whether anything is in it."""


@define(eq=False)
class ElementCondition:
    """A condition on an element. It is found by what it is, for comparing conditions is dear."""

    condition: Alternatives


class Conditions(Protocol):
    """An index of its own for conditions on elements; see `broker.matching.index`."""

    def add(self, key: ElementCondition, filter: Filter) -> None:  # noqa: A002 - as in the index
        """Take a key and its filter in."""

    def remove(self, key: ElementCondition) -> None:
        """Forget a key and its filter."""

    def match(self, attributes: Event) -> list[ElementCondition]:
        """Return the keys whose filters the attributes satisfy."""


MakeIndex = Callable[[], Conditions]
Grow = Callable[[Path, MakeIndex], IndexNode[Key]]
Bucket = list[Item[Key]] | IndexNode[Key]
Buckets = dict[Hashable, Bucket[Key]]


@define(eq=False)
class Filing(Generic[Key]):
    """Puts entries into the buckets at the end of one path and takes them out again."""

    path: Path
    grow: "Grow[Key]"
    index: "MakeIndex"
    few: int = FEW

    def insert(self, buckets: Buckets[Key], label: Hashable, entry: IndexEntry[Key]) -> None:
        """Put the entry into the bucket with this label, which is made or grown as needed."""
        bucket = buckets.get(label)
        if bucket is None:
            buckets[label] = [entry.item(self.path)]
        elif not isinstance(bucket, list):
            bucket.add(entry)
        elif len(bucket) < (self.few if entry.lookups_count > len(self.path.lookups) else MANY):
            bucket.append(entry.item(self.path))
        else:
            buckets[label] = self._grown(bucket, entry)

    def discard(self, buckets: Buckets[Key], label: Hashable, entry: IndexEntry[Key]) -> None:
        """Take the entry out of the bucket with this label, which goes when it is empty."""
        bucket = buckets[label]
        if isinstance(bucket, list):
            del bucket[next(index for index, item in enumerate(bucket) if item[2] is entry)]
        else:
            bucket.remove(entry)
        if not bucket:
            del buckets[label]

    def _grown(self, bucket: list[Item[Key]], entry: IndexEntry[Key]) -> IndexNode[Key]:
        node = self.grow(self.path, self.index)
        for _, _, earlier in bucket:
            node.add(earlier)
        node.add(entry)
        return node
