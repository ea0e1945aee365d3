"""What a step of the core answers: what is to be done, or that a neighbour sent what it may not send."""

from attrs import define

from broker.core.hops import Hop
from broker.messages import LinkMessage, WayTold


class ProtocolError(Exception):
    """A neighbour sent what it may not send now; its link must be closed."""


@define(eq=False)
class CoreEffects:
    """Everything that became due since the last `take`.

    The order of the fields is the order in which they are carried out: what leaves through `outgoing` was
    decided before a client is told that its barrier is passed or its gates are open.
    """

    outgoing: list[tuple[Hop, list[LinkMessage]]]
    """Per hop, what to send in this order. For a subscription's hop: publications to deliver."""

    has_news: bool
    """Whether any of the fields below holds something."""

    advertised: list[str]
    """Publishers whose barrier is passed: they may publish (R6)."""

    subscribed: list[str]
    """Subscriptions whose gates are all open (R7)."""

    wanted: list[tuple[str, bool]]
    """Local publishers that somebody wants to hear from now, or nobody any more."""

    replaying: list[str]
    """Subscriptions that can be given more of their past, when there is room for it."""

    explained: list[WayTold]
    """Answers to questions after a publication's way that were asked here."""

    attached: list[Hop]
    """Links that became part of the tree."""

    rejected: list[tuple[Hop, str]]
    """Uplinks that the other tree refused, and why: close the link."""
