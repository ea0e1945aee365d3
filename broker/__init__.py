"""Concord's brokers and client. The public names are here, and in `concord`, their entry.

`connect` gives a `Client`, which advertises (a `Publisher`) and subscribes (`Deliveries`). Every
expected error is a `ConcordError`.

Names are imported when they are first asked for: a user of one part of this package (the simulator of
the core, the command line of one command) does not load the client and Trio with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker.client import (
        AdvertisementChange,
        AdvertisementWatch,
        Client,
        Deliveries,
        Delivery,
        Gap,
        InterestChange,
        Limits,
        Publisher,
        Replay,
        StateChange,
        connect,
    )
    from broker.errors import (
        BrokerFaultError,
        ClosedError,
        ConcordError,
        ConnectionFailedError,
        ConnectionLostError,
        EventTypeError,
        GapError,
        InvalidPublicationError,
        NotAdvertisedError,
        PublisherEndedError,
        RefusedError,
        SlowSubscriberError,
        SubscriptionEndedError,
        UnreadableEventError,
    )
    from broker.filters import Filter, FilterError, parse

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

_MODULES: Final = ("broker.errors", "broker.filters", "broker.client")


if not TYPE_CHECKING:  # To a type checker it would mean that there is every name.

    def __getattr__(name: str) -> object:
        if name in __all__:
            for module in _MODULES:
                found = getattr(import_module(module), name, None)
                if found is not None:
                    globals()[name] = found
                    return found
        raise AttributeError(f"module 'broker' has no attribute {name!r}")
