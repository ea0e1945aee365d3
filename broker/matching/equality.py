"""Lookup of conjunctions by one value of an attribute: a hash table by value, and one bucket for any value.

Laws:

* A number is found by equal numbers, whole or floating; True and False have labels of their own, because
  to Python they are equal to 1 and 0. So has null.
* The lookup is exact: what it finds needs no further test of this attribute.
* No peer can choose many numbers that the tables hash alike: numbers that may collide are
  found by their labels, which are hashed with a secret. What is found, and its order, do not depend on it.
* What no better structure takes is found by the presence of an attribute alone: `exists(x)`, for which that
  is exact, and substrings, exclusions, and bounds that are no floats, which must still be tested.
"""

from collections.abc import Hashable
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, Null, NumberSet, TextSet, Truths, Value
from broker.filters.values import COLLIDING_FROM, label, may_collide
from broker.matching.bucket import Bucket, Buckets, Event, Filing, IndexEntry, Key, Payload

# No attribute's value is a tuple, so these labels cannot meet one.
_LABELS: dict[bool | None, Hashable] = {False: ("false",), True: ("true",), None: ("null",)}


@define(eq=False)
class Equality(Generic[Key]):
    """Buckets by value; those of numbers that could be chosen to collide are in a table of their own."""

    _filing: Filing[Key]
    _buckets: Buckets[Key] = field(factory=dict)
    _labelled: Buckets[Key] = field(factory=dict)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under each value it accepts."""
        for table, key in self._places(constraint):
            self._filing.insert(table, key, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from each value it accepts."""
        for table, key in self._places(constraint):
            self._filing.discard(table, key, entry)

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of this value."""
        kind = value.__class__
        if kind is str:
            bucket = self._buckets.get(value)
        elif kind is int or kind is float:
            if -COLLIDING_FROM < value < COLLIDING_FROM:  # type: ignore[operator]  # by its kind
                bucket = self._buckets.get(value)
            else:
                bucket = self._labelled.get(label(value)) if self._labelled else None  # type: ignore[arg-type]  # likewise
        elif kind is bool or value is None:
            bucket = self._buckets.get(_LABELS[value])  # type: ignore[index]  # likewise
        else:
            bucket = None if kind is list or kind is dict else self._buckets.get(value)
        if bucket is not None:
            pending.append(bucket)

    def __bool__(self) -> bool:
        return bool(self._buckets or self._labelled)

    def _places(self, constraint: Constraint) -> list[tuple[Buckets[Key], Hashable]]:
        """Return the table and the key for each value that the constraint accepts."""
        if isinstance(constraint, TextSet):
            return [(self._buckets, text) for text in constraint.values]
        if isinstance(constraint, Null):
            return [(self._buckets, _LABELS[None])]
        if isinstance(constraint, Truths):
            return [(self._buckets, _LABELS[truth]) for truth in constraint.values]
        assert isinstance(constraint, NumberSet)
        return [
            (self._labelled, label(number)) if may_collide(number) else (self._buckets, number)
            for number in constraint.values
            if number == number  # noqa: PLR0124 - NaN equals nothing
        ]


@define(eq=False)
class Presence(Generic[Key]):
    """One bucket, found by any value."""

    _filing: Filing[Key]
    _buckets: Buckets[Key] = field(factory=dict)

    def add(self, entry: IndexEntry[Key], _constraint: Constraint) -> None:
        """Put the entry into the bucket."""
        self._filing.insert(self._buckets, None, entry)

    def remove(self, entry: IndexEntry[Key], _constraint: Constraint) -> None:
        """Take the entry out of the bucket."""
        self._filing.discard(self._buckets, None, entry)

    def probe(
        self, _value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket."""
        pending.extend(self._buckets.values())

    def __bool__(self) -> bool:
        return bool(self._buckets)
