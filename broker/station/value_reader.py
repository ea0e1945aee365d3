"""Reads a graph of objects that `broker.station.values` has written; the laws stand there.

A broker reads hundreds of thousands of objects before it serves anybody, so this module can be built
(`setup.py`).
"""

import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from types import MemberDescriptorType
from typing import Any, Final

from broker.core import Hop
from broker.errors import StationError
from broker.station import values as v
from broker.station.filter_values import filters_from
from broker.station.inputs import read_frames

HOP_NUMBER_MAX: Final = 10_000_000
"""More hops than a broker can have: a set of them alone would take a megabyte."""

_OBJECT, _HOP, _FILTER, _PUBLICATION, _KNOWN, _PART = (
    v.OBJECT,
    v.HOP,
    v.FILTER,
    v.PUBLICATION,
    v.KNOWN,
    v.PART,
)
_TUPLE, _LIST, _DICT, _DEQUE = v.TUPLE, v.LIST, v.DICT, v.DEQUE

_PLAIN, _ENUM, _NAMED_TUPLE = range(3)
"""How the objects of a layout are made."""

_new: Final = object.__new__

Put = Callable[[object, object], None]
"""Sets one field of an object."""

_Layout = tuple[int, type, tuple[Put, ...]]


class ValueReader:
    """Reads one graph. Classes are those of `packages`, names of packages or modules."""

    def __init__(self, tables: Sequence[Any], parts: Sequence[object], packages: Sequence[str]) -> None:
        hops, filters, frames, layouts = tables
        self._objects: list[object] = []
        if any(not 0 <= number <= HOP_NUMBER_MAX for number, _, _ in hops):
            raise StationError("a snapshot has a hop with a number that no hop has: it is damaged")
        self._layouts = [_known_layout(name, fields, packages) for name, *fields in layouts]
        self._tables: list[list[Any] | None] = [None] * (_PART + 1)
        self._tables[_HOP] = [Hop(number, name, is_link) for number, name, is_link in hops]
        self._tables[_FILTER] = filters_from(filters)
        self._tables[_PUBLICATION] = read_frames(frames)
        self._tables[_KNOWN] = self._objects
        self._tables[_PART] = list(parts)

    def read(self, value: Any) -> Any:
        """Return the object for these values."""
        return self._build(value) if type(value) is list else value

    def _build(self, values: list[Any]) -> Any:  # noqa: PLR0911 - a table, the most frequent first
        code = values[0]
        if code == _OBJECT:
            return self._object(values)
        table = self._tables[code]
        if table is not None:
            return table[values[1]]
        if code == _TUPLE:
            return tuple(self.items(values, 1))
        if code == _LIST:
            return self.items(values, 1)
        if code == _DICT:
            found = iter(self.items(values, 1))
            return dict(zip(found, found, strict=True))
        if code == _DEQUE:
            return deque(self.items(values, 2), values[1])
        return _CONTAINERS[code](self, values)

    def items(self, values: list[Any], start: int) -> list[Any]:
        """Return the items of a container, which begin there."""
        items = values[start:]
        for index, each in enumerate(items):
            if type(each) is list:
                items[index] = self._build(each)
        return items

    def pairs(self, values: list[Any]) -> list[tuple[Any, Any]]:
        """Return the items of a mapping."""
        items = iter(self.items(values, 1))
        return list(zip(items, items, strict=True))

    def _object(self, values: list[Any]) -> object:
        way, owner, puts = self._layouts[values[1]]
        objects = self._objects
        index = len(objects)
        if way == _PLAIN:
            made: object = _new(owner)
            objects.append(made)
            items = self.items(values, 2)
            if len(items) != len(puts):
                raise ValueError(f"an object of {owner.__name__} has {len(items)} fields")
            for at, put in enumerate(puts):
                put(made, items[at])
            return made
        objects.append(None)
        made = _member(owner, values[2]) if way == _ENUM else tuple.__new__(owner, self.items(values, 2))
        objects[index] = made
        return made


def _member(owner: Any, name: str) -> object:
    return owner[name]


_CONTAINERS: Final[dict[int, Callable[[ValueReader, list[Any]], object]]] = {
    v.SET: lambda reader, values: set(reader.items(values, 1)),
    v.FROZENSET: lambda reader, values: frozenset(reader.items(values, 1)),
    v.COUNTER: lambda reader, values: Counter(dict(reader.pairs(values))),
    v.ORDERED_DICT: lambda reader, values: OrderedDict(reader.pairs(values)),
}


def _known_layout(name: str, fields: Sequence[str], packages: Sequence[str]) -> _Layout:
    """Find a class that may be read (law 3)."""
    module_name, _, class_name = name.partition(":")
    module = sys.modules.get(module_name) if _is_inside(module_name, packages) else None
    owner = vars(module).get(class_name) if module is not None else None
    if not isinstance(owner, type) or owner.__module__ != module_name:
        raise StationError(f"a snapshot has objects of {name}, which is no class that may be in one")
    layout = v.layout_of(owner)
    if layout.fields != tuple(fields):
        raise StationError(
            f"a snapshot has objects of {name} with the fields {', '.join(fields)}; here they have "
            f"{', '.join(layout.fields)}: it was written by another version"
        )
    way = _ENUM if issubclass(owner, Enum) else _NAMED_TUPLE if issubclass(owner, tuple) else _PLAIN
    return way, owner, puts_of(owner, layout.fields)


def puts_of(owner: type, fields: Sequence[str]) -> tuple[Put, ...]:
    """Return what sets each of these fields, frozen or not: their slots, which takes half the time."""
    return tuple(_put_of(getattr(owner, field, None), field) for field in fields)


def _put_of(slot: object, field: str) -> Put:
    if isinstance(slot, MemberDescriptorType):
        return slot.__set__
    return partial(_put_by_name, field)


def _put_by_name(field: str, made: object, value: object) -> None:
    object.__setattr__(made, field, value)


def _is_inside(module: str, packages: Sequence[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
