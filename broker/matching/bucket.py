"""Buckets: where the structures put entries.

Laws:

* A bucket is a plain list of items while it is small: trying a few tests is cheaper than any structure.
* A bucket that outgrows the list becomes a node, which looks the entries up by their next attribute.
* An empty bucket is not kept.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Generic, Protocol

from attrs import define

from broker.filters.constraints import Constraint, Value
from broker.matching.entry import Entry, Item, Key, Path, Payload

# Trying this many items costs about as much as one more lookup by attribute, but takes much less memory.
FEW = 6

# A list whose items have no attribute left to look up gains nothing from a node but quick removal.
MANY = 64


Event = Mapping[str, Value]


class Structure(Protocol[Key]):
    """An index over the values of one attribute; the modules beside this one hold them."""

    def add(self, entry: Entry[Key], constraint: Constraint, /) -> None:
        """Put the entry where values that satisfy the constraint will find it."""

    def remove(self, entry: Entry[Key], constraint: Constraint, /) -> None:
        """Take it away from there."""

    def probe(
        self, value: Value, event: Event, pending: "list[Bucket[Key]]", found: list[Payload[Key]], /
    ) -> None:
        """Append the buckets to look into for this value of the event, and what is certain already."""

    def __bool__(self) -> bool:
        """Whether anything is in it."""


Probe = Callable[[Value, Event, "list[Bucket[Key]]", list[Payload[Key]]], None]


class Node(Protocol[Key]):
    """A bucket with structure; see `broker.matching.node`."""

    probes: dict[str, tuple[Probe[Key], ...]]
    rest: dict[Entry[Key], Item[Key]]

    def add(self, entry: Entry[Key]) -> None:
        """Put an entry into it."""

    def remove(self, entry: Entry[Key]) -> None:
        """Take an entry out of it."""

    def __bool__(self) -> bool:
        """Whether anything is in it."""


Bucket = list[Item[Key]] | Node[Key]
Buckets = dict[Hashable, Bucket[Key]]


@define(eq=False)
class Filing(Generic[Key]):
    """Puts entries into the buckets at the end of one path and takes them out again."""

    path: Path
    grow: Callable[[Path], Node[Key]]
    few: int = FEW

    def insert(self, buckets: Buckets[Key], label: Hashable, entry: Entry[Key]) -> None:
        """Put the entry into the bucket with this label, which is made or grown as needed."""
        bucket = buckets.get(label)
        if bucket is None:
            buckets[label] = [entry.item(self.path)]
        elif not isinstance(bucket, list):
            bucket.add(entry)
        elif len(bucket) < (self.few if len(entry.conjunction) > len(self.path.used) else MANY):
            bucket.append(entry.item(self.path))
        else:
            buckets[label] = self._grown(bucket, entry)

    def discard(self, buckets: Buckets[Key], label: Hashable, entry: Entry[Key]) -> None:
        """Take the entry out of the bucket with this label, which goes when it is empty."""
        bucket = buckets[label]
        if isinstance(bucket, list):
            del bucket[next(place for place, item in enumerate(bucket) if item[2] is entry)]
        else:
            bucket.remove(entry)
        if not bucket:
            del buckets[label]

    def _grown(self, bucket: list[Item[Key]], entry: Entry[Key]) -> Node[Key]:
        node = self.grow(self.path)
        for _, _, earlier in bucket:
            node.add(earlier)
        node.add(entry)
        return node
