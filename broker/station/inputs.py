"""Everything that changes a station, as records: bytes that can be kept and applied again.

A record is one byte for its kind and then its content. Publications are written as the very bytes they came
in; everything else is a CBOR array of fields, as on the wire. The highest bit of the first byte says that the
station's effects were taken between the record before and this one: what leaves together depends on it, and
so do the numbers of what leaves.

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
from broker.station.places import SubscriptionTerms
from broker.wire import VERSION, Decoder, Peer, WireError, WireLimits, encode, marked
from broker.wire.cbor import load_item
from broker.wire.fields import Field, fields_of, read_fields, write_fields

FORMAT: Final = f"2.{VERSION}"
"""Of records: ours, and that of the frames in them."""

TAKEN: Final = 0x80
"""The bit of a record's first byte that says that effects were taken before it."""

LIMITS: Final = WireLimits(
    payload_bytes=2**30, attributes_bytes=2**30, control_frame_bytes=2**30, page_frame_bytes=2**30
)
"""What was taken once is read again, whatever the operator has set since."""

_HOP: Final = struct.Struct(">I")


@frozen
class Begun:
    """The first record: whose it is. `format` is compared before anything else is read."""

    format: str
    name: str
    incarnation: str
    ordering: str


@frozen
class ReachedAt:
    """Others can dial this broker there."""

    address: str


@frozen
class TimePassed:
    """So much time has passed, with the broker up and down; and what the wall's clock says (`waiting`)."""

    awake_ms: int
    asleep_ms: int
    at_ms: int


@frozen
class Left:
    """Somebody with a place has no connection any more."""

    kind: str
    name: str


@frozen
class Came:
    """It has one again."""

    kind: str
    name: str


@frozen
class LinkOpened:
    """A neighbour greeted us, and a session was agreed on."""

    name: str
    session: str
    is_uplink: bool


@frozen
class LinkClosed:
    """The link of that hop is declared lost."""

    hop: int


@frozen
class Acknowledged:
    """The neighbour has so many of our session frames."""

    hop: int
    count: int


@frozen
class AdvertisedInput:
    """A local publisher announces what it will publish. `minted` counts the ids made so far."""

    publisher: str
    filter: Filter
    client: str
    user: str
    minted: int


@frozen
class Unadvertised:
    """A local publisher is gone; if it retires, it may come back."""

    publisher: str
    retires: bool


@frozen
class SubscribedInput:
    """A local client subscribes. `replay` are since when and how many of the past it asks for, if it does."""

    subscription: str
    terms: SubscriptionTerms
    minted: int
    replay: tuple[int, ...] = ()


@frozen
class ReplayWanted:
    """A subscription has room for so much of its past."""

    subscription: str
    size_bytes: int


@frozen
class ReplaysBounded:
    """So much of the recent past of local publishers is kept, and so much is replayed at a time."""

    size_bytes: int
    count: int
    part_bytes: int
    step_count: int


@frozen
class CacheAged:
    """What was published before this is too old to be kept."""

    before_ns: int


@frozen
class Unsubscribed:
    """A local subscription ends."""

    subscription: str


@frozen
class Taken:
    """The user of a subscription has had everything up to this position."""

    subscription: str
    position: int


@frozen
class Dropped:
    """The newest deliveries of a subscription are not kept."""

    subscription: str
    count: int


@frozen
class WayExplained:
    """A local client asks for a publication's way."""

    question: str
    publisher: str
    sequence: int
    minted: int


@frozen
class Refreshed:
    """It is time to say again to neighbours what they were told."""


@frozen
class Swept:
    """It is time to forget what was not said again for so many sweeps."""

    patience: int


@frozen
class ReceivedInput:
    """What came over the link of that hop."""

    hop: int
    messages: Sequence[LinkMessage]


@frozen
class PublishedInput:
    """What one local publisher published."""

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
    | Refreshed
    | Swept
    | ReplayWanted
    | ReplaysBounded
    | CacheAged
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
    0x30: Refreshed,
    0x31: Swept,
    0x28: ReplayWanted,
    0x29: ReplaysBounded,
    0x2A: CacheAged,
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
