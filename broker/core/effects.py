"""The result of a step of the core: effects to carry out, or an error of a neighbour."""

from attrs import define, frozen

from broker.core.hops import Hop
from broker.filters import Filter
from broker.messages import LinkMessage, WayAnswer


class ProtocolError(Exception):
    """A neighbour sent what it may not send now; its link must be closed."""


@frozen
class Destination:
    """The uplink that a broker is to have, and where to dial it.

    In a step it keeps its uplink until the other one takes its place. `attempts` have failed before.
    """

    uplink: str
    address: str
    is_step: bool = False
    attempts: int = 0


@define(eq=False)
class CoreEffects:
    """All effects that became due since the last `take`.

    The order of the fields is the order in which they are carried out: the messages in `outgoing` were
    decided before a client is notified that its barrier is passed or its gates are open.
    """

    switched: list[tuple[Hop, Hop]]
    """Hops whose links change places, before `outgoing` is sent; the second one is closed then."""

    outgoing: list[tuple[Hop, list[LinkMessage]]]
    """The messages to send through each hop, in order. For a subscription's hop: publications to deliver."""

    has_news: bool
    """Whether any of the fields below is not empty."""

    advertised: list[str]
    """Publishers whose barrier is passed: they may publish (R6)."""

    subscribed: list[str]
    """Subscriptions whose gates are all open (R7)."""

    wanted: list[tuple[str, bool]]
    """Local publishers that some subscription overlaps now, or none any more."""

    offered: list[tuple[str, Filter | None]]
    """Advertisements that came, changed or went, with their filters before; the tables have those now."""

    replaying: list[str]
    """Subscriptions to which more of their past can be delivered, when there is room for it."""

    explained: list[WayAnswer]
    """Answers to local questions about a publication's way."""

    attached: list[Hop]
    """Links that became part of the tree."""

    rejected: list[tuple[Hop, str]]
    """Uplinks that the other tree refused, and why: close the link."""

    moving: list[Destination]
    """Where this broker is to move: dial that broker; unless it is a step, close the uplink before."""

    is_unfinished: bool = False
    """Whether a part of what is due is left: let `BrokerCore.continue_crossing` follow in a later step."""

    is_ending: bool = False
    """Whether an operator has asked this broker to end."""
