"""Keys at points: each key has an event, and a filter finds the keys whose events it matches.

It is the matching index the other way round. Theory of operation: the values that one attribute takes are
found by value, and numbers and texts also in their order. A conjunction is looked up by the attribute that
promises the fewest keys, and what is found there is tried.

Law: `matched` equals trying the filter on every key's event.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from attrs import Factory, define
from sortedcontainers import SortedList

from broker.filters import Conjunction, Filter
from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    Null,
    Number,
    NumberRange,
    NumberSet,
    OwnPattern,
    TextPattern,
    TextSet,
    Truths,
    Value,
)
from broker.filters.values import is_number, label, may_collide

Key = TypeVar("Key", bound=Hashable)

Witness = Mapping[str, Value]
"""The attributes of an event that a filter matches."""

_TRUTHS: Final[dict[bool, Hashable]] = {False: ("false",), True: ("true",)}
"""Labels of truth values, which Python takes for numbers. No value of an attribute is a tuple."""

_NOT_A_NUMBER: Final[Hashable] = ("nan",)
_NULL: Final[Hashable] = ("null",)
_LIST: Final[Hashable] = ("list",)


def _label(value: Value) -> Hashable:
    """Return the key of a value in a table; peers cannot choose many that are hashed alike."""
    if isinstance(value, bool):
        return _TRUTHS[value]
    if isinstance(value, str):
        return value
    if value is None:
        return _NULL
    if not is_number(value):
        return _LIST
    if value != value:  # noqa: PLR0124 - not-a-number equals nothing
        return _NOT_A_NUMBER
    return ("number", label(value)) if may_collide(value) else value


@define(eq=False)
class PointAxis(Generic[Key]):
    """The keys whose events have one attribute, by its value."""

    _keys: dict[Hashable, dict[Key, Witness]] = Factory(dict)
    _numbers: SortedList[Number] = Factory(SortedList)
    _texts: SortedList[str] = Factory(SortedList)
    count: int = 0

    def add(self, key: Key, value: Value, event: Witness) -> None:
        """Add a key at a value."""
        label = _label(value)
        keys = self._keys.get(label)
        if keys is None:
            keys = self._keys[label] = {}
            if isinstance(value, str):
                self._texts.add(value)
            elif is_number(value) and label != _NOT_A_NUMBER:
                self._numbers.add(value)
        keys[key] = event
        self.count += 1

    def remove(self, key: Key, value: Value) -> None:
        """Remove a key at a value."""
        label = _label(value)
        keys = self._keys[label]
        del keys[key]
        self.count -= 1
        if not keys:
            del self._keys[label]
            if isinstance(value, str):
                self._texts.remove(value)
            elif is_number(value) and label != _NOT_A_NUMBER:
                self._numbers.remove(value)

    def estimate(self, constraint: Constraint) -> float:
        """Return about how many keys have a value that the constraint accepts."""
        match constraint:
            case TextSet(values) | NumberSet(values) | Truths(values):
                return sum(len(self._keys.get(_label(value), ())) for value in values)
            case NumberRange():
                first, last = self._number_positions(constraint)
                return (last - first) * self.count / len(self._keys)
            case TextPattern():
                first, last = self._text_positions(constraint)
                return (last - first) * self.count / len(self._keys)
            case Null() | ListPattern():
                label = _NULL if isinstance(constraint, Null) else _LIST
                return len(self._keys.get(label, ()))
            case AnyValue() | NotNull() | Containing() | OwnPattern():
                return self.count

    def found(self, constraint: Constraint) -> Iterator[dict[Key, Witness]]:
        """Yield the keys at every value that the constraint accepts, and perhaps at a few more."""
        labels: Iterable[Hashable]
        match constraint:
            case TextSet(values) | NumberSet(values) | Truths(values):
                labels = map(_label, values)
            case NumberRange():
                labels = map(_label, self._numbers.islice(*self._number_positions(constraint)))
            case TextPattern():
                labels = self._texts.islice(*self._text_positions(constraint))
            case Null() | ListPattern():
                labels = (_NULL if isinstance(constraint, Null) else _LIST,)
            case AnyValue() | NotNull() | Containing() | OwnPattern():
                labels = self._keys
        for each in labels:
            keys = self._keys.get(each)
            if keys is not None:
                yield keys

    def _number_positions(self, constraint: NumberRange) -> tuple[int, int]:
        low, high = constraint.low, constraint.high
        first = 0 if low is None else self._numbers.bisect_left(low)
        last = len(self._numbers) if high is None else self._numbers.bisect_right(high)
        return first, max(first, last)

    def _text_positions(self, constraint: TextPattern) -> tuple[int, int]:
        start, end = constraint.interval
        first = self._texts.bisect_left(start)
        return first, max(first, len(self._texts) if end is None else self._texts.bisect_left(end))


@define(eq=False)
class Points(Generic[Key]):
    """Keys with an event each."""

    _events: dict[Key, Witness] = Factory(dict)
    _axes: dict[str, PointAxis[Key]] = Factory(dict)

    def add(self, key: Key, event: Witness) -> None:
        """Add a key and its event."""
        self._events[key] = event
        for name, value in event.items():
            axis = self._axes.get(name)
            if axis is None:
                axis = self._axes[name] = PointAxis()
            axis.add(key, value, event)

    def remove(self, key: Key) -> None:
        """Remove a key and its event."""
        for name, value in self._events.pop(key).items():
            axis = self._axes[name]
            axis.remove(key, value)
            if not axis.count:
                del self._axes[name]

    def matched(self, filter: Filter) -> list[Key]:  # noqa: A002 - it is a filter
        """Return the keys whose events the filter matches, each once."""
        found: dict[Key, None] = {}
        test = filter.match
        for conjunction in filter.conjunctions:
            for keys in self._near(conjunction):
                for key, event in keys.items():
                    if key not in found and test(event):
                        found[key] = None
        return list(found)

    def _near(self, conjunction: Conjunction) -> Iterable[dict[Key, Witness]]:
        """Return all keys whose events satisfy the conjunction, and others."""
        best: tuple[float, PointAxis[Key], Constraint] | None = None
        for name, constraint in conjunction:
            axis = self._axes.get(name)
            if axis is None:
                return ()
            estimate = axis.estimate(constraint)
            if best is None or estimate < best[0]:
                best = estimate, axis, constraint
        return [self._events] if best is None else best[1].found(best[2])

    def __bool__(self) -> bool:
        """Return whether there is any key."""
        return bool(self._events or self._axes)
