"""What a broker has counted for its own clients, and how long events have waited here, for advice.

Law: nothing is counted for an event. Publishers number what they publish, subscriptions what they get.
"""

from collections.abc import Iterator
from typing import Final

from broker.lines import json_line
from broker.node.exchange import Exchange

FILTERS_MAX: Final = 1000
"""Filters of each kind in an answer, those with most traffic first: advice compares all with each other."""

TEXT_MAX: Final = 4096
"""Longer filters are left out: a line has room for so much."""


def traffic_of(exchange: Exchange) -> Iterator[str]:
    """Yield a line about the broker, and one for each filter of its publishers and of its subscriptions."""
    core, totals = exchange.core, exchange.totals
    advertised: dict[str, int] = {}
    for publisher in exchange.publishers.values():
        text = str(publisher.filter)
        advertised[text] = advertised.get(text, 0) + publisher.taken
    subscribed: dict[tuple[str, bool], tuple[int, int]] = {}
    for each in exchange.subscribers.values():
        key = str(each.state.terms.filter), each.state.terms.ordered
        events, count = subscribed.get(key, (0, 0))
        subscribed[key] = events + each.state.emitted, count + 1
    offers = sorted((-events, text) for text, events in advertised.items() if len(text) <= TEXT_MAX)
    wanted = sorted((-events, key, n) for key, (events, n) in subscribed.items() if len(key[0]) <= TEXT_MAX)
    shown = len(offers[:FILTERS_MAX]) + len(wanted[:FILTERS_MAX])
    uplink = core.uplink.name if core.uplink is not None else ""
    yield json_line(
        {
            "broker": core.name,
            "uplink": uplink,
            "children": [name for name in core.neighbours if name != uplink],
            "deferred": core.measures.deferred,
            "waiting_s": round(totals.waiting_s, 6),
            "left_out": len(advertised) + len(subscribed) - shown,
        }
    )
    for events, text in offers[:FILTERS_MAX]:
        yield json_line({"advertised": text, "events": -events})
    for events, (text, is_ordered), count in wanted[:FILTERS_MAX]:
        yield json_line({"subscribed": text, "ordered": is_ordered, "count": count, "events": -events})
