"""Everything that brokers and clients say to each other, as values.

Three vocabularies: what both ends of any connection say, what a client and its broker say, and what two
brokers say. `broker.wire` turns them into frames and back; `broker.core` decides on the brokers' part.

A `Publication` is the only message on the hot path. It carries the frame it came in, so that a broker
forwards bytes and encodes nothing; it is never changed after it was made, although it is not frozen (a
frozen class costs three times as much to make).
"""

from collections.abc import Mapping

from attrs import define, field, frozen

from broker.filters import Filter
from broker.filters.constraints import Value


@define(eq=False)
class Publication:
    """One event on its way. `frame` is its whole wire frame with no mark set; `mark` came with this copy."""

    publisher: str
    sequence: int
    attributes: Mapping[str, Value]
    ordered: bool
    frame: bytes = field(repr=False)
    mark: int = 0

    def with_mark(self, mark: int) -> "Publication":
        """Return a copy of the same event that carries another mark."""
        return Publication(self.publisher, self.sequence, self.attributes, self.ordered, self.frame, mark)


# --- any connection -----------------------------------------------------------------------------------


@frozen
class Hello:
    """First frame of whoever dialled. `role` is "client" or "broker"; `token` proves who it is."""

    version: int
    role: str
    name: str
    incarnation: str
    ordering: str
    token: str


@frozen
class Welcome:
    """The answer to an accepted `Hello`. `credit_bytes` of publications may be sent before a `Grant`."""

    version: int
    name: str
    incarnation: str
    ordering: str
    credit_bytes: int
    heartbeat_ms: int


@frozen
class Fault:
    """Why the sender closes the connection; the last frame it sends."""

    code: str
    text: str


@frozen
class Grant:
    """So many more bytes of publication frames may be sent on this connection."""

    size_bytes: int


@frozen
class Ping:
    """Asks for a `Pong` with the same number; also keeps the connection from being taken for dead."""

    number: int


@frozen
class Pong:
    """Answers a `Ping`."""

    number: int


# --- client to broker ---------------------------------------------------------------------------------


@frozen
class Advertise:
    """Announces what a publisher will publish. `resume` names the publisher it was before."""

    number: int
    filter: str
    resume: str


@frozen
class Unadvertise:
    """Ends the publisher of that number."""

    number: int


@frozen
class Subscribe:
    """Asks for events. `bound_bytes` and `policy` ("disconnect" or "drop") say what a full queue means.

    `credit` deliveries may be sent at once; `Credit` adds to it.
    """

    number: int
    filter: str
    ordered: bool
    credit: int
    bound_bytes: int
    policy: str


@frozen
class Unsubscribe:
    """Ends the subscription of that number."""

    number: int


@frozen
class Credit:
    """The client took so many deliveries of the subscription; as many more may be sent."""

    number: int
    count: int


@frozen
class Flush:
    """Asks to be told when everything published before it has been taken over."""

    number: int


@frozen
class Explain:
    """Asks what waits here, or for the way of one publication, if `publisher` names one."""

    number: int
    publisher: str
    sequence: int


# --- broker to client ---------------------------------------------------------------------------------


@frozen
class Advertised:
    """The barrier is passed. `publisher` is the id to publish under, `taken` its last known sequence."""

    number: int
    publisher: str
    taken: int


@frozen
class Subscribed:
    """All gates of the subscription are open."""

    number: int


@frozen
class Refused:
    """The request of that number failed; the connection goes on."""

    number: int
    code: str
    text: str


@frozen
class Deliver:
    """The next `count` publications on this connection are for the subscription of that number."""

    number: int
    count: int


@frozen
class Gap:
    """So many deliveries of the subscription were dropped at this place."""

    number: int
    count: int


@frozen
class Ended:
    """The broker ended the subscription (or publisher) of that number, and why."""

    number: int
    code: str
    text: str


@frozen
class Flushed:
    """Everything published before the `Flush` of that number has been taken over."""

    number: int


@frozen
class Explained:
    """Answers the `Explain` of that number: one JSON object a line."""

    number: int
    lines: tuple[str, ...]


# --- broker to broker ---------------------------------------------------------------------------------


@frozen
class AdvertisementAdded:
    """A publisher somewhere behind the sender (R6)."""

    id: str
    filter: Filter


@frozen
class AdvertisementAcknowledged:
    """Everybody behind the sender knows it, and its subscriptions have been acknowledged (R6)."""

    id: str


@frozen
class AdvertisementWithdrawn:
    """The publisher is gone."""

    id: str


@frozen
class SubscriptionAdded:
    """A subscription somewhere behind the sender; `number` is this request's (R7)."""

    id: str
    filter: Filter
    ordered: bool
    number: int


@frozen
class SubscriptionAcknowledged:
    """Answers the request of that number: the sender and everybody it forwarded to know (R7)."""

    id: str
    number: int


@frozen
class SubscriptionWithdrawn:
    """The subscription is gone."""

    id: str


@frozen
class OrderingMessage:
    """Something one ordering plugin says to its neighbour; only the plugin knows what the numbers mean."""

    content: tuple[int, ...]


# --- re-attachment (R9) -------------------------------------------------------------------------------


@frozen
class AttachRequest:
    """The top `asker`, an identity, wants to become a child; climbs to the top of the tree it asks (R9).

    `brokers` are the identities of all brokers of the asker's tree: no name may be there twice.
    """

    asker: str
    number: int
    brokers: frozenset[str]


@frozen
class AttachAnswer:
    """The verdict of the top: "granted", "cycle" or "duplicate". Goes back the way the request came."""

    asker: str
    number: int
    verdict: str


@frozen
class AttachDone:
    """The granted attachment of that request happened or was given up; climbs like the request."""

    asker: str
    number: int


@frozen
class RouteIds:
    """All routes the sender would announce; the receiver defers while it knows one of them (R9)."""

    advertisements: frozenset[str]
    subscriptions: frozenset[str]


@frozen
class Synchronise:
    """First message over a new link: every advertisement on the sender's side (R9)."""

    advertisements: tuple[tuple[str, Filter], ...]


@frozen
class Flood:
    """Advertisements from across a new link, on their way through the whole tree (R9)."""

    token: str
    advertisements: tuple[tuple[str, Filter], ...]


@frozen
class FloodDone:
    """Everybody behind the sender has seen the flood of that token (R9)."""

    token: str


@frozen
class BrokersChanged:
    """Which brokers came to the sender's side of the link or left it; climbs to the top."""

    added: frozenset[str]
    removed: frozenset[str]


@frozen
class WayAsked:
    """Which way did this publication take on your side? The asker waits for one `WayTold`."""

    question: str
    publisher: str
    sequence: int


@frozen
class WayTold:
    """What the sender and those behind it remember: one JSON object a broker."""

    question: str
    steps: tuple[str, ...]


Control = (
    AdvertisementAdded
    | AdvertisementAcknowledged
    | AdvertisementWithdrawn
    | SubscriptionAdded
    | SubscriptionAcknowledged
    | SubscriptionWithdrawn
    | AttachRequest
    | AttachAnswer
    | AttachDone
    | RouteIds
    | Synchronise
    | Flood
    | FloodDone
    | BrokersChanged
    | WayAsked
    | WayTold
)
LinkMessage = Publication | OrderingMessage | Control
