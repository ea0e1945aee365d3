"""The station: the deterministic whole of one broker; its state follows from inputs that can be kept."""

from broker.station.errors import StationError
from broker.station.picture import picture_of
from broker.station.places import LinkPlace, PublisherPlace, SubscriptionPlace, SubscriptionTerms
from broker.station.recovery import recover
from broker.station.replaying import replay
from broker.station.station import Station
from broker.station.waiting import Away, Waited

__all__ = [
    "Away",
    "LinkPlace",
    "PublisherPlace",
    "Station",
    "StationError",
    "SubscriptionPlace",
    "SubscriptionTerms",
    "Waited",
    "picture_of",
    "recover",
    "replay",
]
