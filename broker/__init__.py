"""Concord: publish/subscribe by content. What users may use is here; everything else may change.

`connect` gives a `Client`, which advertises (a `Publisher`) and subscribes (`Deliveries`). Everything that
goes wrong for a reason is a `ConcordError`.
"""

from broker.client import Client, Deliveries, Delivery, Gap, Limits, Publisher, StateChange, connect
from broker.errors import (
    BrokerFaultError,
    ClosedError,
    ConcordError,
    ConnectionFailedError,
    ConnectionLostError,
    GapError,
    InvalidPublicationError,
    NotAdvertisedError,
    PublisherEndedError,
    RefusedError,
    SlowSubscriberError,
    SubscriptionEndedError,
)
from broker.filters import Filter, FilterError, parse

__all__ = [
    "BrokerFaultError",
    "Client",
    "ClosedError",
    "ConcordError",
    "ConnectionFailedError",
    "ConnectionLostError",
    "Deliveries",
    "Delivery",
    "Filter",
    "FilterError",
    "Gap",
    "GapError",
    "InvalidPublicationError",
    "Limits",
    "NotAdvertisedError",
    "Publisher",
    "PublisherEndedError",
    "RefusedError",
    "SlowSubscriberError",
    "StateChange",
    "SubscriptionEndedError",
    "connect",
    "parse",
]
