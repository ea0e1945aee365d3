"""The table of frames: one row per message.

Adding a message is adding a class to `broker.messages` and a row here; its fields follow from its types.
A number once used is never used again for something else.
"""

from enum import Enum
from typing import Final, cast

from attrs import AttrsInstance, field, frozen

from broker import discovery_messages as d
from broker import interest_messages as w
from broker import messages as m
from broker import move_messages as v
from broker import replay_messages as r
from broker.wire.fields import Field, fields_of
from broker.wire.header import PUBLICATION

VERSION: Final = 4
"""Of the wire format. It stands first in `Hello` and `Welcome`, in every version."""


class DecoderStage(Enum):
    """What a connection is ready to read: who the peer is and how far the two have come."""

    HELLO = "the first frame of whoever dialled"
    GREETED = "nothing before the answer to Hello"
    WELCOME = "the answer to Hello"
    CLIENT = "a client's frames"
    LINK = "a broker's frames on a link"
    SERVER = "a broker's frames to its client"
    OVER = "nothing after Fault"


class Size(Enum):
    """Which bound of `Limits` a frame has to keep."""

    CONTROL = "control_frame_bytes"
    PAGE = "page_frame_bytes"
    PUBLICATION = "publication_frame_bytes"
    PART = "part_frame_bytes"


@frozen
class KindRow:
    """One kind of frame: its number, its message, when a peer may send it, how large it may be."""

    kind: int
    message: type[AttrsInstance]
    stages: frozenset[DecoderStage]
    size: Size = Size.CONTROL
    name: str = field(init=False)
    """Return its name in the texts of errors."""

    @name.default
    def _name(self) -> str:
        return self.message.__name__


_CLIENT: Final = frozenset({DecoderStage.CLIENT})
_LINK: Final = frozenset({DecoderStage.LINK})
_SERVER: Final = frozenset({DecoderStage.SERVER})
_BROKERS: Final = _LINK | _SERVER
_PEERS: Final = _LINK | _SERVER | _CLIENT

ROWS: Final = (
    # Any connection.
    KindRow(0x01, m.Hello, frozenset({DecoderStage.HELLO})),
    KindRow(0x02, m.Welcome, frozenset({DecoderStage.WELCOME})),
    KindRow(0x03, m.Fault, frozenset(DecoderStage) - {DecoderStage.OVER}),
    KindRow(0x04, m.Grant, _BROKERS),
    KindRow(0x05, m.Ping, _PEERS),
    KindRow(0x06, m.Pong, _PEERS),
    KindRow(0x07, m.Acknowledge, _LINK),
    KindRow(PUBLICATION, cast("type[AttrsInstance]", m.Publication), _PEERS, Size.PUBLICATION),
    # Client to broker.
    KindRow(0x20, m.Advertise, _CLIENT),
    KindRow(0x21, m.Unadvertise, _CLIENT),
    KindRow(0x22, m.Subscribe, _CLIENT),
    KindRow(0x23, m.Unsubscribe, _CLIENT),
    KindRow(0x24, m.Credit, _CLIENT),
    KindRow(0x25, m.Flush, _CLIENT),
    KindRow(0x26, m.Explain, _CLIENT),
    KindRow(0x27, m.Forget, _CLIENT),
    KindRow(0x28, v.Move, _CLIENT),
    KindRow(0x2C, d.Discover, _CLIENT),
    KindRow(0x2D, d.Undiscover, _CLIENT),
    KindRow(0x2E, w.FollowInterest, _CLIENT),
    # Broker to client.
    KindRow(0x30, m.Advertised, _SERVER),
    KindRow(0x31, m.Subscribed, _SERVER),
    KindRow(0x32, m.Refused, _SERVER),
    KindRow(0x33, m.Deliver, _SERVER),
    KindRow(0x34, m.Gap, _SERVER),
    KindRow(0x35, m.Ended, _SERVER),
    KindRow(0x36, m.Flushed, _SERVER),
    KindRow(0x37, m.Explained, _SERVER, Size.PAGE),
    KindRow(0x38, m.Placed, _SERVER),
    KindRow(0x39, m.Forgotten, _SERVER),
    KindRow(0x3A, m.Wanted, _SERVER),
    KindRow(0x3B, m.ReturnAddress, _SERVER),
    KindRow(0x3D, w.InterestListed, _SERVER, Size.PAGE),
    KindRow(0x3E, d.Discovered, _SERVER, Size.PAGE),
    # Broker to broker: routes and order.
    KindRow(0x40, m.AdvertisementAdded, _LINK),
    KindRow(0x41, m.AdvertisementAcknowledged, _LINK),
    KindRow(0x42, m.AdvertisementWithdrawn, _LINK),
    KindRow(0x43, m.SubscriptionAdded, _LINK),
    KindRow(0x44, m.SubscriptionAcknowledged, _LINK),
    KindRow(0x45, m.SubscriptionWithdrawn, _LINK),
    KindRow(0x46, m.OrderingMessage, _LINK),
    KindRow(0x47, m.SubscriptionsReplaced, _LINK, Size.PAGE),
    KindRow(0x48, m.SettleAsked, _LINK),
    KindRow(0x49, m.PublishersLost, _LINK),
    # Broker to broker: re-attachment.
    KindRow(0x50, m.AttachRequest, _LINK, Size.PAGE),
    KindRow(0x51, m.AttachAnswer, _LINK),
    KindRow(0x52, m.AttachDone, _LINK),
    KindRow(0x53, m.RouteIds, _LINK, Size.PAGE),
    KindRow(0x54, m.Synchronise, _LINK, Size.PAGE),
    KindRow(0x55, m.Flood, _LINK, Size.PAGE),
    KindRow(0x56, m.FloodDone, _LINK),
    KindRow(0x57, m.BrokersChanged, _LINK, Size.PAGE),
    KindRow(0x58, m.Whereabouts, _LINK, Size.PAGE),
    # Broker to broker: explanations.
    KindRow(0x60, m.WayAsked, _LINK),
    KindRow(0x61, m.WayAnswer, _LINK, Size.PAGE),
    # Broker to broker: moves.
    KindRow(0x68, v.MoveAsked, _LINK),
    KindRow(0x69, v.MoveAnswer, _LINK),
    # Broker to broker: leases.
    KindRow(0x70, m.LeaseRenewed, _LINK),
    KindRow(0x71, m.LeaseAsked, _LINK),
    KindRow(0x72, m.LeaseListed, _LINK, Size.PAGE),
    # Broker to broker: replays.
    KindRow(0x78, r.ReplayAsked, _LINK),
    KindRow(0x79, r.ReplayReady, _LINK),
    KindRow(0x7A, r.ReplayMore, _LINK),
    KindRow(0x7B, r.ReplayPart, _LINK, Size.PART),
    KindRow(0x7C, r.ReplayOver, _LINK),
    KindRow(0x7D, r.CacheMarked, _LINK),
    # Broker to broker: steps of a move.
    KindRow(0x80, v.StepAsked, _LINK),
    KindRow(0x81, v.StepGranted, _LINK),
    KindRow(0x82, v.StepRefused, _LINK),
    KindRow(0x83, v.StepCancelled, _LINK),
    KindRow(0x84, v.LiftAsked, _LINK),
    KindRow(0x85, v.LiftReady, _LINK),
    KindRow(0x86, v.Lift, _LINK),
    KindRow(0x87, v.LiftedRoutes, _LINK, Size.PAGE),
    KindRow(0x88, v.LiftedIds, _LINK, Size.PAGE),
    KindRow(0x89, v.Lifted, _LINK),
    KindRow(0x8A, v.Switched, _LINK),
    KindRow(0x8B, v.LowerAsked, _LINK),
    KindRow(0x8C, v.LowerCancelled, _LINK),
    KindRow(0x8D, v.Lowered, _LINK),
    KindRow(0x8E, v.LowerTaken, _LINK),
    KindRow(0x8F, v.LowerSettled, _LINK),
    KindRow(0x90, v.Joined, _LINK),
    KindRow(0x91, v.StepQueued, _LINK),
    KindRow(0x92, v.LowerGranted, _LINK),
    KindRow(0x93, v.LowerPrepared, _LINK),
)

BY_KIND: Final[dict[int, KindRow]] = {row.kind: row for row in ROWS}
BY_MESSAGE: Final[dict[type, KindRow]] = {row.message: row for row in ROWS}
FIELDS: Final[dict[int, tuple[Field, ...]]] = {
    row.kind: fields_of(row.message) for row in ROWS if row.kind != PUBLICATION
}

assert len(BY_KIND) == len(BY_MESSAGE) == len(ROWS), "a kind or a message stands in two rows"
