"""The inputs of a station as records: bytes that are kept and applied again.

A record is one byte for its kind and then its content. Publications are written as the very bytes they came
in; everything else is a CBOR array of fields, as on the wire. The highest bit of the first byte says that the
station's effects were taken between the record before and this one: which messages leave together depends on
it, and so do their numbers.

Adding an input is adding a class here, a line to `KINDS`, and a method of the station.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Final, cast

import cbor2
from attrs import AttrsInstance, frozen

from broker.errors import StationError
from broker.filters import Filter
from broker.messages import LinkMessage, Publication
from broker.station.states import SubscriptionTerms
from broker.wire import VERSION, Decoder, Peer, WireError, WireLimits, encode, marked
from broker.wire.cbor import load_item
from broker.wire.fields import Field, fields_of, read_fields, write_fields

FORMAT: Final = f"3.{VERSION}"
"""Of records: ours, and that of the frames in them."""

TAKEN: Final = 0x80
"""The bit of a record's first byte that says that effects were taken before it."""

LIMITS: Final = WireLimits(
    payload_bytes=2**30, attributes_bytes=2**30, control_frame_bytes=2**30, page_frame_bytes=2**30
)
"""An input that was taken once is read again, whatever limits the operator has set since."""

_HOP: Final = struct.Struct(">I")


@frozen
class Begun:
    """The first record: the broker, its plugin and the format, which is compared before all else."""

    format: str
    name: str
    incarnation: str
    ordering: str


@frozen
class ReachedAt:
    """Other brokers dial this broker at this address."""

    address: str


@frozen
class TimePassed:
    """Time has passed, with the broker up and down; `at_ms` is the time of the wall clock."""

    awake_ms: int
    asleep_ms: int
    at_ms: int


@frozen
class Left:
    """The session of a link, publisher or subscription is disconnected."""

    kind: str
    name: str


@frozen
class Came:
    """The session is connected again."""

    kind: str
    name: str


@frozen
class LinkOpened:
    """A link with a new session was opened."""

    name: str
    session: str
    is_uplink: bool


@frozen
class LinkClosed:
    """The link of that hop is declared lost."""

    hop: int


@frozen
class Acknowledged:
    """The neighbour has acknowledged the first `count` session frames."""

    hop: int
    count: int


@frozen
class AdvertisedInput:
    """A local publisher is advertised. `minted` counts the ids made so far."""

    publisher: str
    filter: Filter
    client: str
    user: str
    minted: int


@frozen
class Unadvertised:
    """A local publisher is withdrawn; if it retires, it may be resumed."""

    publisher: str
    retires: bool


@frozen
class SubscribedInput:
    """A local client subscribes. `replay` is the start and number of the past publications it asks for."""

    subscription: str
    terms: SubscriptionTerms
    minted: int
    replay: tuple[int, ...] = ()


@frozen
class ReplayWanted:
    """A subscription has room for this many bytes of replay."""

    subscription: str
    size_bytes: int


@frozen
class ReplaysBounded:
    """The limits of the cache of local publications, and of one step of replay."""

    size_bytes: int
    count: int
    part_bytes: int
    step_count: int


@frozen
class CacheAged:
    """Cached publications older than this are dropped."""

    before_ns: int


@frozen
class PositionMarked:
    """Neighbours get a mark of the position in the cache."""


@frozen
class Unsubscribed:
    """A local subscription ends."""

    subscription: str


@frozen
class Taken:
    """The program has confirmed all deliveries of a subscription up to this position."""

    subscription: str
    position: int


@frozen
class Dropped:
    """The newest `count` deliveries of a subscription became a gap."""

    subscription: str
    count: int


@frozen
class WayExplained:
    """A local client asks for the way of a publication."""

    question: str
    publisher: str
    sequence: int
    minted: int


@frozen
class MoveWanted:
    """A local client asks a broker of the overlay to move below another one."""

    question: str
    broker: str
    uplink: str
    method: str
    minted: int


@frozen
class StepFailed:
    """The broker for a step of a move was not reached."""

    text: str


@frozen
class CrossingContinued:
    """A new neighbour is to learn the next part of what it is to know."""


@frozen
class Refreshed:
    """It is time to renew all announcements at neighbours."""


@frozen
class Swept:
    """Routing state expires that so many renewals in a row have left out."""

    missed_renewals_max: int


@frozen
class ReceivedInput:
    """Messages arrived over the link of that hop."""

    hop: int
    messages: Sequence[LinkMessage]


@frozen
class PublishedInput:
    """A local publisher has published."""

    publications: Sequence[Publication]


Input = (
    Begun
    | ReachedAt
    | TimePassed
    | Left
    | Came
    | LinkOpened
    | LinkClosed
    | Acknowledged
    | AdvertisedInput
    | Unadvertised
    | SubscribedInput
    | Unsubscribed
    | Taken
    | Dropped
    | WayExplained
    | MoveWanted
    | StepFailed
    | CrossingContinued
    | Refreshed
    | Swept
    | ReplayWanted
    | ReplaysBounded
    | CacheAged
    | PositionMarked
    | ReceivedInput
    | PublishedInput
)

BEGUN: Final = 0x01
RECEIVED: Final = 0x02
PUBLISHED: Final = 0x03

KINDS: Final[dict[int, type[AttrsInstance]]] = {
    BEGUN: Begun,
    0x08: ReachedAt,
    0x09: TimePassed,
    0x0A: Left,
    0x0B: Came,
    0x10: LinkOpened,
    0x11: LinkClosed,
    0x12: Acknowledged,
    0x20: AdvertisedInput,
    0x21: Unadvertised,
    0x22: SubscribedInput,
    0x23: Unsubscribed,
    0x24: Taken,
    0x25: Dropped,
    0x26: WayExplained,
    0x27: MoveWanted,
    0x2B: StepFailed,
    0x2C: CrossingContinued,
    0x30: Refreshed,
    0x31: Swept,
    0x28: ReplayWanted,
    0x29: ReplaysBounded,
    0x2A: CacheAged,
    0x2D: PositionMarked,
}
"""Inputs that are written as their fields. A number once used is never used again for something else."""

_KIND_OF: Final = {owner: kind for kind, owner in KINDS.items()}
_FIELDS: Final[dict[int, tuple[Field, ...]]] = {kind: fields_of(owner) for kind, owner in KINDS.items()}


# --- writing ------------------------------------------------------------------------------------------


def record_of(content: AttrsInstance, taken: int) -> bytes:
    """Write an input that is its fields; `taken` is `TAKEN` or 0."""
    kind = _KIND_OF[type(content)]
    return bytes((kind | taken,)) + cbor2.dumps(write_fields(_FIELDS[kind], content))


def record_of_received(hop: int, messages: Iterable[LinkMessage], taken: int) -> bytes:
    """Write what came over a link: its frames."""
    return b"".join([bytes((RECEIVED | taken,)), _HOP.pack(hop), *map(frame_of, messages)])


def record_of_published(publications: Iterable[Publication], taken: int) -> bytes:
    """Write what a local publisher published: its frames."""
    return b"".join([bytes((PUBLISHED | taken,)), *[each.frame for each in publications]])


def frame_of(message: LinkMessage) -> bytes:
    """Return the frame of a message on a link."""
    if isinstance(message, Publication):
        return marked(message.frame, message.mark) if message.mark else message.frame
    return encode(message, LIMITS)


# --- reading ------------------------------------------------------------------------------------------


def read_record(record: bytes) -> tuple[Input, bool]:
    """Return an input, and whether effects were taken before it.

    Raises:
        StationError: this is no record that this version of the product wrote.
    """
    try:
        return _read(record[0] & ~TAKEN, record[1:]), bool(record[0] & TAKEN)
    except (WireError, struct.error, IndexError, ValueError) as error:
        raise StationError(
            f"a record of {len(record)} bytes cannot be read: {error}; it was not written by this version"
        ) from error


def _read(kind: int, content: bytes) -> Input:
    if kind == RECEIVED:
        (hop,) = _HOP.unpack_from(content)
        return ReceivedInput(hop, cast("list[LinkMessage]", read_frames(content[_HOP.size :])))
    if kind == PUBLISHED:
        return PublishedInput(cast("list[Publication]", read_frames(content)))
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind:#x} of records")
    items = load_item(content, KINDS[kind].__name__)
    if type(items) is not list:
        raise ValueError("it is no list of fields")
    if kind == BEGUN and (not items or items[0] != FORMAT):
        raise StationError(
            f"records of format {items[0] if items else '?'} cannot be read by this version, which writes "
            f"{FORMAT}: start the version that wrote them, or begin with an empty journal"
        )
    owner = KINDS[kind]
    fields = read_fields(_FIELDS[kind], items, owner.__name__, LIMITS)
    if owner is SubscribedInput:
        subscription, *terms, minted, replay = fields
        fields = [subscription, SubscriptionTerms(*terms), minted, replay]
    return cast("Input", owner(*fields))


def read_frames(frames: bytes) -> list[object]:
    """Return the messages in whole frames.

    Raises:
        WireError: a frame is no frame of a link.
        ValueError: the last one is not whole.
    """
    decoder = Decoder(LIMITS, Peer.NEIGHBOUR)
    messages = decoder.feed(frames)
    if decoder.is_within_frame:
        raise ValueError("its last frame is not whole")
    return messages
