"""The messages of brokers and clients, as values.

Three vocabularies: the messages of any connection, those of a client and its broker, and those of two
brokers. `broker.wire` turns them into frames and back; `broker.core` decides on the brokers' part.

A `Publication` is the only message on the hot path. It carries the frame it came in, so that a broker
forwards bytes and encodes nothing; it is never changed after it was made, although it is not frozen (a
frozen class costs three times as much to make).
"""

from collections.abc import Mapping

from attrs import define, field, frozen

from broker.filters import Filter
from broker.filters.constraints import Value
from broker.healing.roster import Place
from broker.replay_messages import (
    ReplayAsked,
    ReplayCut,
    ReplayMark,
    ReplayMore,
    ReplayOver,
    ReplayPart,
    ReplayReady,
)
from broker.routing.strategy import Wish


@define(eq=False)
class Publication:
    """One event on its way. `frame` is its whole wire frame with no mark set; `mark` came with this copy."""

    publisher: str
    sequence: int
    attributes: Mapping[str, Value]
    ordered: bool
    frame: bytes = field(repr=False)
    mark: int = 0
    published_ns: int = 0

    def with_mark(self, mark: int) -> "Publication":
        """Return a copy of the same event that carries another mark."""
        known = self.publisher, self.sequence, self.attributes, self.ordered, self.frame
        return Publication(*known, mark, self.published_ns)


# --- any connection -----------------------------------------------------------------------------------


@frozen
class Hello:
    """First frame of the peer that dialled. `role` is "client" or "broker"; `token` proves who it is.

    A broker that reconnects names the `session` of the link and how many of its messages it has `received`.
    """

    version: int
    role: str
    name: str
    incarnation: str
    ordering: str
    token: str
    session: str = ""
    received: int = 0


@frozen
class Welcome:
    """The answer to an accepted `Hello`. `credit_bytes` of publications may be sent before a `Grant`.

    If `session` is the one that a broker named, the link goes on behind what each end has `received`;
    otherwise it is a new link, and this is its session.
    """

    version: int
    name: str
    incarnation: str
    ordering: str
    credit_bytes: int
    heartbeat_ms: int
    session: str = ""
    received: int = 0


@frozen
class Fault:
    """The reason for which the sender closes the connection; the last frame it sends."""

    code: str
    text: str


@frozen
class Grant:
    """Grants credit: this many more bytes of publication frames on this connection."""

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
    """Advertises a publisher. `resume` names the publisher that it was on an earlier connection."""

    number: int
    filter: str
    resume: str


@frozen
class Unadvertise:
    """Ends the publisher of that number."""

    number: int


@frozen
class Subscribe:
    """Subscribes. `bound_bytes` and `policy` ("disconnect" or "drop") are for the overflow of its queue.

    `credit` deliveries may be sent at once; `Credit` adds to it. A `durable` name makes it outlive its
    client, for `age_s` without one (0: as long as the broker allows). `resume` names the subscription that it
    was on an earlier connection. `after`, if there is one, is the position behind which it is to resume.
    `replay` asks for the past: the newest so many (0: all), and not older than so many milliseconds, if that
    is there.
    """

    number: int
    filter: str
    ordered: bool
    credit: int
    bound_bytes: int
    policy: str
    durable: str = ""
    age_s: int = 0
    resume: str = ""
    after: tuple[int, ...] = ()
    replay: tuple[int, ...] = ()


@frozen
class Unsubscribe:
    """Ends the subscription of that number."""

    number: int


@frozen
class Credit:
    """Grants credit for more deliveries of the subscription, and confirms all up to `taken`."""

    number: int
    count: int
    taken: int = 0


@frozen
class Flush:
    """Asks for an acknowledgement of everything published before it."""

    number: int


@frozen
class Explain:
    """Asks a broker: "waiting", "way" (of a publication), "durable" (what is kept), or "uplinks"."""

    number: int
    publisher: str
    sequence: int
    about: str = "waiting"


@frozen
class Forget:
    """Ends the client's durable subscription of that name, wherever it stands."""

    number: int
    durable: str


# --- broker to client ---------------------------------------------------------------------------------


@frozen
class Advertised:
    """The barrier is passed. `publisher` is the id to publish under, `taken` its last known sequence.

    Whether it `is_wanted`, that is whether a subscription overlaps its advertisement, is true of this moment;
    `Wanted` announces each change from here on.
    """

    number: int
    publisher: str
    taken: int
    is_wanted: bool = False


@frozen
class Wanted:
    """Some subscription overlaps the publisher of that number from now on, or none does any more."""

    number: int
    is_wanted: bool


@frozen
class Subscribed:
    """All gates of the subscription are open."""

    number: int


@frozen
class Placed:
    """The deliveries of the subscription of that number follow on `position`.

    Comes before everything else for it. `subscription` is its id, to be named when it is resumed; unless it
    `goes_on`, what came between `after` and now is not known and may be missing.
    """

    number: int
    subscription: str
    position: int
    goes_on: bool


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
    """A gap in the deliveries of the subscription: `count` are missing, or an unknown number if it is 0.

    It takes as many positions, and one where nobody knows. `reason` is "bound" (its queue was full), "lost"
    (a broker or a link was lost for good) or "replay" (not all of the past that was asked for could be
    replayed).
    """

    number: int
    count: int
    reason: str = "bound"


@frozen
class Ended:
    """The broker ended the subscription (or publisher) of that number, and why."""

    number: int
    code: str
    text: str


@frozen
class Flushed:
    """Acknowledges everything published before the `Flush` of that number."""

    number: int


@frozen
class Forgotten:
    """The durable subscription that the `Forget` of that number named has ended."""

    number: int


@frozen
class Explained:
    """Answers the `Explain` of that number: one JSON object a line. With `more` another page follows."""

    number: int
    lines: tuple[str, ...]
    more: bool = False


# --- broker to broker ---------------------------------------------------------------------------------


@frozen
class Acknowledge:
    """Acknowledges the first `count` messages of the link's session.

    All messages of the core (`LinkMessage`) count, since the session began.
    """

    count: int


@frozen
class AdvertisementAdded:
    """A publisher somewhere behind the sender (R6)."""

    id: str
    filter: Filter


@frozen
class AdvertisementAcknowledged:
    """All brokers behind the sender know it, and its subscriptions have been acknowledged (R6)."""

    id: str


@frozen
class AdvertisementWithdrawn:
    """The publisher is withdrawn; if it `is_lost`, publications of it may be missing from here on."""

    id: str
    is_lost: bool = False


@frozen
class PublicationsLost:
    """Goes to a local subscription and nowhere else: publications of a lost publisher may be missing here."""


@frozen
class SubscriptionAdded:
    """A subscription somewhere behind the sender; `number` is this request's (R7).

    One that `has_moved` may have been delivered something by another way: the request is answered when all
    that is on its way to the sender is out of the way (R9).
    """

    id: str
    filter: Filter
    ordered: bool
    number: int
    has_moved: bool = False


@frozen
class SubscriptionsReplaced:
    """Several changes in one: these are added, all under one number, and those withdrawn instead (R7).

    The withdrawn subscriptions serve on until the added ones, of this or an earlier request, serve instead.
    If they are too many for one page, several requests follow each other, the withdrawn ones last.
    """

    number: int
    added: tuple[Wish, ...]
    withdrawn: frozenset[str]
    has_moved: bool = False


@frozen
class SubscriptionAcknowledged:
    """Acknowledges the request of that number, for the sender and all brokers it forwarded to (R7)."""

    number: int


@frozen
class SubscriptionWithdrawn:
    """The subscription is withdrawn."""

    id: str


@frozen
class SettleAsked:
    """A request that adds nothing: a subscription that has moved rides on the one of this id (R9).

    It is answered, with its number, when all that was on its way along the routes of that one has arrived.
    """

    number: int
    id: str


@frozen
class PublishersLost:
    """Publications that match the filter may be missing from here on, although no advertisement is gone."""

    filter: Filter


@frozen
class LeaseRenewed:
    """All that the sender has announced on this link, advertisements and subscriptions, as a digest."""

    digest: int


@frozen
class LeaseAsked:
    """What the sender knows through this link has this digest, not the one of the renewal: list it all."""

    digest: int


@frozen
class LeaseTold:
    """All that the sender has announced on this link, or a page of it, each with its own `number`.

    Subscriptions that are new to the receiver are answered under that number. Behind a page with `more` comes
    another one of the same list.
    """

    number: int
    advertisements: tuple[tuple[str, Filter], ...]
    subscriptions: tuple[Wish, ...]
    more: bool = False


@frozen
class OrderingMessage:
    """A note of one ordering plugin to its neighbour; only the plugin interprets the numbers."""

    content: tuple[int, ...]


# --- re-attachment (R9) -------------------------------------------------------------------------------


@frozen
class AttachRequest:
    """The root `asker`, an identity, wants to become a child; climbs to the root of the tree it asks (R9).

    `brokers` are the identities of all brokers of the asker's tree: no name may be there twice. With `more`
    it is one of several pages, and only all of them are the request.
    """

    asker: str
    number: int
    brokers: frozenset[str]
    more: bool = False


@frozen
class AttachAnswer:
    """The verdict of the root: "granted", "cycle" or "duplicate". Goes back the way the request came."""

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
    """All routes the sender would announce; the receiver defers while it knows one of them (R9).

    With `more` it is one of several pages, and only all of them are the announcement.
    """

    advertisements: frozenset[str]
    subscriptions: frozenset[str]
    more: bool = False


@frozen
class Synchronise:
    """First message over a new link: every advertisement on the sender's side (R9).

    With `more` it is one of several pages, and nothing is taken from the link before the last.
    """

    advertisements: tuple[tuple[str, Filter], ...]
    more: bool = False


@frozen
class Flood:
    """Advertisements from across a new link, on their way through the whole tree (R9).

    What does not fit into one page comes as several floods, each with a token of its own.
    """

    token: str
    advertisements: tuple[tuple[str, Filter], ...]


@frozen
class FloodDone:
    """All brokers behind the sender have seen the flood of that token (R9)."""

    token: str


@frozen
class BrokersChanged:
    """The brokers that joined or left the sender's side of the link; climbs to the root."""

    added: frozenset[str]
    removed: frozenset[str]


@frozen
class Whereabouts:
    """The addresses of brokers: all that the sender knows when the link is new, later the new ones.

    A broker forwards addresses that are new to it, so that a disconnected one has candidates to dial.
    """

    places: tuple[Place, ...]


@frozen
class WayAsked:
    """Which way did this publication take on your side? The asker waits for one `WayTold`."""

    question: str
    publisher: str
    sequence: int


@frozen
class WayTold:
    """The records of the sender and the brokers behind it: one JSON object each. `more`: others follow."""

    question: str
    steps: tuple[str, ...]
    more: bool = False


Control = (
    AdvertisementAdded
    | AdvertisementAcknowledged
    | AdvertisementWithdrawn
    | PublishersLost
    | SubscriptionAdded
    | SubscriptionsReplaced
    | SubscriptionAcknowledged
    | SubscriptionWithdrawn
    | SettleAsked
    | LeaseRenewed
    | LeaseAsked
    | LeaseTold
    | AttachRequest
    | AttachAnswer
    | AttachDone
    | RouteIds
    | Synchronise
    | Flood
    | FloodDone
    | BrokersChanged
    | Whereabouts
    | WayAsked
    | WayTold
    | ReplayAsked
    | ReplayReady
    | ReplayMore
    | ReplayPart
    | ReplayOver
)
Notice = PublicationsLost | ReplayMark | ReplayCut
"""Messages for a local subscription, in order with its deliveries; they never go over a link."""
LinkMessage = Publication | Notice | OrderingMessage | Control
