"""Deliveries, and gaps where deliveries are missing.

A `Delivery` keeps the frame it came in and decodes it when an attribute is first read: a program that counts,
samples or forwards pays for nothing else, and the others pay the same as they would at arrival.

Its frame was checked when it arrived, its body is trusted: `broker.wire.decoder` says what that is, and why.

The class is written out, and no attrs class, because the compiled form makes an extension type of it
(`delivery.pxd`).
"""

from collections.abc import Callable, Mapping
from typing import Final

import cbor2
from attrs import field, frozen

from broker.errors import BrokerFaultError
from broker.filters.constraints import Value
from broker.form import IS_COMPILED
from broker.wire.events import EventReader, give_back, read_delivered, recognise
from broker.wire.header import HEADER

BOUND: Final = "bound"
LOST: Final = "lost"
REPLAY: Final = "replay"
TAKEN: Final = "taken"
FORGOTTEN: Final = "forgotten"
"""Why deliveries are missing; all but the last are the broker's words, that is what the client finds."""

_WHY: Final = {
    BOUND: "the subscription's queue at the broker was full",
    LOST: "a broker or a link on their way was lost",
    TAKEN: "the program goes back behind what it had said that it had, and the broker keeps that no more",
    REPLAY: "not all of the past that was asked for could be replayed",
    FORGOTTEN: "the broker does not know any more what this subscription has had",
}

NOT_MANUAL: Final = "this subscription needs no acknowledgements: make it with ack='manual' to give them"

_NS_PER_S: Final = 1e-9
_UNREADABLE: Final = "the broker delivered at position {} what is no publication"

_loads: Final = cbor2.loads
_BODY_AT: Final = HEADER.size
_FLAGS_AT: Final = _BODY_AT - 1
_ORDERED: Final = 0x01
_REPLAYED: Final = 0x02


class Delivery:
    """One publication, delivered to one subscription.

    `position` is its position in the subscription, counted from 1 over all connections.
    """

    __slots__ = (
        "__weakref__",
        "_acknowledge",
        "_attributes",
        "_payload",
        "_published_ns",
        "_publisher",
        "_sequence",
        "frame",
        "position",
    )

    _acknowledge: Callable[[int], None]
    """There only if the program acknowledges: all others pay nothing for it."""
    _publisher: str
    _sequence: int
    _published_ns: int
    _payload: bytes
    """These are there once `_attributes` is."""

    def __init__(self, frame: bytes, position: int = 0) -> None:
        self.frame = frame
        self.position = position
        self._attributes: Mapping[str, Value] | None = None

    @classmethod
    def open(cls, acknowledge: Callable[[int], None], frame: bytes, position: int) -> "Delivery":
        """Make a delivery that its program acknowledges."""
        delivery = cls(frame, position)
        delivery._acknowledge = acknowledge
        return delivery

    def ack(self) -> None:
        """Acknowledge this delivery and all before it: the program is done with them.

        Raises:
            ValueError: the subscription was not made with `ack="manual"`.
            ClosedError: its block has been left; the delivery comes again to the next program of that name.
        """
        acknowledge: Callable[[int], None] | None = getattr(self, "_acknowledge", None)
        if acknowledge is None:
            raise ValueError(NOT_MANUAL)
        acknowledge(self.position)

    def _decode(self) -> None:
        """Read all fields. What is usual, the compiled form reads in its own way."""
        if IS_COMPILED and (reader := read_delivered(self.frame)) is not None:
            self._take(reader)
            return
        try:
            publisher, sequence, published_ns, attributes, payload = _loads(self.frame[_BODY_AT:])
            self._sequence, self._published_ns = sequence, published_ns
        except (cbor2.CBORError, TypeError, ValueError, OverflowError) as error:
            raise BrokerFaultError(_UNREADABLE.format(self.position), "malformed") from error
        if type(attributes) is not dict:
            raise BrokerFaultError(_UNREADABLE.format(self.position), "malformed")
        if IS_COMPILED:
            recognise(attributes)
        self._publisher = publisher
        self._attributes, self._payload = attributes, payload

    def _take(self, reader: EventReader) -> None:
        self._publisher = reader.publisher
        self._sequence = reader.sequence
        self._published_ns = reader.published_ns
        self._attributes = reader.attributes
        data = self.frame
        self._payload = data[reader.payload_at : len(self.frame)]
        give_back(reader)

    @property
    def publisher(self) -> str:
        """The id of its publisher, unique in the overlay."""
        if self._attributes is None:
            self._decode()
        return self._publisher

    @property
    def sequence(self) -> int:
        """Its number among its publisher's publications, from 1."""
        if self._attributes is None:
            self._decode()
        return self._sequence

    @property
    def published_ns(self) -> int:
        """When it was published, in nanoseconds since 1970 by the publisher's clock."""
        if self._attributes is None:
            self._decode()
        return self._published_ns

    @property
    def published_at(self) -> float:
        """When it was published, in seconds since 1970 by the publisher's clock, as `time.time()` counts."""
        return self.published_ns * _NS_PER_S

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The attributes that filters match."""
        if self._attributes is None:
            self._decode()
        assert self._attributes is not None
        return self._attributes

    @property
    def payload(self) -> bytes:
        """The payload, which filters do not see."""
        if self._attributes is None:
            self._decode()
        return self._payload

    @property
    def ordered(self) -> bool:
        """Whether it was published with `ordered=True`."""
        return self.frame[_FLAGS_AT] & _ORDERED == _ORDERED

    @property
    def replayed(self) -> bool:
        """Whether it is of the past that the subscription asked for; what is live comes behind all of it."""
        return self.frame[_FLAGS_AT] & _REPLAYED == _REPLAYED

    def __repr__(self) -> str:
        attributes, size = dict(self.attributes), len(self.payload)
        return f"<Delivery {self.publisher} {self.sequence} {attributes!r} with {size} bytes>"


@frozen
class Gap:
    """Here deliveries are missing: so many, or an unknown number (None), which may be none.

    `reason` is "bound" (the subscription's queue was full), "lost" (a broker or a link was lost for good),
    "taken" (the program went back behind what it had), "replay" (not all of the past that was asked for could
    be replayed) or "forgotten" (the broker restarted without its memory, or the subscription was disconnected
    for too long).
    """

    count: int | None
    reason: str = field(default="", eq=False)

    def __add__(self, other: "Gap") -> "Gap":
        """Two gaps with nothing between them are one; "forgotten" (positions begin anew) goes first."""
        if self.count is None or other.count is None:
            unknown = other if self.count is not None or other.reason == FORGOTTEN else self
            return Gap(None, unknown.reason)
        return Gap(self.count + other.count, self.reason)

    def __str__(self) -> str:
        why = f": {_WHY[self.reason]}" if self.reason in _WHY else ""
        if self.count is None:
            return f"an unknown number of deliveries may be missing here{why}"
        return f"{self.count} deliveries are missing here{why}"
