"""Classes as event types: the fields of attrs classes, dataclasses and pydantic models.

Laws.

1. A class that cannot be mapped is refused when it is registered, with its name and that of the field.
2. A nested object whose class is registered has a list of its types, as an event has: an object of a derived
   class is read as one, where that is known.
3. Fields with a default may be absent from an event, and an event may have attributes that are no fields: so
   publishers and subscribers need not change a class at one time.
"""

import dataclasses
import enum
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin

import attrs
from attrs import define, field, frozen

from broker.errors import EventTypeError
from broker.filters.values import Value, is_number
from broker.objects.misfits import MisfitError, misfit
from broker.objects.shapes import (
    PLAIN,
    Alternatives,
    Anything,
    JsonSchema,
    ListOf,
    MapOf,
    Member,
    OneOf,
    Shape,
    TupleOf,
)

TYPES: Final = "types"
"""The attribute that lists the types of an event, from the class itself to its last base."""

_LISTS: Final[Mapping[object, Callable[[Iterable[object]], object]]] = {
    list: list,
    abc.Sequence: list,
    abc.Iterable: list,
    abc.Collection: list,
    set: set,
    abc.Set: frozenset,
    frozenset: frozenset,
}
_MAPS: Final = frozenset({dict, abc.Mapping, abc.MutableMapping})
_UNIONS: Final = frozenset({Union, types.UnionType})


@frozen
class EventField:
    """One field: its name in events, its attribute in objects, and its argument when an object is made."""

    name: str
    attribute: str
    argument: str
    """"" if the class sets the field by itself."""
    is_required: bool
    shape: Shape


class TypeNames(typing.Protocol):
    """What a class needs of the registry."""

    def names_of(self, kind: type) -> tuple[str, ...]:
        """Return what stands in the list of types of an object of this class; nothing if it has none."""
        ...

    def known(self, names: Value, base: type) -> type | None:
        """Return the first class of a list of types that is known here and is the base or below it."""
        ...

    def class_of(self, kind: type) -> "EventClass":
        """Return the fields of a class."""
        ...


@define(eq=False)
class EventClass:
    """A class whose objects are events, or parts of events. It is the shape of its objects."""

    kind: type
    _registry: TypeNames
    fields: dict[str, EventField] = field(factory=dict, init=False)

    @property
    def name(self) -> str:
        """The name of the class, for errors."""
        return self.kind.__name__

    # --- objects ---

    def attributes(self, value: object) -> dict[str, Value]:
        """Return the attributes of an object of exactly this class; a misfit names the class and field."""
        try:
            return self._attributes(value)
        except MisfitError as error:
            raise error.within(self.name) from None

    def _attributes(self, value: object) -> dict[str, Value]:
        names = self._registry.names_of(self.kind)
        written: dict[str, Value] = {TYPES: list(names)} if names else {}
        for each in self.fields.values():
            try:
                written[each.name] = each.shape.write(getattr(value, each.attribute))
            except MisfitError as error:
                raise error.within(f".{each.name}") from None
        return written

    def made_of(self, attributes: Mapping[str, Value]) -> object:
        """Return the object of these attributes; a misfit names the class and field."""
        try:
            return self._made_of(attributes)
        except MisfitError as error:
            raise error.within(self.name) from error.__cause__

    def _made_of(self, attributes: Mapping[str, Value]) -> object:
        arguments = {}
        for each in self.fields.values():
            if each.argument and each.name in attributes:
                try:
                    arguments[each.argument] = each.shape.read(attributes[each.name])
                except MisfitError as error:
                    raise error.within(f".{each.name}") from error.__cause__
            elif each.argument and each.is_required:
                raise MisfitError("it is absent from the event, and has no default").within(f".{each.name}")
        try:
            made: object = self.kind(**arguments)
        except Exception as error:  # the class has its own ideas of what is right
            reason = " ".join(str(error).split())
            raise MisfitError(f"the class refuses the event: {type(error).__name__}: {reason}") from error
        return made

    # --- as the shape of a field ---

    def write(self, value: object) -> Value:
        """Return the map of an object of this class, or of a class below it."""
        if not isinstance(value, self.kind):
            raise misfit(f"a {self.name}", value)
        registry, kind = self._registry, type(value)
        owner = registry.class_of(kind) if kind is not self.kind and registry.names_of(kind) else self
        return owner._attributes(value)  # noqa: SLF001 - its own class

    def read(self, value: Value) -> object:
        """Return the object of a map, of the nearest class that is known."""
        if not isinstance(value, dict):
            raise misfit(f"the map of a {self.name}", value)
        kind = self._registry.known(value.get(TYPES), self.kind)
        owner = self if kind is None else self._registry.class_of(kind)
        return owner._made_of(value)  # noqa: SLF001 - its own class

    def classes(self) -> Iterable["EventClass"]:
        """Return itself."""
        return (self,)

    def field(self, name: str) -> Shape | None:
        """Return the shape of a field, or None if there is no such field."""
        found = self.fields.get(name)
        return None if found is None else found.shape

    @property
    def element(self) -> Shape | None:
        """It is no list."""
        return None

    def schema(self) -> JsonSchema:
        """Return a reference to what JSON Schema says of the class (`broker.objects.schemas`)."""
        return {"$ref": f"#/$defs/{self.name}"}


class Reader:
    """Reads the fields of classes, each class once."""

    def __init__(self, registry: TypeNames) -> None:
        self._registry = registry
        self.classes: dict[type, EventClass] = {}

    def read(self, kind: type) -> EventClass:
        """Return the fields of a class.

        Raises:
            EventTypeError: it cannot be mapped; the text names the class and the field.
        """
        if (known := self.classes.get(kind)) is not None:
            return known
        made = self.classes[kind] = EventClass(kind, self._registry)
        try:
            made.fields = {each.name: each for each in self._fields(kind)}
        except BaseException:
            del self.classes[kind]
            raise
        return made

    def _fields(self, kind: type) -> Iterable[EventField]:
        if attrs.has(kind):
            return self._of_attrs(kind)
        if dataclasses.is_dataclass(kind):
            return self._of_dataclass(kind)
        if (found := _pydantic_fields(kind)) is not None:
            return self._of_pydantic(kind, found)
        raise EventTypeError(
            f"{kind.__name__} is no attrs class, dataclass or pydantic model, so its fields are not known"
        )

    def _of_attrs(self, kind: type[attrs.AttrsInstance]) -> Iterable[EventField]:
        hints = _hints(kind)
        for each in attrs.fields(kind):
            name = each.alias or each.name
            shape = self._shape(hints.get(each.name, each.type), kind, name)
            argument = name if each.init else ""
            yield EventField(name, each.name, argument, each.default is attrs.NOTHING, shape)

    def _of_dataclass(self, kind: type) -> Iterable[EventField]:
        hints = _hints(kind)
        for each in dataclasses.fields(kind):
            has_default = each.default is not dataclasses.MISSING
            has_default |= each.default_factory is not dataclasses.MISSING
            shape = self._shape(hints.get(each.name, each.type), kind, each.name)
            yield EventField(each.name, each.name, each.name if each.init else "", not has_default, shape)

    def _of_pydantic(self, kind: type, fields: Mapping[str, Any]) -> Iterable[EventField]:
        for name, each in fields.items():
            shape = self._shape(each.annotation, kind, name)
            yield EventField(name, name, each.alias or name, bool(each.is_required()), shape)

    # --- annotations ---

    def _shape(self, annotation: object, owner: type, name: str) -> Shape:
        """Return the shape of an annotation of a field."""
        where = f"{owner.__name__}.{name}"
        if name == TYPES:
            raise EventTypeError(f"{where}: this name is taken by the list of an event's types; rename it")
        found = self._found(annotation, where)
        if found is None:
            shown = getattr(annotation, "__name__", None) or str(annotation)
            raise EventTypeError(
                f"{where}: {shown} has no place in an event; take text, numbers, truth values, None, dates,"
                " enumerations, lists, maps with texts for keys, or classes of these"
            )
        return found

    def _found(self, annotation: object, where: str) -> Shape | None:
        if isinstance(annotation, NewType):
            return self._found(annotation.__supertype__, where)
        origin = get_origin(annotation)
        if origin is not None:
            return self._generic(origin, get_args(annotation), where)
        if annotation is Any:
            return Anything()
        return self._class(annotation) if isinstance(annotation, type) else None

    def _class(self, annotation: type) -> Shape | None:
        if (plain := PLAIN.get(annotation)) is not None:
            return plain
        if (make := _LISTS.get(annotation)) is not None:
            return ListOf(Anything(), make)
        if annotation in _MAPS:
            return MapOf(Anything())
        if issubclass(annotation, enum.Enum):
            return Member.of(annotation)
        if attrs.has(annotation) or dataclasses.is_dataclass(annotation) or _pydantic_fields(annotation):
            return self.read(annotation)
        return None

    def _generic(self, origin: object, arguments: tuple[Any, ...], where: str) -> Shape | None:
        if origin is Annotated:
            return self._found(arguments[0], where)
        if origin is Literal:
            return OneOf(arguments) if all(map(_is_scalar, arguments)) else None
        if origin in _UNIONS:
            return self._all(arguments, where, Alternatives)
        return self._tuple(arguments, where) if origin is tuple else self._many(origin, arguments, where)

    def _many(self, origin: object, arguments: tuple[Any, ...], where: str) -> Shape | None:
        if (make := _LISTS.get(origin)) is not None:
            element = self._found(arguments[0], where)
            return None if element is None else ListOf(element, make)
        if origin in _MAPS and arguments[0] is str:
            value = self._found(arguments[1], where)
            return None if value is None else MapOf(value)
        return None

    def _tuple(self, arguments: tuple[Any, ...], where: str) -> Shape | None:
        if len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004 - tuple[X, ...]
            element = self._found(arguments[0], where)
            return None if element is None else ListOf(element, tuple)
        return self._all(arguments, where, TupleOf)

    def _all(
        self, arguments: tuple[Any, ...], where: str, make: Callable[[tuple[Shape, ...]], Shape]
    ) -> Shape | None:
        shapes = [self._found(each, where) for each in arguments]
        found = tuple(each for each in shapes if each is not None)
        return make(found) if len(found) == len(shapes) else None


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | bool) or is_number(value)


def _pydantic_fields(kind: type) -> Mapping[str, Any] | None:
    """Return the fields of a pydantic model, or None; pydantic itself is not imported for that."""
    if not hasattr(kind, "__pydantic_core_schema__"):
        return None
    fields: Mapping[str, Any] | None = getattr(kind, "model_fields", None)
    return fields


def _hints(kind: type) -> Mapping[str, Any]:
    """Return the annotations of a class, with those that are texts read."""
    try:
        return typing.get_type_hints(kind, localns={kind.__name__: kind}, include_extras=True)
    except NameError as error:
        raise EventTypeError(
            f"{kind.__name__}: an annotation names {error.name}, which is not known where the class stands"
        ) from error
