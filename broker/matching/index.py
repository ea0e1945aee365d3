"""The matching index: which keys have a filter that an event satisfies, found by attribute.

Theory of operation: filters are disjunctions; each of their conjunctions is an entry. An entry is looked up
by its most selective attribute; entries that meet in one bucket are looked up by their next attribute, and
so on until a bucket is small enough to try its entries one by one. See `node` for the choice of the
attribute, `equality`, `affixes`, `ranges`, `boxes`, `elements` and `pairs` for the lookups.

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
from broker.filters.values import MISSING, flattened
from broker.matching.bucket import Bucket, Buckets, Filing, IndexEntry, Item, Key, Path, Payload
from broker.matching.node import TreeNode

# There is one root, so its memory does not count, and every event meets it.
ROOT_FEW = 2


@define(eq=False)
class MatchingIndex(Generic[Key]):
    """Keys with a filter each."""

    _entries: dict[Conjunction, IndexEntry[Key]] = field(factory=dict)
    _held: dict[Key, tuple[IndexEntry[Key], ...]] = field(factory=dict)
    _several: int = 0  # Keys with several conjunctions: what was found may hold them repeatedly.
    _shared: int = 0  # Entries with several keys: what was found may hold such entries.
    _dotted: int = 0  # Entries that name paths with dots: they may lead into maps.
    _root: Buckets[Key] = field(factory=dict)
    _filing: Filing[Key] = field(factory=lambda: Filing(Path(), TreeNode, MatchingIndex, ROOT_FEW))

    def add(self, key: Key, filter: Filter) -> None:  # noqa: A002 - it is the interface's name for it
        """Take a key and its filter in. Raises KeyError if the key is in already."""
        if key in self._held:
            raise KeyError(f"key {key!r} is in the matching index already; remove it first")
        conjunctions = filter.conjunctions
        if len(conjunctions) > 1:
            conjunctions = tuple(dict.fromkeys(conjunctions))
        entries = tuple([self._enter(key, conjunction) for conjunction in conjunctions])
        self._held[key] = entries
        self._several += len(entries) > 1

    def remove(self, key: Key) -> None:
        """Forget a key and its filter. Raises KeyError if the key is not in."""
        if key not in self._held:
            raise KeyError(f"key {key!r} is not in the matching index; only what was added can be removed")
        entries = self._held.pop(key)
        self._several -= len(entries) > 1
        for entry in entries:
            self._leave(key, entry)

    def match(self, attributes: Mapping[str, Value]) -> list[Key]:
        """The keys whose filters the attributes satisfy, each once."""
        root = self._root.get(None)
        if root is None:
            return []
        if self._dotted:
            attributes = flattened(attributes)
        found: list[Payload[Key]] = []
        if isinstance(root, list):
            # As `_try_each` does, without a call that every event would pay for.
            for tests, payload, _ in root:
                for test in tests:
                    if not test(attributes):
                        break
                else:
                    found.append(payload)
        else:
            _look_up([root], attributes, found)
        keys = _keys(found) if self._shared else found
        return list(dict.fromkeys(keys)) if self._several and len(keys) > 1 else keys  # type: ignore[arg-type,return-value]  # with no entry shared, all are keys

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def _enter(self, key: Key, conjunction: Conjunction) -> IndexEntry[Key]:
        fresh = IndexEntry(conjunction, key)
        entry = self._entries.setdefault(conjunction, fresh)  # Hashing is dear: once is enough.
        if entry is fresh:
            self._dotted += _has_dots(conjunction)
            self._filing.insert(self._root, None, entry)
            return entry
        if entry.keys is None:
            self._filing.discard(self._root, None, entry)
            entry.share()
            self._shared += 1
            self._filing.insert(self._root, None, entry)
        assert entry.keys is not None
        entry.keys[key] = None
        return entry

    def _leave(self, key: Key, entry: IndexEntry[Key]) -> None:
        if entry.keys is not None:
            del entry.keys[key]
            if entry.keys:
                return
            self._shared -= 1
        del self._entries[entry.conjunction]
        self._dotted -= _has_dots(entry.conjunction)
        self._filing.discard(self._root, None, entry)


def _try_each(items: list[Item[Key]], attributes: Mapping[str, Value], found: list[Payload[Key]]) -> None:
    """Append what all tests let through."""
    for tests, payload, _ in items:
        for test in tests:
            if not test(attributes):
                break
        else:
            found.append(payload)


def _look_up(pending: list[Bucket[Key]], attributes: Mapping[str, Value], found: list[Payload[Key]]) -> None:
    """Append what is found in these buckets and all below them."""
    missing = MISSING
    for bucket in pending:  # Lookups append to it.
        if isinstance(bucket, list):
            _try_each(bucket, attributes, found)
            continue
        if bucket.rest:
            pending.append([*bucket.rest.values()])
        by_name = bucket.probes
        # Whichever are fewer are gone through: the event's attributes, or those that filters name.
        if len(by_name) <= len(attributes):
            for name, probes in by_name.items():
                value = attributes.get(name, missing)
                if value is not missing:
                    for probe in probes:
                        probe(value, attributes, pending, found)
        else:
            for name, value in attributes.items():
                for probe in by_name.get(name, ()):
                    probe(value, attributes, pending, found)


def _has_dots(conjunction: Conjunction) -> bool:
    """Return whether a path may lead into a map."""
    for name, _ in conjunction:  # noqa: SIM110 - a generator costs more than the loop
        if "." in name:
            return True
    return False


def _keys(found: list[Payload[Key]]) -> list[Key]:
    """The keys in what was found."""
    keys: list[Key] = []
    for payload in found:
        if isinstance(payload, IndexEntry):
            assert payload.keys is not None
            keys += payload.keys
        else:
            keys.append(payload)
    return keys
