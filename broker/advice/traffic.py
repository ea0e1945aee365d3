"""What one broker has counted for its own clients, as it answers about "traffic" (`broker.node.traffic`)."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from broker.errors import ConcordError


class TrafficError(ConcordError):
    """What brokers have counted allows no advice; the text has the reason."""


@frozen
class Readership:
    """The subscriptions of one broker with one filter: how many there are, and their deliveries together."""

    count: int
    deliveries: int


@frozen
class BrokerTraffic:
    """Where one broker is, how long events have waited there, and the traffic of its clients by filters.

    `subscribed` is keyed by filter, and whether the subscriptions are ordered. `waiting_s` is the sum over
    all publications that were pending there. `left_out` filters had less traffic than those listed.
    """

    broker: str
    uplink: str
    children: tuple[str, ...]
    deferred: int = 0
    waiting_s: float = 0.0
    left_out: int = 0
    advertised: Mapping[str, int] = {}
    subscribed: Mapping[tuple[str, bool], Readership] = {}

    @property
    def published(self) -> int:
        """Return how many events its clients have published."""
        return sum(self.advertised.values())

    @property
    def delivered(self) -> int:
        """Return how many deliveries its clients have had."""
        return sum(each.deliveries for each in self.subscribed.values())

    def since(self, before: "BrokerTraffic") -> "BrokerTraffic":
        """Return what has been counted since then; clients that have left meanwhile count nothing."""
        advertised = {
            text: max(events - before.advertised.get(text, 0), 0) for text, events in self.advertised.items()
        }
        nothing = Readership(0, 0)
        subscribed = {
            key: Readership(
                each.count, max(each.deliveries - before.subscribed.get(key, nothing).deliveries, 0)
            )
            for key, each in self.subscribed.items()
        }
        return BrokerTraffic(
            self.broker,
            self.uplink,
            self.children,
            max(self.deferred - before.deferred, 0),
            max(self.waiting_s - before.waiting_s, 0.0),
            self.left_out,
            advertised,
            subscribed,
        )


def read_traffic(lines: Iterable[Mapping[str, Any]]) -> BrokerTraffic:
    """Read a broker's answer: a line about the broker, then one for each filter."""
    about, *rest = lines
    return BrokerTraffic(
        about["broker"],
        about["uplink"],
        tuple(about["children"]),
        about["deferred"],
        about["waiting_s"],
        about["left_out"],
        {each["advertised"]: each["events"] for each in rest if "advertised" in each},
        {
            (each["subscribed"], each["ordered"]): Readership(each["count"], each["events"])
            for each in rest
            if "subscribed" in each
        },
    )
