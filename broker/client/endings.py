"""How requests and connections end: the broker's words for it, and the errors that users see. No I/O."""

from typing import Final

from broker import messages as m
from broker.client.inbox import Inbox
from broker.client.window import Source
from broker.errors import (
    ConcordError,
    PublisherEndedError,
    RefusedError,
    SlowSubscriberError,
    SubscriptionEndedError,
)

SLOW: Final = "slow"
"""The code of `Ended` for a subscription whose queue outgrew its bound."""

CLOSING: Final = "closing"
"""The code of a broker that shuts down: of its `Fault`, and of `Refused` just before it."""

RESTARTING: Final = "restarting"
"""The code of a broker that shuts down and will be back with its memory."""

LEFT: Final = "left"
"""The code of our own `Fault`: this client leaves for good; only durable subscriptions are to be kept."""

PASSING: Final = frozenset({CLOSING, RESTARTING, "busy", "replaced", "silent"})
"""Codes of faults that waiting heals: the broker shuts down and may be back soon, or it took a connection for
dead that was not."""


def reason_of(request: Source | Inbox, notice: m.Refused | m.Ended) -> ConcordError:
    """Make the error that the user gets to see."""
    what = "advertisement" if isinstance(request, Source) else "subscription"
    verb = "refused" if isinstance(notice, m.Refused) else "ended"
    text = f"the broker {verb} the {what} {request.filter!r}: {notice.text}"
    if isinstance(notice, m.Refused):
        return RefusedError(text, notice.code)
    if isinstance(request, Source):
        return PublisherEndedError(text, notice.code)
    if notice.code == SLOW:
        return SlowSubscriberError(text, notice.code)
    return SubscriptionEndedError(text, notice.code)
