"""Lookup of conjunctions by what some element of a list satisfies.

Theory of operation: every condition on an element stands once, in an index of conditions of its own, which is
searched with each element as if it were an event. What is wanted of the list lies in a bucket for each
condition, and is divided further by the other attributes. What contains a text may be found in a text too, so
it also lies in a bucket for any text.

Laws:

* An entry is looked up by one of its conditions; the lookup is exact if it has no more.
* A condition that several elements satisfy is found once.
"""

from typing import Final, Generic

from attrs import define, field

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    NumberSet,
    TextSet,
    Value,
)
from broker.filters.lists import Alternatives, printed_condition
from broker.filters.values import SELF, element_attributes, flattened
from broker.matching.bucket import Bucket, Buckets, Event, Filing, IndexEntry, Key, Path, Payload
from broker.matching.search import search

FEW: Final = 2
"""There is one root for each structure, so its memory does not count."""


@define(eq=False)
class Wanted:
    """A condition on an element, and its alternatives as entries."""

    condition: Alternatives
    entries: "tuple[IndexEntry[Wanted], ...]" = ()


def best_condition(pattern: ListPattern) -> tuple[float, Alternatives] | None:
    """Return the most selective condition on some element, with its rank, or None if there is none."""
    found = [
        (_rank(each), printed_condition(each, "i"), each) for each in pattern.some if _can_be_looked_up(each)
    ]
    if not found:
        return None
    rank, _, condition = min(found)
    return rank, condition


def _can_be_looked_up(condition: Alternatives) -> bool:
    """Return whether each alternative demands something that a lookup by value or path can see."""
    return all(
        one and not any(name == SELF and isinstance(each, NotNull | AnyValue) for name, each in one)
        for one in condition
    )


def _rank(condition: Alternatives) -> float:
    """Return 0 if each alternative demands that something is equal, else 1."""
    return float(not all(any(isinstance(each, TextSet | NumberSet) for _, each in one) for one in condition))


@define(eq=False)
class Elements(Generic[Key]):
    """Buckets by condition, and the index of the conditions."""

    _filing: Filing[Key]
    _buckets: Buckets[Key] = field(factory=dict)
    _wanted: dict[Alternatives, Wanted] = field(factory=dict)
    _root: Buckets[Wanted] = field(factory=dict)
    _inner: "Filing[Wanted]" = field(init=False)
    _dotted: int = 0

    @_inner.default
    def _make_inner(self) -> "Filing[Wanted]":
        return Filing(Path(), self._filing.grow, FEW)  # type: ignore[arg-type]  # it makes nodes of any keys

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its condition."""
        condition = _condition(constraint)
        wanted = self._wanted.get(condition)
        if wanted is None:
            wanted = self._wanted[condition] = Wanted(condition)
            wanted.entries = tuple(IndexEntry(each, wanted) for each in condition)
            for each in wanted.entries:
                self._inner.insert(self._root, None, each)
            self._dotted += has_dots(condition)
        self._filing.insert(self._buckets, wanted, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from its condition."""
        wanted = self._wanted[_condition(constraint)]
        self._filing.discard(self._buckets, wanted, entry)
        if wanted not in self._buckets:
            del self._wanted[wanted.condition]
            for each in wanted.entries:
                self._inner.discard(self._root, None, each)
            self._dotted -= has_dots(wanted.condition)

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of each condition that an element satisfies."""
        if value.__class__ is not list:
            return
        satisfied: dict[Payload[Wanted], None] = {}
        roots = self._root.values()
        for element in value:
            attributes = element_attributes(element)
            if self._dotted:
                attributes = flattened(attributes)
            satisfied.update(dict.fromkeys(search(roots, attributes)))
        pending += map(self._buckets.__getitem__, satisfied)

    def __bool__(self) -> bool:
        return bool(self._buckets)


@define(eq=False)
class Containers(Generic[Key]):
    """What contains texts, by one of them as an element, and in a bucket for any text."""

    _filing: Filing[Key]
    _texts: Buckets[Key] = field(factory=dict)
    _elements: Elements[Key] = field(init=False)

    @_elements.default
    def _make_elements(self) -> Elements[Key]:
        return Elements(self._filing)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its condition, and with all others."""
        self._filing.insert(self._texts, None, entry)
        self._elements.add(entry, constraint)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from both."""
        self._filing.discard(self._texts, None, entry)
        self._elements.remove(entry, constraint)

    def probe(
        self, value: Value, event: Event, pending: list[Bucket[Key]], found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of texts, or of what elements satisfy."""
        if isinstance(value, str):
            pending.extend(self._texts.values())
        else:
            self._elements.probe(value, event, pending, found)

    def __bool__(self) -> bool:
        return bool(self._texts)


def has_dots(condition: Alternatives) -> bool:
    """Return whether a path leads into a map."""
    return any("." in name for one in condition for name, _ in one)


def _condition(constraint: Constraint) -> Alternatives:
    pattern = constraint.as_list if isinstance(constraint, Containing) else constraint
    assert isinstance(pattern, ListPattern)
    best = best_condition(pattern)
    assert best is not None
    return best[1]
