"""Lookup of conjunctions by what some element of a list satisfies.

Theory of operation: every condition on an element stands once, in an index of conditions of its own, which is
searched with each element as if it were an event. What is wanted of the list lies in a bucket for each
condition, and is divided further by the other attributes. What contains a text may be found in a text too, so
it also lies in a bucket for any text.

Laws:

* An entry is looked up by one of its conditions after the other; the last lookup is exact if nothing else is
  demanded. That of a text in a text never is.
* A condition that several elements satisfy is found once.
"""

from collections.abc import Iterator
from typing import Generic

from attrs import define, evolve, field

from broker.filters import Filter
from broker.filters.constraints import (
    Constraint,
    Containing,
    ListPattern,
    Value,
)
from broker.filters.lists import Alternatives
from broker.filters.readers import texts_wanted
from broker.filters.values import SELF
from broker.matching.bucket import (
    Bucket,
    Buckets,
    Conditions,
    ElementCondition,
    Event,
    Filing,
    IndexEntry,
    Key,
    Payload,
)


@define(eq=False)
class Elements(Generic[Key]):
    """Buckets by condition, and the index of the conditions; those that an element is a text have a table."""

    _filing: Filing[Key]
    _buckets: Buckets[Key] = field(factory=dict)
    _wanted: dict[Alternatives, ElementCondition] = field(factory=dict)
    _by_text: dict[str, dict[ElementCondition, None]] = field(factory=dict)
    _texts_count: int = 0
    _index: Conditions = field(init=False)

    @_index.default
    def _make_index(self) -> Conditions:
        return self._filing.index()

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its condition."""
        condition = self._condition(constraint)
        wanted = self._wanted.get(condition)
        if wanted is None:
            wanted = self._wanted[condition] = ElementCondition(condition)
            self._add_condition(wanted)
        self._filing.insert(self._buckets, wanted, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from its condition."""
        wanted = self._wanted[self._condition(constraint)]
        self._filing.discard(self._buckets, wanted, entry)
        if wanted not in self._buckets:
            del self._wanted[wanted.condition]
            self._remove_condition(wanted)

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of each condition that an element satisfies."""
        if value.__class__ is not list:
            return
        satisfied: list[ElementCondition] = []
        by_text = self._by_text
        if by_text:
            try:
                found = by_text.keys() & value
            except TypeError:  # Lists and maps have no hash.
                found = by_text.keys() & [each for each in value if each.__class__ is str]
            if len(found) == 1:
                satisfied += by_text[found.pop()]
            elif found:
                satisfied += self._in_order(found, value)
        if len(self._wanted) > self._texts_count:
            match = self._index.match
            for element in value:
                satisfied += match(element if element.__class__ is dict else {SELF: element})
        if satisfied:
            pending += map(self._buckets.__getitem__, dict.fromkeys(satisfied))

    def _in_order(self, found: set[str], elements: list[Value]) -> Iterator[ElementCondition]:
        """Yield what is wanted of each of these texts, in the order of the elements: a set has none."""
        for each in elements:
            if each.__class__ is str and each in found:
                yield from self._by_text[each]

    def _condition(self, constraint: Constraint) -> Alternatives:
        """Return the condition by which an entry is looked up here; others were on the way."""
        pattern = constraint.as_list if isinstance(constraint, Containing) else constraint
        assert isinstance(pattern, ListPattern)
        lookups = self._filing.path.lookups
        return pattern.selective[lookups.count(lookups[-1]) - 1]

    def _add_condition(self, wanted: ElementCondition) -> None:
        texts = texts_wanted(wanted.condition)
        self._texts_count += bool(texts)
        for text in texts:
            self._by_text.setdefault(text, {})[wanted] = None
        if not texts:
            self._index.add(wanted, Filter(wanted.condition))

    def _remove_condition(self, wanted: ElementCondition) -> None:
        texts = texts_wanted(wanted.condition)
        self._texts_count -= bool(texts)
        for text in texts:
            del self._by_text[text][wanted]
            if not self._by_text[text]:
                del self._by_text[text]
        if not texts:
            self._index.remove(wanted)

    def __bool__(self) -> bool:
        return bool(self._buckets)


@define(eq=False)
class Containers(Generic[Key]):
    """What contains texts, by one of them as an element, and in a bucket for any text."""

    _filing: Filing[Key]
    _texts: Buckets[Key] = field(factory=dict)
    _text_filing: Filing[Key] = field(init=False)
    _elements: Elements[Key] = field(init=False)

    @_text_filing.default
    def _make_text_filing(self) -> Filing[Key]:
        return evolve(self._filing, path=self._filing.path.inexact())

    @_elements.default
    def _make_elements(self) -> Elements[Key]:
        return Elements(self._filing)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its condition, and with all others."""
        self._text_filing.insert(self._texts, None, entry)
        self._elements.add(entry, constraint)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from both."""
        self._text_filing.discard(self._texts, None, entry)
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
