"""Concord: publish/subscribe by content, in which subscribers agree on order.

This is the public door, all that a program may rely on; every other package may change. `connect` gives a
`Client`, which advertises (a `Publisher`) and subscribes (`Deliveries`). Everything that goes wrong for a
reason is a `ConcordError`. `concord.plugins` has the interface of ordering plugins, `concord.testing` has
overlays for the tests of programs.

Names are imported when they are first asked for: `import concord` loads no client, and no Trio.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker import (
        AdvertisementChange,
        AdvertisementWatch,
        BrokerFaultError,
        Client,
        ClosedError,
        ConcordError,
        ConnectionFailedError,
        ConnectionLostError,
        Deliveries,
        Delivery,
        EventTypeError,
        Filter,
        FilterError,
        Gap,
        GapError,
        InterestChange,
        InvalidPublicationError,
        Limits,
        NotAdvertisedError,
        Publisher,
        PublisherEndedError,
        RefusedError,
        Replay,
        SlowSubscriberError,
        StateChange,
        SubscriptionEndedError,
        UnreadableEventError,
        connect,
        parse,
    )

__all__ = [
    "AdvertisementChange",
    "AdvertisementWatch",
    "BrokerFaultError",
    "Client",
    "ClosedError",
    "ConcordError",
    "ConnectionFailedError",
    "ConnectionLostError",
    "Deliveries",
    "Delivery",
    "EventTypeError",
    "Filter",
    "FilterError",
    "Gap",
    "GapError",
    "InterestChange",
    "InvalidPublicationError",
    "Limits",
    "NotAdvertisedError",
    "Publisher",
    "PublisherEndedError",
    "RefusedError",
    "Replay",
    "SlowSubscriberError",
    "StateChange",
    "SubscriptionEndedError",
    "UnreadableEventError",
    "connect",
    "parse",
]


if not TYPE_CHECKING:  # To a type checker it would mean that there is every name.

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'concord' has no attribute {name!r}")
        found = getattr(import_module("broker"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
