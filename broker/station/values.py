"""A graph of objects as plain values, and back: the content of a snapshot.

Why not pickles. A pickle calls what the file names; a restricted unpickler still calls the classes that it
lets pass, with arguments of the file's choice, and sets attributes of whatever it has read, classes included.
Here nothing is ever called for a file: an object is made empty, of a class that the reader was given, and its
own fields are filled. It takes about as long, because the most frequent objects (filters, hops,
publications) have short forms of their own, and derived state is left out.

Numbers, texts, bytes, truth values and None are plain. Everything else is a list: a code, and its
arguments. An object is written where it is met first, later it is a reference; so one object is one object
again. Hops, filters and publications stand in tables, which come first. A *part* is an object that
reader and writer have already, by its index among the parts.

Laws.

1. Written by `Writer`, read by `ValueReader` (in `value_reader`): the same graph, containers in the same
   order. Sets have none.
2. A value that cannot be written (a function, a file, a class) is an error when the snapshot is taken, never
   when it is needed.
3. A class is read only if it is known: it is in a package that was allowed, has been imported there, and has
   the fields that were written.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final

import attrs

from broker.core import Hop
from broker.errors import StationError
from broker.filters import Filter
from broker.messages import Publication
from broker.station.filter_values import values_of
from broker.station.inputs import frame_of

PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes})

TUPLE, LIST, DICT, SET, FROZENSET, DEQUE, COUNTER, ORDERED_DICT = range(8)
KNOWN, OBJECT, HOP, FILTER, PUBLICATION, PART = range(8, 14)

_SEQUENCES: Final[Mapping[type, int]] = {tuple: TUPLE, list: LIST}
_SETS: Final[Mapping[type, int]] = {set: SET, frozenset: FROZENSET}
_MAPPINGS: Final[Mapping[type, int]] = {dict: DICT, Counter: COUNTER, OrderedDict: ORDERED_DICT}


class SnapshotError(StationError):
    """A value in the state of a broker, or of its ordering plugin, cannot be part of a snapshot."""


@attrs.frozen
class Layout:
    """A class by name, and the fields of its objects in the order in which they are written."""

    name: str
    fields: tuple[str, ...]


def layout_of(owner: type) -> Layout:
    """Return how objects of this class are written.

    Raises:
        SnapshotError: they cannot be.
    """
    name = f"{owner.__module__}:{owner.__qualname__}"
    if issubclass(owner, Enum):
        return Layout(name, tuple(owner.__members__))
    if issubclass(owner, tuple) and hasattr(owner, "_fields"):
        return Layout(name, tuple(owner._fields))
    if attrs.has(owner):
        derived: frozenset[str] = getattr(owner, "DERIVED", frozenset())
        return Layout(name, tuple(each.name for each in attrs.fields(owner) if each.name not in derived))
    raise SnapshotError(
        f"{name} cannot be part of a snapshot: only plain values, containers of them, named tuples, "
        "members of enums, and objects of attrs classes can"
    )


class Writer:
    """Writes one graph; `tables` returns the objects that are referred to by number."""

    def __init__(self, parts: Iterable[object]) -> None:
        self._parts = {id(part): number for number, part in enumerate(parts)}
        self._objects: dict[int, int] = {}
        self._hops: dict[Hop, int] = {}
        self._filters: dict[tuple[Filter, str | None], int] = {}
        self._publications: dict[int, int] = {}
        self._frames: list[bytes] = []
        self._layouts: dict[type, tuple[int, Layout]] = {}
        self._kept: list[object] = []
        self._special: Mapping[type, Callable[[Any], list[object]]] = {
            Hop: self._hop,
            Filter: self._filter,
            Publication: self._publication,
        }

    def write(self, thing: object) -> object:
        """Return the values for an object."""
        kind = type(thing)
        if kind in PLAIN:
            return thing
        write = self.write
        if kind in _SEQUENCES:
            return [_SEQUENCES[kind], *[each if type(each) in PLAIN else write(each) for each in thing]]  # type: ignore[attr-defined]  # a sequence
        if (special := self._special.get(kind)) is not None:
            return special(thing)
        if id(thing) in self._parts:
            return [PART, self._parts[id(thing)]]
        return self._container(kind, thing) or self._object(kind, thing)

    def tables(self) -> list[object]:
        """Return the tables of objects that were referred to by number so far."""
        return [
            [[hop.number, hop.name, hop.is_link] for hop in self._hops],
            values_of(content for content, _ in self._filters),
            b"".join(self._frames),
            [[layout.name, *layout.fields] for _, layout in self._layouts.values()],
        ]

    def _container(self, kind: type, thing: Any) -> list[object] | None:
        write = self.write
        if kind in _MAPPINGS:
            values: list[object] = [_MAPPINGS[kind]]
            for key, value in thing.items():
                values += (write(key), write(value))
            return values
        if kind in _SETS:
            items = list(map(write, thing))
            # Objects keep the order in which they were met: they are numbered by it, here and by the reader.
            if all(type(each) in PLAIN or (type(each) is list and each[0] == HOP) for each in items):
                items.sort(key=repr)
            return [_SETS[kind], *items]
        if kind is deque:
            return [DEQUE, thing.maxlen, *map(write, thing)]
        return None

    def _object(self, kind: type, thing: object) -> list[object]:
        known = self._objects.get(id(thing))
        if known is not None:
            return [KNOWN, known]
        self._objects[id(thing)] = len(self._objects)
        self._kept.append(thing)  # So that no other object gets its identity while this one is written.
        if kind not in self._layouts:
            self._layouts[kind] = len(self._layouts), layout_of(kind)
        number, layout = self._layouts[kind]
        if isinstance(thing, Enum):
            return [OBJECT, number, thing.name]
        return [OBJECT, number, *[self.write(getattr(thing, name)) for name in layout.fields]]

    def _hop(self, hop: Hop) -> list[object]:
        assert not hop.outbox, f"{hop.name} still has something to send: take the effects first"
        return [HOP, self._hops.setdefault(hop, len(self._hops))]

    def _filter(self, content: Filter) -> list[object]:
        return [FILTER, self._filters.setdefault((content, content.source), len(self._filters))]

    def _publication(self, publication: Publication) -> list[object]:
        number = self._publications.get(id(publication))
        if number is None:
            if not publication.frame:
                raise SnapshotError(f"{publication} has no frame, so it cannot be written down")
            number = self._publications[id(publication)] = len(self._frames)
            self._frames.append(frame_of(publication))
            self._kept.append(publication)
        return [PUBLICATION, number]
