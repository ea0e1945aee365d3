"""The matching index: which keys have a filter that an event satisfies, found by attribute.

Theory of operation: filters are disjunctions; each of their conjunctions is an entry. An entry is looked up
by its most selective attribute; entries that meet in one bucket are looked up by their next attribute, and
so on until a bucket is small enough to try its entries one by one. See `node` for the choice of the
attribute, `equality`, `affixes`, `ranges`, `rays` and `presence` for the lookups.

Laws:

* `match` equals trying each filter; every key comes out once.
* Adding and removing change only the buckets concerned: nothing is rebuilt, and what is empty is dropped.
* The order of the keys depends only on the calls made before, never on hash values.
"""

from collections.abc import Mapping
from typing import Generic

from attrs import define, field

from broker.filters import Conjunction, Filter
from broker.filters.constraints import Value
from broker.matching.bucket import Bucket, Buckets, Filing
from broker.matching.entry import Entry, Key, Path
from broker.matching.node import TreeNode


@define(eq=False)
class MatchingIndex(Generic[Key]):
    """Keys with a filter each."""

    _entries: dict[Conjunction, Entry[Key]] = field(factory=dict)
    _held: dict[Key, tuple[Entry[Key], ...]] = field(factory=dict)
    _several: int = 0
    _root: Buckets[Key] = field(factory=dict)
    _filing: Filing[Key] = field(factory=lambda: Filing(Path(), TreeNode))

    def add(self, key: Key, filter: Filter) -> None:  # noqa: A002 - it is the interface's name for it
        """Take a key and its filter in. Raises KeyError if the key is in already."""
        if key in self._held:
            raise KeyError(f"key {key!r} is in the matching index already; remove it first")
        entries = tuple(self._entry(conjunction) for conjunction in dict.fromkeys(filter.conjunctions))
        for entry in entries:
            entry.keys.append(key)
        self._held[key] = entries
        self._several += len(entries) > 1

    def remove(self, key: Key) -> None:
        """Forget a key and its filter. Raises KeyError if the key is not in."""
        if key not in self._held:
            raise KeyError(f"key {key!r} is not in the matching index; only what was added can be removed")
        entries = self._held.pop(key)
        self._several -= len(entries) > 1
        for entry in entries:
            entry.keys.remove(key)
            if not entry.keys:
                del self._entries[entry.conjunction]
                self._filing.discard(self._root, None, entry)

    def match(self, attributes: Mapping[str, Value]) -> list[Key]:
        """The keys whose filters the attributes satisfy, each once."""
        found: list[Key] = []
        pending: list[Bucket[Key]] = [*self._root.values()]
        get = attributes.get
        for bucket in pending:  # Lookups append to it.
            if bucket.__class__ is list:
                for test, keys, _ in bucket:
                    if test is None or test(attributes):
                        found += keys
                continue
            for test, keys, _ in bucket.rest.values():  # type: ignore[union-attr]  # the class says it
                if test is None or test(attributes):
                    found += keys
            for name, probes in bucket.probes.items():  # type: ignore[union-attr]  # the class says it
                value = get(name)
                if value is not None:
                    for probe in probes:
                        probe(value, pending, found)
        return list(dict.fromkeys(found)) if self._several and len(found) > 1 else found

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def _entry(self, conjunction: Conjunction) -> Entry[Key]:
        entry = self._entries.get(conjunction)
        if entry is None:
            entry = self._entries[conjunction] = Entry(conjunction)
            self._filing.insert(self._root, None, entry)
        return entry
