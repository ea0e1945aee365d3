"""Lookup of conjunctions that no better structure takes: by the presence of an attribute alone.

Here are `exists(x)`, substrings, exclusions, and bounds that are no floats.

Law: the lookup is exact for `exists(x)`; everything else it finds must still be tested.
"""

from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, Value
from broker.matching.bucket import Bucket, Buckets, Event, Filing
from broker.matching.entry import Entry, Key, Payload


@define(eq=False)
class Presence(Generic[Key]):
    """One bucket, found by any value."""

    _filing: Filing[Key]
    _buckets: Buckets[Key] = field(factory=dict)

    def add(self, entry: Entry[Key], _constraint: Constraint) -> None:
        """Put the entry into the bucket."""
        self._filing.insert(self._buckets, None, entry)

    def remove(self, entry: Entry[Key], _constraint: Constraint) -> None:
        """Take the entry out of the bucket."""
        self._filing.discard(self._buckets, None, entry)

    def probe(
        self, _value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket."""
        pending.extend(self._buckets.values())

    def __bool__(self) -> bool:
        return bool(self._buckets)
