"""The station: the deterministic whole of one broker; its state follows from inputs that can be kept."""

from broker.station.recovery import recover, replay
from broker.station.snapshots import snapshot_of
from broker.station.states import (
    DisconnectedSince,
    ElapsedTime,
    LinkState,
    LocalPublisherState,
    LocalSubscriptionState,
    SubscriptionTerms,
)
from broker.station.station import Station

__all__ = [
    "DisconnectedSince",
    "ElapsedTime",
    "LinkState",
    "LocalPublisherState",
    "LocalSubscriptionState",
    "Station",
    "SubscriptionTerms",
    "recover",
    "replay",
    "snapshot_of",
]
