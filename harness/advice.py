"""Which routing suits an overlay: what each strategy's tables and changes cost, beside what filtering saves.

Tables and changes follow from who wants and advertises what; how many links an event takes is what a run has
counted. An event that is not filtered takes every link. So filtering pays while the events for each change
of a subscription are more than `messages for a change / (part of links saved * links)`, which is the
*break-even* of Muehl's thesis. The routing with the fewest messages is advised; where several are as good,
the one with the smallest tables.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from broker.filters import Filter
from broker.routing import RouteFilter, Routing, Selection, parse

ROUTINGS: Final = tuple(
    f"{strategy}+{advertising}"
    for advertising in ("simple", "flooding")
    for strategy in ("flooding", "simple", "identity", "covering", "merging")
    if (strategy, advertising) != ("flooding", "flooding")
)
"""What can be advised. `+flooding` is without advertisements: subscriptions go everywhere."""

SAMPLE: Final = 50
"""Subscriptions that are taken out and put back, to see over how many links that shows."""

AS_GOOD: Final = 1.01
"""Messages that differ by less than this factor are the same."""


@attrs.frozen
class AdvisedOverlay:
    """Who is where: the uplink of each broker, "" for the root, and the filters of the clients of each."""

    uplinks: Mapping[str, str]
    wanted: Mapping[str, Sequence[RouteFilter]]
    advertised: Mapping[str, Sequence[Filter]]

    @property
    def links(self) -> int:
        """Return the number of links."""
        return len(self.uplinks) - 1

    def directions(self) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """Each direction of each link: the brokers behind it, and those that it leads to."""
        everybody = frozenset(self.uplinks)
        for broker, above in self.uplinks.items():
            if above:
                below = frozenset(each for each in everybody if broker in self._chain(each))
                yield below, everybody - below
                yield everybody - below, below

    def _chain(self, broker: str) -> Iterator[str]:
        while broker:
            yield broker
            broker = self.uplinks[broker]


@attrs.frozen
class RoutingCost:
    """What a routing costs: entries of all brokers, messages for a change, and messages a second.

    `break_even` is how many events for each change there must be; None where nothing is filtered.
    """

    routing: str
    entries: int
    messages_for_change: float
    break_even: float | None
    messages_per_s: float


@attrs.frozen
class AdvisedLoad:
    """What happens in the overlay each second, and how many links an event takes under perfect routing."""

    events_per_s: float
    changes_per_s: float
    links_for_event: float


def costs(overlay: AdvisedOverlay, load: AdvisedLoad) -> list[RoutingCost]:
    """Return the costs of every routing."""
    return [_cost(name, overlay, load) for name in ROUTINGS]


def advised(found: Sequence[RoutingCost]) -> RoutingCost:
    """Return the routing with the fewest messages, or of those the one with the smallest tables."""
    least = min(each.messages_per_s for each in found)
    return min(
        (each for each in found if each.messages_per_s <= AS_GOOD * least), key=lambda each: each.entries
    )


def _cost(name: str, overlay: AdvisedOverlay, load: AdvisedLoad) -> RoutingCost:
    routing = parse(name)
    if routing.subscriptions.floods:
        return RoutingCost(name, 0, 0.0, None, load.events_per_s * overlay.links)
    entries, messages = _tables(routing, overlay)
    saved = overlay.links - load.links_for_event
    total = load.events_per_s * load.links_for_event + load.changes_per_s * messages
    return RoutingCost(name, entries, messages, messages / saved if saved > 0 else None, total)


def _tables(routing: Routing, overlay: AdvisedOverlay) -> tuple[int, float]:
    """Return the entries of all brokers, and over how many links a change shows on average."""
    everything = [route.id for routes in overlay.wanted.values() for route in routes]
    sample = frozenset(everything[:: max(1, len(everything) // SAMPLE)])
    entries = shown = 0
    for behind, ahead in overlay.directions():
        candidates = list(_exposed(routing, overlay, behind, ahead))
        selection = routing.subscriptions.selection()
        selection.edit(candidates, ())
        entries += len(selection.announced)
        shown += sum(_shows(selection, each) for each in candidates if each.id in sample)
    return entries, shown / len(sample) if sample else 0.0


def _exposed(
    routing: Routing, overlay: AdvisedOverlay, behind: Iterable[str], ahead: Iterable[str]
) -> Iterator[RouteFilter]:
    """Yield the subscriptions behind a link that an advertisement ahead of it may have events for."""
    advertised = list(dict.fromkeys(each for name in ahead for each in overlay.advertised.get(name, ())))
    for name in sorted(behind):
        for route in overlay.wanted.get(name, ()):
            if routing.advertisements.floods or any(route.filter.overlaps(each) for each in advertised):
                yield route


def _shows(selection: Selection, route: RouteFilter) -> bool:
    is_shown = bool(selection.remove(route.id))
    selection.add(route)
    return is_shown
