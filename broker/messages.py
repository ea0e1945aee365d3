"""The messages between brokers and clients, as values.

Three vocabularies: messages of any connection, between a client and its broker, and between two brokers.
`broker.wire` turns them into frames and back; `broker.core` decides on the brokers' part.

A `Publication` is the only message on the hot path, and has a module of its own.
"""

from attrs import frozen

from broker.filters import Filter
from broker.healing.roster import Location
from broker.move_messages import MoveMessage
from broker.publication import Publication as Publication  # noqa: PLC0414 - it belongs to both vocabularies
from broker.replay_messages import (
    CacheMarked,
    ReplayAsked,
    ReplayCut,
    ReplayMark,
    ReplayMore,
    ReplayOver,
    ReplayPart,
    ReplayReady,
)
from broker.routing.strategy import RouteFilter

# --- any connection -----------------------------------------------------------------------------------


@frozen
class Hello:
    """First frame of the end that dialled. `role` is "client" or "broker"; `token` proves its identity.

    A broker that resumes names the `session` of the link and how many of its messages it has `received`.
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

    If `session` is the one that a broker named, the link is resumed behind what each end has `received`;
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
class ReturnAddress:
    """Says where a client finds this broker again, if it came by an address of several brokers."""

    address: str


@frozen
class Fault:
    """The reason why the sender closes the connection; the last frame it sends."""

    code: str
    text: str


@frozen
class Grant:
    """Grants credit: this many more bytes of publication frames on this connection."""

    size_bytes: int


@frozen
class Ping:
    """Asks for a `Pong` with the same number; also keeps the connection from being declared lost."""

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
    """Asks for events. `bound_bytes` and `policy` ("disconnect" or "drop") define what a full queue means.

    `credit` deliveries may be sent at once; `Credit` adds to it. A `durable` name makes it outlive its
    client, for `age_s` without one (0: as long as the broker allows). `resume` names the subscription that it
    was on an earlier connection. `after`, if there is one, is the position behind which it continues.
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
    """So many more deliveries of the subscription may be sent; all up to `taken` have reached its user."""

    number: int
    count: int
    taken: int = 0


@frozen
class Flush:
    """Asks for a `Flushed` once everything published before it has been taken over."""

    number: int


@frozen
class Explain:
    """Asks about "waiting", a "way" (of a publication), "durable", "uplinks", "brokers", or "traffic"."""

    number: int
    publisher: str
    sequence: int
    about: str = "waiting"


@frozen
class Forget:
    """Ends the client's durable subscription of that name, at any broker."""

    number: int
    durable: str


# --- broker to client ---------------------------------------------------------------------------------


@frozen
class Advertised:
    """The barrier is passed. `publisher` is the id to publish under, `taken` its last known sequence.

    Whether it `is_wanted`, that is whether any subscription overlaps its filter, is true of this moment;
    `Wanted` announces each change from here on.
    """

    number: int
    publisher: str
    taken: int
    is_wanted: bool = False


@frozen
class Wanted:
    """Some subscription overlaps the filter of the publisher of that number from now on, or none any more."""

    number: int
    is_wanted: bool


@frozen
class Subscribed:
    """All gates of the subscription are open."""

    number: int


@frozen
class Placed:
    """Deliveries of the subscription of that number are counted on from `position`.

    Comes before everything else for it. `subscription` is its id, to be named when it is resumed; unless it
    `goes_on`, events between `after` and now are not known and may be missing.
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
    """Deliveries of the subscription are missing at this position: so many, or 0 if the number is unknown.

    It takes as many positions, and one if the number is unknown. `reason` is "bound" (its queue was full),
    "lost" (a broker or a link was lost for good) or "replay" (not all of the requested past could be
    delivered).
    """

    number: int
    count: int
    reason: str = "bound"


@frozen
class Ended:
    """The broker ended the subscription (or publisher) of that number, for the reason in `code`."""

    number: int
    code: str
    text: str


@frozen
class Flushed:
    """Acknowledges everything published before the `Flush` of that number."""

    number: int


@frozen
class Forgotten:
    """The durable subscription that the `Forget` of that number named does not exist any more."""

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

    Counted are all messages of the core (`LinkMessage`), since the session began.
    """

    count: int


@frozen
class AdvertisementAdded:
    """Announces a publisher somewhere behind the sender (R6)."""

    id: str
    filter: Filter


@frozen
class AdvertisementAcknowledged:
    """Every broker behind the sender knows it, and its subscriptions have been acknowledged (R6)."""

    id: str


@frozen
class AdvertisementWithdrawn:
    """The publisher is withdrawn; if it `is_lost`, publications of it may be missing from here on."""

    id: str
    is_lost: bool = False


@frozen
class PublicationsLost:
    """Goes to a local subscription only: publications of a lost publisher may be missing here."""


@frozen
class SubscriptionAdded:
    """Announces a subscription somewhere behind the sender; `number` is this request's (R7).

    One that `has_moved` may have had deliveries by another way: the request is acknowledged when all that is
    on its way to the sender has arrived (R9).
    """

    id: str
    filter: Filter
    ordered: bool
    number: int
    has_moved: bool = False


@frozen
class SubscriptionsReplaced:
    """Several changes in one: these are added, all under one number, and those withdrawn instead (R7).

    A withdrawn subscription serves on until those that are added, now or in an earlier request, are its
    replacement. If they are too many for one page, several requests follow each other, and withdrawn ones
    come last.
    """

    number: int
    added: tuple[RouteFilter, ...]
    withdrawn: frozenset[str]
    has_moved: bool = False


@frozen
class SubscriptionAcknowledged:
    """Answers the request of that number: the sender and all brokers it forwarded it to know (R7)."""

    number: int


@frozen
class SubscriptionWithdrawn:
    """The subscription is withdrawn."""

    id: str


@frozen
class SettleAsked:
    """A request that adds nothing: a subscription that has moved depends on the one of this id (R9).

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
    """Renews all that the sender has announced on this link, as a digest."""

    digest: int


@frozen
class LeaseAsked:
    """Asks for the list: what the sender knows through this link has this digest, not the renewed one."""

    digest: int


@frozen
class LeaseListed:
    """The list of all that the sender has announced on this link, or a page of it, with its own `number`.

    Subscriptions that are new to the receiver are acknowledged under that number. Behind a page with `more`
    comes another one of the same list.
    """

    number: int
    advertisements: tuple[tuple[str, Filter], ...]
    subscriptions: tuple[RouteFilter, ...]
    more: bool = False


@frozen
class OrderingMessage:
    """A note of one ordering plugin to its neighbour; only the plugin knows what the numbers mean."""

    content: tuple[int, ...]


# --- re-attachment (R9) -------------------------------------------------------------------------------


@frozen
class AttachRequest:
    """The root `asker`, an identity, asks to become a child; climbs to the root of the tree it asks (R9).

    `brokers` are the identities of all brokers of the asker's tree: no name may be there twice. With `more`
    it is one of several pages, and only all of them are the request. `has_ended` is whether an advertisement
    of that tree has ended since it was attached.
    """

    asker: str
    number: int
    brokers: frozenset[str]
    more: bool = False
    has_ended: bool = False


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

    Those that do not fit into one page come as several floods, each with a token of its own.
    """

    token: str
    advertisements: tuple[tuple[str, Filter], ...]


@frozen
class FloodDone:
    """Every broker behind the sender has seen the flood of that token (R9)."""

    token: str


@frozen
class BrokersChanged:
    """The brokers that came to the sender's side of the link or left it; climbs to the root."""

    added: frozenset[str]
    removed: frozenset[str]


@frozen
class Whereabouts:
    """The locations of brokers: all that the sender knows when the link is new, later the new ones.

    A broker forwards each new location, so that brokers that are cut off know which others to dial.
    """

    places: tuple[Location, ...]


@frozen
class WayAsked:
    """Asks which way a publication took on the receiver's side; the asker waits for one `WayAnswer`."""

    question: str
    publisher: str
    sequence: int


@frozen
class WayAnswer:
    """The passages at the sender and behind it: one JSON object a broker. With `more` it is not all."""

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
    | LeaseListed
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
    | WayAnswer
    | MoveMessage
    | ReplayAsked
    | ReplayReady
    | ReplayMore
    | ReplayPart
    | ReplayOver
    | CacheMarked
)
Notice = PublicationsLost | ReplayMark | ReplayCut
"""A notice to a local subscription, in order with its publications; it never goes over a link."""
LinkMessage = Publication | Notice | OrderingMessage | Control
