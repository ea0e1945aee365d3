"""The station: the deterministic whole of one broker; its state follows from inputs that can be kept."""

from broker.station.picture import picture_of
from broker.station.places import (
    Away,
    LinkPlace,
    PublisherPlace,
    SubscriptionPlace,
    SubscriptionTerms,
    Waited,
)
from broker.station.recovery import recover, replay
from broker.station.station import Station

__all__ = [
    "Away",
    "LinkPlace",
    "PublisherPlace",
    "Station",
    "SubscriptionPlace",
    "SubscriptionTerms",
    "Waited",
    "picture_of",
    "recover",
    "replay",
]
