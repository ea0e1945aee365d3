"""Lookup of conjunctions that demand one of some values of an attribute: a hash table by value.

Laws:

* A number is found by equal numbers, whole or floating; True and False have labels of their own, because
  to Python they are equal to 1 and 0.
* The lookup is exact: what it finds needs no further test of this attribute.
"""

from collections.abc import Hashable
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, NumberSet, TextSet, Truths, Value
from broker.matching.bucket import Bucket, Buckets, Event, Filing
from broker.matching.entry import Entry, Key, Payload

# No attribute's value is a tuple, so these labels cannot meet one.
_TRUTH_LABELS: dict[bool, Hashable] = {False: ("false",), True: ("true",)}


@define(eq=False)
class Equality(Generic[Key]):
    """Buckets by value."""

    _filing: Filing[Key]
    _buckets: Buckets[Key] = field(factory=dict)

    def add(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Put the entry under each value it accepts."""
        for label in _labels(constraint):
            self._filing.insert(self._buckets, label, entry)

    def remove(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Take the entry away from each value it accepts."""
        for label in _labels(constraint):
            self._filing.discard(self._buckets, label, entry)

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of this value."""
        bucket = self._buckets.get(_TRUTH_LABELS[value] if value.__class__ is bool else value)
        if bucket is not None:
            pending.append(bucket)

    def __bool__(self) -> bool:
        return bool(self._buckets)


def _labels(constraint: Constraint) -> list[Hashable]:
    assert isinstance(constraint, TextSet | NumberSet | Truths)
    if isinstance(constraint, Truths):
        return [_TRUTH_LABELS[value] for value in constraint.values]
    return [value for value in constraint.values if value == value]  # noqa: PLR0124 - NaN equals nothing
