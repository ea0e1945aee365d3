"""Overlays with traffic for advice: trees of brokers, and what clients of each publish and read."""

from collections.abc import Mapping
from random import Random

from broker.advice.traffic import BrokerTraffic, Readership

KINDS = "abc"


def traffic_of(
    uplinks: Mapping[str, str],
    published: Mapping[str, Mapping[str, int]],
    read: Mapping[str, Mapping[str, tuple[int, int]]],
    *,
    ordered: bool = True,
) -> list[BrokerTraffic]:
    """What brokers answer, by kinds: the events of publishers, and the count and deliveries of readers."""
    return [
        BrokerTraffic(
            name,
            uplink,
            tuple(each for each, above in uplinks.items() if above == name),
            advertised={_filter(kind): events for kind, events in published.get(name, {}).items()},
            subscribed={
                (_filter(kind), ordered): Readership(*reading) for kind, reading in read.get(name, {}).items()
            },
        )
        for name, uplink in uplinks.items()
    ]


def _filter(kind: str) -> str:
    return f"kind == '{kind}'"


def everybody(uplinks: Mapping[str, str], events: int = 100) -> list[BrokerTraffic]:
    """Clients of each broker publish one kind of event, and read all."""
    published = {name: {"a": events} for name in uplinks}
    read = {name: {"a": (1, events * len(uplinks))} for name in uplinks}
    return traffic_of(uplinks, published, read)


def drawn(brokers: int, seed: int) -> list[BrokerTraffic]:
    """A tree with traffic by chance; readers get all that they want, or a part of it."""
    random = Random(seed)
    uplinks = {f"B{n}": f"B{random.randrange(n)}" if n else "" for n in range(brokers)}
    published = {
        name: {kind: random.choice((10, 100, 1000)) for kind in KINDS if random.random() < 0.4}
        for name in uplinks
    }
    totals = {kind: sum(each.get(kind, 0) for each in published.values()) for kind in KINDS}
    read = {
        name: {
            kind: (count, int(count * totals[kind] * random.choice((1.0, 1.0, 0.5, 0.1))))
            for kind in KINDS
            if random.random() < 0.4
            for count in [random.randint(1, 3)]
        }
        for name in uplinks
    }
    return traffic_of(uplinks, published, read)
