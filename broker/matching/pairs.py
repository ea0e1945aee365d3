"""Lookup of conjunctions by two texts that are both elements of a list.

Theory of operation: for each text that comes first in a pair there is a table of buckets by the second. A
list is searched for first texts; what is in its table and in the list too is found at once, without a node
for each first text.

Laws:

* Texts alone are looked up: numbers of an event could be chosen to collide.
* The smaller of a table and a list is gone through, so that no list takes longer than trying all pairs.
* A pair is found once, whatever elements are repeated: by its first text in the order of the elements, then
  by its second one, for a set has no order.
"""

from collections.abc import Sequence
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, ListPattern, Value
from broker.filters.lists import Alternatives, is_one_text
from broker.filters.readers import texts_wanted
from broker.matching.bucket import Bucket, Buckets, Event, Filing, IndexEntry, Key, Payload

PAIR = 2


def is_pair(conditions: Sequence[Alternatives]) -> bool:
    """Return whether these are two conditions, each that an element is a certain text."""
    return len(conditions) == PAIR and all(map(is_one_text, conditions))


@define(eq=False)
class TextPairs(Generic[Key]):
    """Buckets by the first and the second text of a pair."""

    _filing: Filing[Key]
    _tables: dict[str, Buckets[Key]] = field(factory=dict)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its pair."""
        first, second = self._pair(constraint)
        self._filing.insert(self._tables.setdefault(first, {}), second, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from its pair."""
        first, second = self._pair(constraint)
        self._filing.discard(self._tables[first], second, entry)
        if not self._tables[first]:
            del self._tables[first]

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of each pair whose texts are both elements."""
        if value.__class__ is not list or len(value) < PAIR:
            return
        texts = dict.fromkeys([each for each in value if each.__class__ is str])
        keys = texts.keys()
        tables = self._tables
        for first in texts:
            table = tables.get(first)
            if table is not None:
                both = table.keys() & keys
                if len(both) == 1:
                    pending.append(table[both.pop()])
                elif both:
                    pending += [table[each] for each in sorted(both, key=str)]

    def _pair(self, constraint: Constraint) -> tuple[str, str]:
        """Return the two texts by which an entry is looked up here; others were on the way."""
        assert isinstance(constraint, ListPattern)
        lookups = self._filing.path.lookups
        end = lookups.count(lookups[-1])
        (first,), (second,) = map(texts_wanted, constraint.selective[end - PAIR : end])
        return first, second

    def __bool__(self) -> bool:
        return bool(self._tables)
