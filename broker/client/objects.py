"""Deliveries that come as objects, for subscriptions by a class."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, overload

import attrs

from broker.client.deliveries import BATCH_COUNT, Deliveries
from broker.client.delivery import Delivery, Gap
from broker.filters.values import Value
from broker.objects import REGISTRY

T = TypeVar("T")


class _Dataclass(Protocol):
    """What every dataclass has."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class _Model(Protocol):
    """What every pydantic model has."""

    def model_dump_json(self) -> str: ...


EventObject = attrs.AttrsInstance | _Dataclass | _Model
"""An object of a class that may be registered."""


class ObjectDelivery(Delivery, Generic[T]):
    """A delivery of a subscription by a class: `object` is what was published."""

    __slots__ = ("_object",)

    _base: ClassVar[type[Any]] = object
    _object: T

    @property
    def object(self) -> T:
        """The object of this event: of the class that was subscribed to, or of the nearest one below it.

        Raises:
            UnreadableEventError: the event does not fit the class; the message names the field.
        """
        try:
            return self._object
        except AttributeError:
            self._object = REGISTRY.object_of(self.attributes, self._base)
            return self._object


class ObjectDeliveries(Deliveries, Generic[T]):
    """The deliveries of a subscription by a class. Made by `Client.subscribe`."""

    if TYPE_CHECKING:

        def __aiter__(self) -> AsyncIterator[ObjectDelivery[T]]: ...

        async def __anext__(self) -> ObjectDelivery[T]: ...

        def with_gaps(self) -> AsyncIterator[ObjectDelivery[T] | Gap]:
            """Yield deliveries, and each gap as a `Gap` at its position."""

        def batches(  # type: ignore[override]  # a list of these is read as a list of deliveries
            self, max_count: int = BATCH_COUNT, max_s: float = 0
        ) -> AsyncIterator[list[ObjectDelivery[T]]]:
            """Yield lists of deliveries."""


def delivery_class(base: type[T]) -> type[ObjectDelivery[T]]:
    """Return the class of the deliveries of one subscription: they know what was subscribed to."""
    return type("ObjectDelivery", (ObjectDelivery,), {"__slots__": (), "_base": base})


def attributes_of(event: EventObject) -> dict[str, Value]:
    """Return the attributes that an object of a registered class has as an event.

    Raises:
        InvalidPublicationError: its class is not registered, or a field has a value that does not fit.
    """
    return REGISTRY.attributes_of(event)


@overload
def object_of(event: Delivery | Mapping[str, Value]) -> object: ...


@overload
def object_of(event: Delivery | Mapping[str, Value], base: type[T]) -> T: ...


def object_of(event: Delivery | Mapping[str, Value], base: type[Any] = object) -> Any:
    """Return the object of any event: of the first of its types that is registered here.

    With a base: of that class, or of one below it.

    Raises:
        UnreadableEventError: no type of the event is known here, or its attributes do not fit the class.
    """
    attributes = event.attributes if isinstance(event, Delivery) else event
    return REGISTRY.object_of(attributes, base)
