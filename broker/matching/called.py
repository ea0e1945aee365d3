"""Lookup of conjunctions by what a constraint type demands: its cells, as it says itself.

Theory of operation: an entry lies in a bucket for its content, and every content in its cells. A value is
read by the type once, and the contents in its cells are those that it may satisfy.

Laws:

* The lookup is never exact: what it finds must still be tested.
* An entry is filed under one content, and a content is found once, in however many cells it lies.
* Events without the attribute, and values of another kind, cost one look.
"""

from collections.abc import Hashable
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, OwnPattern, Value
from broker.filters.installed import AnyConstraintType
from broker.filters.own import OwnPart, is_of_kind
from broker.matching.bucket import Bucket, Buckets, Event, Filing, IndexEntry, Key, Payload


@define(eq=False)
class TypeCells:
    """The contents of one constraint type, by cell."""

    own: AnyConstraintType
    cells: dict[Hashable, dict[Hashable, None]] = field(factory=dict)

    def add(self, content: Hashable) -> None:
        """Put a content into its cells."""
        for cell in self.own.cells(content):
            self.cells.setdefault(cell, {})[content] = None

    def remove(self, content: Hashable) -> None:
        """Take a content out of its cells."""
        for cell in dict.fromkeys(self.own.cells(content)):
            del self.cells[cell][content]
            if not self.cells[cell]:
                del self.cells[cell]

    def found(self, value: Value) -> dict[Hashable, None]:
        """Return the contents that a value may satisfy."""
        found: dict[Hashable, None] = {}
        subject = self.own.read(value) if is_of_kind(value, self.own.kind) else None
        for cell in () if subject is None else self.own.cells_of(subject):
            contents = self.cells.get(cell)
            if contents is not None:
                found |= contents
        return found


@define(eq=False)
class Called(Generic[Key]):
    """Buckets by content, for each constraint type in use."""

    _filing: Filing[Key]
    _types: dict[str, TypeCells] = field(factory=dict)
    _buckets: dict[str, Buckets[Key]] = field(factory=dict)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its content."""
        part, content = _looked_up(constraint)
        buckets = self._buckets.setdefault(part.type.name, {})
        if content not in buckets:
            self._types.setdefault(part.type.name, TypeCells(part.own)).add(content)
        self._filing.insert(buckets, content, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from its content."""
        part, content = _looked_up(constraint)
        name = part.type.name
        buckets = self._buckets[name]
        self._filing.discard(buckets, content, entry)
        if content not in buckets:
            self._types[name].remove(content)
        if not buckets:
            del self._buckets[name], self._types[name]

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of each content that the value may satisfy."""
        for name, cells in self._types.items():
            pending += map(self._buckets[name].__getitem__, cells.found(value))

    def __bool__(self) -> bool:
        return bool(self._buckets)


def _looked_up(constraint: Constraint) -> tuple[OwnPart, Hashable]:
    """Return the content by which an entry is looked up: the first one that is wanted."""
    assert isinstance(constraint, OwnPattern)
    part = constraint.parts_by_type[0]
    return part, part.in_order(part.wanted)[0]
