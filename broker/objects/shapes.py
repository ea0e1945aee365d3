"""Shapes: how a value of a Python type stands in an event, and how it is read back.

Laws.

1. What a shape writes, it reads back as an equal value: sets may come in another order, whole numbers in the
   place of floating ones as floating ones.
2. What does not fit is a `MisfitError` with its place, in both directions; nothing is guessed.
3. A shape writes the same for equal values in every process: sets are sorted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, TypeVar
from uuid import UUID

from attrs import frozen

from broker.filters.values import Value, is_number
from broker.objects.misfits import MisfitError, misfit

if TYPE_CHECKING:
    from broker.objects.classes import EventClass

_Found = TypeVar("_Found")

_EXPECTED: Final = "expected "

JsonSchema = dict[str, object]
"""A JSON Schema, or a part of one."""


class Shape(Protocol):
    """How the values of one type stand in events."""

    def write(self, value: object) -> Value:
        """Return the value as it stands in an event."""
        ...

    def read(self, value: Value) -> object:
        """Return the value of an event as the program has it."""
        ...

    def schema(self) -> JsonSchema:
        """Return what JSON Schema says of what is written."""
        ...

    def classes(self) -> "Iterable[EventClass]":
        """Return the classes whose objects it has."""
        ...

    def field(self, name: str) -> "Shape | None":
        """Return the shape of a field of it, or None if it has no such field."""
        ...

    @property
    def element(self) -> "Shape | None":
        """The shape of its elements, or None if it is no list."""
        ...


class Leaf:
    """A shape without parts."""

    __slots__ = ()

    def classes(self) -> "Iterable[EventClass]":
        """It has no objects."""
        return ()

    def field(self, name: str) -> "Shape | None":  # noqa: ARG002 - the interface's
        """It has no fields."""
        return None

    @property
    def element(self) -> "Shape | None":
        """It has no elements."""
        return None


@frozen
class Anything(Leaf):
    """Any value that an event may have, as it is."""

    def write(self, value: object) -> Value:
        """Return the value: whether an event may have it is checked when it is published."""
        return value  # type: ignore[return-value]  # as said

    def read(self, value: Value) -> object:
        """Return the value."""
        return value

    def schema(self) -> JsonSchema:
        """Return the schema of everything."""
        return {}

    def field(self, name: str) -> "Shape":  # noqa: ARG002 - the interface's
        """Any field may be there."""
        return self

    @property
    def element(self) -> "Shape":
        """Any element may be there."""
        return self


@frozen
class Nothing(Leaf):
    """None, which is null in an event."""

    def write(self, value: object) -> Value:
        """Return null."""
        if value is not None:
            raise misfit("None", value)
        return None

    def read(self, value: Value) -> object:
        """Return None."""
        return self.write(value)

    def schema(self) -> JsonSchema:
        """Return the schema of null."""
        return {"type": "null"}


@frozen
class Text(Leaf):
    """Text."""

    def write(self, value: object) -> Value:
        """Return the text, without the class that it may have in the program."""
        if not isinstance(value, str):
            raise misfit("text", value)
        return str(value)

    def read(self, value: Value) -> object:
        """Return the text."""
        return self.write(value)

    def schema(self) -> JsonSchema:
        """Return the schema of text."""
        return {"type": "string"}


@frozen
class Truth(Leaf):
    """A truth value, which is no number."""

    def write(self, value: object) -> Value:
        """Return the truth value."""
        if not isinstance(value, bool):
            raise misfit("a truth value", value)
        return value

    def read(self, value: Value) -> object:
        """Return the truth value."""
        return self.write(value)

    def schema(self) -> JsonSchema:
        """Return the schema of truth values."""
        return {"type": "boolean"}


@frozen
class Whole(Leaf):
    """A whole number; a floating one that is whole is one too, as publishers in other languages have it."""

    def write(self, value: object) -> Value:
        """Return the number."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise misfit("a whole number", value)
        return int(value)

    def read(self, value: Value) -> object:
        """Return the number."""
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return self.write(value)

    def schema(self) -> JsonSchema:
        """Return the schema of whole numbers."""
        return {"type": "integer"}


@frozen
class Floating(Leaf):
    """A number."""

    def write(self, value: object) -> Value:
        """Return the number as a floating one."""
        if not is_number(value):
            raise misfit("a number", value)
        try:
            return float(value)
        except OverflowError:
            raise misfit("a number that a float can hold", value) from None

    def read(self, value: Value) -> object:
        """Return the number as a floating one."""
        return self.write(value)

    def schema(self) -> JsonSchema:
        """Return the schema of numbers."""
        return {"type": "number"}


@frozen
class Converted(Leaf):
    """A value that stands in events as text."""

    kind: type
    _write: Callable[[Any], str]
    _read: Callable[[str], object]
    _format: str = ""

    def write(self, value: object) -> Value:
        """Return the text."""
        if type(value) is not self.kind:
            raise misfit(f"a {self.kind.__name__}", value)
        return self._write(value)

    def read(self, value: Value) -> object:
        """Return what the text says."""
        if isinstance(value, str):
            try:
                return self._read(value)
            except (ValueError, InvalidOperation):
                pass
        raise misfit(f"the text of a {self.kind.__name__}", value)

    def schema(self) -> JsonSchema:
        """Return the schema of the text."""
        return {"type": "string", **({"format": self._format} if self._format else {})}


@frozen
class Member(Leaf):
    """A member of an enumeration: its value, or its name if some member's value is no text and no number."""

    _values: Mapping[object, Value]
    _members: Mapping[Value, object]
    _kind: str

    @classmethod
    def of(cls, kind: type[Enum]) -> "Member":
        """Return the shape of an enumeration."""
        are_plain = all(isinstance(each.value, str) or is_number(each.value) for each in kind)
        values: dict[object, Value] = {each: each.value if are_plain else each.name for each in kind}
        members = {value: each for each, value in values.items()}
        return cls(MappingProxyType(values), MappingProxyType(members), kind.__name__)

    def write(self, value: object) -> Value:
        """Return the value or the name of the member."""
        if not isinstance(value, Enum) or value not in self._values:
            raise misfit(f"a member of {self._kind}", value)
        return self._values[value]

    def read(self, value: Value) -> object:
        """Return the member."""
        if (isinstance(value, str) or is_number(value)) and value in self._members:
            return self._members[value]
        raise misfit(f"a value of {self._kind}", value)

    def schema(self) -> JsonSchema:
        """Return the schema of the values."""
        return {"enum": list(self._members)}


@frozen
class OneOf(Leaf):
    """One of some literal values."""

    values: tuple[Value, ...]

    def write(self, value: object) -> Value:
        """Return the value."""
        for each in self.values:
            if type(each) is type(value) and each == value:
                return each
        raise misfit(f"one of {self.values}", value)

    def read(self, value: Value) -> object:
        """Return the value."""
        return self.write(value)

    def schema(self) -> JsonSchema:
        """Return the schema of the values."""
        return {"enum": list(self.values)}


@frozen
class ListOf:
    """A list of values of one shape; in the program it may be a tuple or a set."""

    element: Shape
    _make: Callable[[Iterable[object]], object]

    def write(self, value: object) -> Value:
        """Return the list; a set is sorted by its elements' texts (law 3)."""
        if not is_list(value):
            raise misfit("a list", value)
        written = []
        try:
            for each in value:
                written.append(self.element.write(each))  # noqa: PERF401 - its length is the place of a misfit
        except MisfitError as error:
            raise error.within(f"[{len(written)}]") from None
        return sorted(written, key=repr) if isinstance(value, set | frozenset) else written

    def read(self, value: Value) -> object:
        """Return what the program has in the place of the list."""
        if not isinstance(value, list):
            raise misfit("a list", value)
        found = []
        try:
            for each in value:
                found.append(self.element.read(each))  # noqa: PERF401 - its length is the place of a misfit
        except MisfitError as error:
            raise error.within(f"[{len(found)}]") from error.__cause__
        return self._make(found)

    def schema(self) -> JsonSchema:
        """Return the schema of the list."""
        return {"type": "array", "items": self.element.schema()}

    def classes(self) -> "Iterable[EventClass]":
        """Return the classes of its elements."""
        return self.element.classes()

    def field(self, name: str) -> Shape | None:  # noqa: ARG002 - the interface's
        """It has no fields."""
        return None


def is_list(value: object) -> TypeGuard[Sequence[object] | set[object] | frozenset[object]]:
    """Return whether a value of a program stands in an event as a list."""
    return isinstance(value, list | tuple | set | frozenset)


@frozen
class TupleOf(Leaf):
    """A tuple of so many values, each with a shape of its own; a list in an event."""

    _shapes: tuple[Shape, ...]

    def write(self, value: object) -> Value:
        """Return the list."""
        if not isinstance(value, tuple | list) or len(value) != len(self._shapes):
            raise misfit(f"{len(self._shapes)} values", value)
        written = []
        try:
            for shape, each in zip(self._shapes, value, strict=True):
                written.append(shape.write(each))
        except MisfitError as error:
            raise error.within(f"[{len(written)}]") from None
        return written

    def read(self, value: Value) -> object:
        """Return the tuple."""
        if not isinstance(value, list) or len(value) != len(self._shapes):
            raise misfit(f"a list of {len(self._shapes)}", value)
        found = []
        try:
            for shape, each in zip(self._shapes, value, strict=True):
                found.append(shape.read(each))
        except MisfitError as error:
            raise error.within(f"[{len(found)}]") from error.__cause__
        return tuple(found)

    def schema(self) -> JsonSchema:
        """Return the schema of the list."""
        count = len(self._shapes)
        items = [each.schema() for each in self._shapes]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}

    def classes(self) -> "Iterable[EventClass]":
        """Return the classes of its places."""
        return [each for shape in self._shapes for each in shape.classes()]

    @property
    def element(self) -> Shape:
        """Its elements are not alike."""
        return Anything()


@frozen
class MapOf:
    """A map of texts to values of one shape."""

    _value: Shape

    def write(self, value: object) -> Value:
        """Return the map."""
        if not isinstance(value, Mapping):
            raise misfit("a map", value)
        written = {}
        for key, each in value.items():
            if not isinstance(key, str):
                raise misfit("a map with texts for keys", value)
            try:
                written[str(key)] = self._value.write(each)
            except MisfitError as error:
                raise error.within(f"[{key!r}]") from None
        return written

    def read(self, value: Value) -> object:
        """Return the map."""
        if not isinstance(value, dict):
            raise misfit("a map", value)
        found = {}
        for key, each in value.items():
            try:
                found[key] = self._value.read(each)
            except MisfitError as error:
                raise error.within(f"[{key!r}]") from error.__cause__
        return found

    def schema(self) -> JsonSchema:
        """Return the schema of the map."""
        return {"type": "object", "additionalProperties": self._value.schema()}

    def classes(self) -> "Iterable[EventClass]":
        """Return the classes of its values."""
        return self._value.classes()

    def field(self, name: str) -> Shape:  # noqa: ARG002 - the interface's
        """Any key may be there."""
        return self._value

    @property
    def element(self) -> Shape | None:
        """It is no list."""
        return None


@frozen
class Alternatives:
    """A value of one of several shapes: the first that it fits."""

    _shapes: tuple[Shape, ...]

    def write(self, value: object) -> Value:
        """Return the value as the first shape writes it that it fits."""
        return self._first(lambda shape: shape.write(value))

    def read(self, value: Value) -> object:
        """Return the value as the first shape reads it that it fits."""
        return self._first(lambda shape: shape.read(value))

    def _first(self, use: Callable[[Shape], _Found]) -> _Found:
        misfits = []
        for shape in self._shapes:
            try:
                return use(shape)
            except MisfitError as error:
                misfits.append(error)
        deepest = max(misfits, key=lambda each: len(each.place))
        if not deepest.place:
            reasons = [each.reason.removeprefix(_EXPECTED).partition(", got ")[0] for each in misfits]
            deepest.reason = f"{_EXPECTED}{' or '.join(reasons)}, got {deepest.reason.partition(', got ')[2]}"
        raise deepest

    def schema(self) -> JsonSchema:
        """Return the schemas of all."""
        return {"anyOf": [each.schema() for each in self._shapes]}

    def classes(self) -> "Iterable[EventClass]":
        """Return the classes of all."""
        return [each for shape in self._shapes for each in shape.classes()]

    def field(self, name: str) -> Shape | None:
        """Return the field of the first that has it."""
        found = (each.field(name) for each in self._shapes)
        return next((each for each in found if each is not None), None)

    @property
    def element(self) -> Shape | None:
        """The elements of the first that has some."""
        found = (each.element for each in self._shapes)
        return next((each for each in found if each is not None), None)


TEXT: Final = Text()
PLAIN: Final[Mapping[object, Shape]] = MappingProxyType(
    {
        str: TEXT,
        bool: Truth(),
        int: Whole(),
        float: Floating(),
        type(None): Nothing(),
        object: Anything(),
        datetime: Converted(datetime, lambda value: value.isoformat(), datetime.fromisoformat, "date-time"),
        date: Converted(date, lambda value: value.isoformat(), date.fromisoformat, "date"),
        time: Converted(time, lambda value: value.isoformat(), time.fromisoformat, "time"),
        UUID: Converted(UUID, str, UUID, "uuid"),
        Decimal: Converted(Decimal, str, Decimal),
    }
)
"""The shapes of types without parts."""
