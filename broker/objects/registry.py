"""The event types that a program knows, by class and by name.

Laws.

1. A type is a name with a version. In events it stands twice: `Trade` for all versions, `Trade@2` for one.
2. The list of an event's types has the registered classes among the bases of its class, in the order in which
   Python looks for attributes: the class itself first.
3. An event is read as the first of its types that is known here and fits what was asked for. So an object of
   a class that nobody here knows comes as its nearest base.
4. A name with a version belongs to one class. A class that is defined again in its place, as in notebooks,
   takes it over.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar, overload

from attrs import define, field, frozen

from broker.errors import EventTypeError, InvalidPublicationError, UnreadableEventError
from broker.filters.values import Value
from broker.objects.classes import TYPES, EventClass, Reader
from broker.objects.misfits import MisfitError

T = TypeVar("T")

VERSION_MARK: Final = "@"


@frozen
class EventType:
    """A class with its name and version as events have them."""

    kind: type
    name: str
    version: int

    @property
    def tag(self) -> str:
        """The name with its version."""
        return f"{self.name}{VERSION_MARK}{self.version}"


@define(eq=False)
class Registry:
    """Event types. There is one for all programs of a process, `REGISTRY`."""

    _types: dict[type, EventType] = field(factory=dict, init=False)
    _tags: dict[str, type] = field(factory=dict, init=False)
    _names: dict[type, tuple[str, ...]] = field(factory=dict, init=False)
    _reader: Reader = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reader = Reader(self)

    def register(self, kind: type, name: str, version: int) -> None:
        """Make the objects of a class events.

        Raises:
            EventTypeError: the class cannot be mapped, or another one has its name; the text says which.
        """
        event_type = EventType(kind, name or kind.__name__, version)
        if not all(part.isidentifier() for part in event_type.name.split(".")):
            raise EventTypeError(
                f"{event_type.name!r} is no name of a type: take identifiers with dots: name='shop.Trade'"
            )
        if version < 1:
            raise EventTypeError(f"{kind.__name__}: a version is 1 or more, not {version}")
        other = self._tags.get(event_type.tag)
        if other is not None and other is not kind and _place(other) != _place(kind):
            raise EventTypeError(
                f"{_place(kind)} and {_place(other)} are both registered as {event_type.tag}: "
                "give one of them another name or version"
            )
        self._reader.read(kind)
        if other is not None and other is not kind:
            del self._types[other]
        self._types[kind] = event_type
        self._tags[event_type.tag] = kind
        self._names.clear()

    def type_of(self, kind: type) -> EventType:
        """Return the name and version of a class.

        Raises:
            EventTypeError: it is not registered.
        """
        found = self._types.get(kind)
        if found is None:
            raise EventTypeError(f"{kind.__name__} is not registered: write @events.register above it")
        return found

    # --- for the fields of classes ---

    def names_of(self, kind: type) -> tuple[str, ...]:
        """Return what stands in the list of types of an object of this class; nothing if it has none."""
        if (known := self._names.get(kind)) is not None:
            return known
        found = [self._types[each] for each in kind.__mro__ if each in self._types]
        texts = [text for each in found for text in (each.tag, each.name)] if kind in self._types else []
        return self._names.setdefault(kind, tuple(dict.fromkeys(texts)))

    def known(self, names: Value, base: type) -> type | None:
        """Return the first class of a list of types that is known here and is the base or below it."""
        for each in names if isinstance(names, list) else ():
            kind = self._tags.get(each) if isinstance(each, str) else None
            if kind is not None and issubclass(kind, base):
                return kind
        return None

    def class_of(self, kind: type) -> EventClass:
        """Return the fields of a class."""
        return self._reader.read(kind)

    # --- events ---

    def attributes_of(self, value: object) -> dict[str, Value]:
        """Return the attributes of an object as an event.

        Raises:
            InvalidPublicationError: its class is not registered, or a field has a value that does not fit.
        """
        kind = type(value)
        try:
            self.type_of(kind)
            return self.class_of(kind).attributes(value)
        except EventTypeError as error:
            raise InvalidPublicationError(f"cannot publish this: {error}") from None
        except MisfitError as error:
            raise InvalidPublicationError(f"cannot publish this: {error}") from error

    def object_of(self, attributes: Mapping[str, Value], base: type[T]) -> T:
        """Return the object of an event's attributes: of the base, or of the nearest class below it.

        Raises:
            UnreadableEventError: no type of the event is known here, or its attributes do not fit the class.
        """
        names = attributes.get(TYPES)
        kind = self.known(names, base)
        if kind is None:
            wanted = "" if base is object else f" as {base.__name__}"
            raise UnreadableEventError(
                f"an event with the types {names!r:.200} cannot be read{wanted}: none of them is known here"
            )
        try:
            made = self.class_of(kind).made_of(attributes)
        except MisfitError as error:
            raise UnreadableEventError(f"an event cannot be read: {error}") from error
        assert isinstance(made, base)
        return made


def _place(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


REGISTRY: Final = Registry()


@overload
def register(kind: type[T], /, *, name: str = "", version: int = 1) -> type[T]: ...


@overload
def register(*, name: str = "", version: int = 1) -> Callable[[type[T]], type[T]]: ...


def register(
    kind: type[T] | None = None, /, *, name: str = "", version: int = 1
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make the objects of a class events: an attrs class, a dataclass or a pydantic model.

    It is a decorator, with options or without, or a call.

    Args:
        kind: the class.
        name: what it is called in events; the name of the class unless given.
        version: which version of that name it is: several may be registered side by side.

    Raises:
        EventTypeError: the class cannot be mapped, or another one has its name; the text says which.
    """

    def registered(kind: type[T]) -> type[T]:
        REGISTRY.register(kind, name, version)
        return kind

    return registered if kind is None else registered(kind)
