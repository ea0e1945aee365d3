"""A publisher's side of the machine: it checks and encodes events, and appends them to the window. No I/O.

`put` is the hot path of publishing; every shell's publisher calls it, and nothing else for each publication.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from attrs import define, field

from broker.client.machine import ClientMachine
from broker.client.window import SendWindow, Source
from broker.errors import ClosedError, InvalidPublicationError, NotAdvertisedError
from broker.filters import Filter
from broker.filters.constraints import Value
from broker.wire import WireError, encode_publication

_CLASS_MARKS: Final = ("__attrs_attrs__", "__dataclass_fields__", "__pydantic_core_schema__")
"""By these attributes classes are known whose objects may be events."""


class DocumentCheck(Protocol):
    """What events have to fit beside the advertised filter."""

    def fits(self, attributes: Mapping[str, Value], /) -> bool:
        """Return whether an event fits."""
        ...

    def failing(self, attributes: Mapping[str, Value], /) -> str:
        """Return what does not fit, and where."""
        ...


@define(eq=False)
class Outbox:
    """One publisher's side of the window. `is_notified`: the user has got the error that ended it."""

    source: Source
    filter: Filter
    _machine: ClientMachine
    _check: DocumentCheck | None = None
    is_closed: bool = field(default=False, init=False)
    is_notified: bool = field(default=False, init=False)
    _matches: Callable[[Mapping[str, Value]], bool] = field(init=False)
    _window: SendWindow = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._matches = matches = self.filter.compiled()
        if (check := self._check) is not None:
            self._matches = lambda attributes: matches(attributes) and check.fits(attributes)
        self._window = self._machine.session.window

    def put(
        self,
        event: object,
        payload: bytes | bytearray | memoryview,
        published_ns: int,
        ordered: bool,  # noqa: FBT001 - on the hot path a keyword costs time
    ) -> int:
        """Append a publication and return its number; or 0 if `refill` has to be waited for first.

        An event is a mapping of names to values, or an object of a registered class.

        Raises:
            NotAdvertisedError: the advertisement does not match; the message shows what fails.
            InvalidPublicationError: an attribute or the payload cannot be published.
        """
        attributes: dict[str, Value] = event if type(event) is dict else _as_dict(event)
        if type(payload) is not bytes:
            payload = _as_bytes(payload)
        if not self._matches(attributes):
            self._refuse(attributes)
        source, window = self.source, self._window
        if window.quota_bytes <= 0 or source.ended is not None or self.is_closed:
            return 0
        try:
            frame = encode_publication(
                source.prefix, source.sequence + 1, published_ns, attributes, payload, ordered
            )
        except WireError as error:
            raise InvalidPublicationError(f"cannot publish this: {error.text}") from None
        return window.append(source, frame)

    @property
    def has_room(self) -> bool:
        """Whether `put` need not wait: the window has room, or the publisher has ended."""
        return not self._window.is_full or self.is_over

    @property
    def is_over(self) -> bool:
        """Whether nothing can be published here any more."""
        return self.source.ended is not None or self.is_closed

    def refill(self) -> None:
        """Allow `put` to go on for a while; call it when others had their turn and there `has_room`.

        Raises:
            ConcordError: as `check` does.
        """
        self.check()
        self._window.refill()

    def check(self) -> None:
        """Raise the error that has ended this publisher.

        Raises:
            PublisherEndedError: the broker has ended this publisher.
            ConcordError: the publisher is closed, or the client has failed.
        """
        if self.is_closed:
            raise ClosedError(
                f"the publisher {self.source.id} was used after its advertise block had been left"
            )
        if self.source.ended is not None:
            self.is_notified = True
            raise self.source.ended
        self._machine.check()

    @property
    def is_unsettled(self) -> bool:
        """Whether something is still in the window, or the user does not know what ended the publisher."""
        return bool(self.source.pending_count) or (self.source.ended is not None and not self.is_notified)

    def close(self) -> None:
        """Leave: what is in the window is still sent, then the advertisement is withdrawn."""
        self.is_closed = True
        self._machine.session.unadvertise(self.source)

    def _refuse(self, attributes: Mapping[str, Value]) -> None:
        """Raise what is wrong: first with the attributes themselves, then with the advertisement."""
        try:
            encode_publication(self.source.prefix, 1, 0, attributes, b"", ordered=False)
        except WireError as error:
            raise InvalidPublicationError(f"cannot publish this: {error.text}") from None
        if self._check is not None and self.filter.match(attributes):
            raise NotAdvertisedError(
                f"{dict(attributes)!r} does not fit the schema of the advertisement {self.source.filter!r}: "
                f"{self._check.failing(attributes)}"
            )
        raise NotAdvertisedError(
            f"{dict(attributes)!r} is not covered by the advertisement {self.source.filter!r}: "
            f"{self.filter.failing(attributes)}"
        )


def _as_dict(event: object) -> dict[str, Value]:
    if isinstance(event, Mapping):
        return dict(event)
    if not any(hasattr(type(event), mark) for mark in _CLASS_MARKS):
        kind = type(event).__name__
        raise InvalidPublicationError(f"attributes: expected a mapping of names to values, got {kind}")
    from broker.objects import REGISTRY  # noqa: PLC0415 - only who publishes objects loads it

    return REGISTRY.attributes_of(event)


def _as_bytes(payload: object) -> bytes:
    if not isinstance(payload, bytes | bytearray | memoryview):
        kind = type(payload).__name__
        raise InvalidPublicationError(f"payload: expected bytes, got {kind}; encode it first")
    return bytes(payload)
