"""Measures conflict detection per publication: `python -m harness.benchmarks.detection [--json]`.

Two tables. `pairwise` alone, among up to 100,000 subscriptions and 1,000 advertisements; and beside it the
three forms of the published detection, on the workload of the paper's figures 5a and 6a.

Detection is one call of the plugin's `publication`, with everything resolved that the broker resolves anyway:
the route, and for `published` the matching subscriptions, pubs and nhs. Finding the route is shown beside it.
Times are the process's own; of several passes the quickest counts, as it was disturbed least.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from time import process_time_ns
from typing import Final

import click
from attrs import asdict, define, frozen

from broker.core.hops import Hop, HopTable
from broker.core.tables import RouteEntry, RoutingTables, TableView
from broker.filters import Filter, parse
from broker.messages import Publication
from harness.tables import show, shown, table_of
from ordering.interface import (
    Advertisement,
    Context,
    Event,
    Hops,
    Note,
    Ordering,
    OrderingFactory,
    Route,
    Subscription,
    Tables,
)
from ordering.pairwise import Pairwise
from ordering.plugins import configured
from ordering.published import Published
from ordering.published.plugin import FORMS

SUBSCRIPTIONS: Final = (100, 10_000, 100_000)
ADVERTISEMENTS: Final = (10, 1_000)
SYMBOLS: Final = 1_000
"""Events are about one of so many symbols, subscriptions too: one event in a thousand matches each."""

LINKS: Final = 8

COMBINED: Final = (50, 100, 150, 200, 250, 300)
OVERLAPS: Final = (25, 50, 100)
"""The paper's subscriptions and advertisements together, and how many percent of them a publication meets."""

PASSES: Final = 5
EVENTS: Final = 400
BUDGET_NS: Final = 200_000_000
"""The exhaustive forms take up to a second for one publication: they are not measured often."""


@frozen
class LargeRow:
    """`pairwise` at one size, in nanoseconds per publication. `place` says where the subscriptions are.

    No subscription is exposed; or one is, but none further up matches; or the publication climbs, and one
    waits.
    """

    subscriptions: int = shown("subscriptions", ",")
    place: str = shown("on")
    advertisements: int = shown("advertisements", ",")
    route_ns: float = shown("route", ",.0f")
    unexposed_ns: float = shown("unexposed", ",.0f")
    exposed_ns: float = shown("exposed", ",.0f")
    conflict_ns: float = shown("conflict", ",.0f")


@frozen
class PaperRow:
    """One point of figures 5a and 6a, in microseconds per publication."""

    combined: int = shown("combined")
    overlap_percent: int = shown("overlap", "", "%")
    route_us: float = shown("route", ".2f")
    basic_us: float = shown("basic", ",.0f")
    progressive_us: float = shown("progressive", ",.0f")
    fast_us: float = shown("fast", ",.0f")
    pairwise_us: float = shown("pairwise", ".2f")


@define
class DetectionBroker:
    """The tables of one broker with an uplink, and hops to put things on."""

    tables: RoutingTables
    hops: HopTable
    uplink: Hop

    @classmethod
    def make(cls, advertised: Iterable[Filter]) -> "DetectionBroker":
        """A broker that knows these advertisements through its uplink."""
        hops, tables = HopTable(), RoutingTables()
        uplink = hops.open("up", is_link=True)
        tables.open_link(uplink)
        for number, content in enumerate(advertised):
            tables.add_advertisement(uplink, f"p{number}", content)
        tables.set_uplink(uplink)
        return cls(tables, hops, uplink)

    def link(self, name: str) -> Hop:
        """One more link."""
        link = self.hops.open(name, is_link=True)
        self.tables.open_link(link)
        return link

    def subscribe(self, number: int, content: Filter, hop: Hop | None = None) -> None:
        """A subscription behind a link, or a local one with a hop of its own."""
        hop = hop or self.hops.open(f"s{number}", is_link=False)
        self.tables.add_entry(RouteEntry(f"s{number}", content, ordered=True, hop=hop))


def run_large(
    subscriptions: Sequence[int] = SUBSCRIPTIONS, advertisements: Sequence[int] = ADVERTISEMENTS
) -> list[LargeRow]:
    """Measure `pairwise` at every size, with all subscriptions local, and all behind links."""
    return [
        _large_row(count, advertised, place)
        for place in ("links", "local")
        for count in subscriptions
        for advertised in advertisements
    ]


def _large_row(subscriptions: int, advertisements: int, place: str) -> LargeRow:
    symbols = min(SYMBOLS, subscriptions)
    broker = DetectionBroker.make(parse(f"price > {number}") for number in range(advertisements))
    links = [broker.link(f"l{number}") for number in range(LINKS)]
    filters = [parse(f"symbol == 'X{number}' and price > 0") for number in range(symbols)]
    for number in range(subscriptions):
        hop = links[number % LINKS] if place == "links" else None
        broker.subscribe(number, filters[number % symbols], hop)
    events = [_event(number, f"X{number % symbols}", 5.5) for number in range(EVENTS)]
    routes = [broker.tables.route(event.attributes, 0) for event in events]
    assert all(route.exposed == route.targets for route in routes)
    unexposed = [Route(route.targets, 0, route.targets) for route in routes]
    climbing = [Route(route.targets | broker.uplink.bit, route.exposed, route.free) for route in routes]
    return LargeRow(
        subscriptions,
        place,
        advertisements,
        _best(lambda: _time_routes(broker.tables, events)),
        _best(lambda: _time_pairwise(broker, events, unexposed)),
        _best(lambda: _time_pairwise(broker, events, routes)),
        _best(lambda: _time_pairwise(broker, events, climbing)),
    )


def _event(number: int, symbol: str, price: float) -> Publication:
    return Publication("p", number + 1, {"symbol": symbol, "price": price}, ordered=True, frame=b"")


def _best(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(PASSES))


def _time_routes(tables: RoutingTables, events: Sequence[Publication]) -> float:
    route = tables.route
    start = process_time_ns()
    for event in events:
        route(event.attributes, 0)
    return (process_time_ns() - start) / len(events)


def _time_pairwise(broker: DetectionBroker, events: Sequence[Publication], routes: Sequence[Route]) -> float:
    """Time the calls; acknowledge climbing publications untimed, so that few are pending."""
    plugin = Pairwise()
    plugin.uplink_changed(broker.uplink.bit)
    detect = plugin.publication
    total_ns = 0
    for start in range(0, len(events), LINKS):
        batch = list(zip(events[start : start + LINKS], routes[start : start + LINKS], strict=True))
        begin = process_time_ns()
        for event, route in batch:
            detect(event, 0, 0, route)
        total_ns += process_time_ns() - begin
        if plugin.waiting_count:
            plugin.note(broker.uplink.bit, (len(batch),))
    return total_ns / len(events)


@frozen
class Prepared:
    """Tables in which the matching subscriptions have been found already."""

    _tables: Tables
    _matching: Sequence[Subscription]
    version: int = 0

    def advertisements(self) -> Iterator[Advertisement]:
        """As in the tables."""
        yield from self._tables.advertisements()

    def subscriptions(self) -> Iterator[Subscription]:
        """As in the tables."""
        yield from self._tables.subscriptions()

    def matching(self, event: Event, origin: Hops) -> Sequence[Subscription]:
        """Return what was prepared, whatever is asked."""
        del event, origin
        return self._matching


def run_paper(combined: Sequence[int] = COMBINED, overlaps: Sequence[int] = OVERLAPS) -> list[PaperRow]:
    """Measure every point of the figures."""
    return [_paper_row(count, percent) for percent in overlaps for count in combined]


def edge_broker(combined: int, overlap_percent: int) -> DetectionBroker:
    """The paper's edge broker: half advertisements behind its link, a quarter subscriptions there and here.

    So many percent of each meet the publication and each other; the others are about something else.
    """
    halves = (combined // 2, combined - combined // 2)
    advertised, subscribed = (_mixed(count, overlap_percent) for count in halves)
    broker = DetectionBroker.make(advertised)
    for number, content in enumerate(subscribed):
        broker.subscribe(number, content, broker.uplink if number % 2 else None)
    return broker


def _mixed(count: int, percent: int) -> Iterator[Filter]:
    """Filters on the publication's symbol, spread evenly, among filters on another."""
    for number in range(count):
        hits = (number // 2 + 1) * percent // 100 > number // 2 * percent // 100
        yield parse(f"symbol == '{'X' if hits else 'Y'}' and price > {-1 - number}")


def _paper_row(combined: int, overlap_percent: int) -> PaperRow:
    broker = edge_broker(combined, overlap_percent)
    event = _event(0, "X", 1.5)
    route = broker.tables.route(event.attributes, 0)
    view = TableView(broker.tables)
    prepared = Prepared(view, view.matching(event, 0))
    figures = {
        name: _time_plugin(factory, prepared, broker.uplink.bit, event, route)
        for name, factory in _factories().items()
    }
    return PaperRow(
        combined,
        overlap_percent,
        _best(lambda: _time_routes(broker.tables, [event] * EVENTS)) / 1000,
        figures["basic"],
        figures["progressive"],
        figures["fast"],
        figures["pairwise"],
    )


def _factories() -> dict[str, OrderingFactory]:
    forms = {form: configured(Published, {"form": form}) for form in FORMS}
    return {**forms, "pairwise": lambda _: Pairwise()}


def _time_plugin(
    factory: OrderingFactory, tables: Tables, uplink: Hops, event: Publication, route: Route
) -> float:
    """Time publications on fresh plugins, in microseconds, until that has taken long enough."""
    samples: list[int] = []
    while sum(samples) < BUDGET_NS and len(samples) < EVENTS:
        plugin = factory(Context("B", tables))
        plugin.link_attached(uplink)
        plugin.uplink_changed(uplink)
        _warm_up(plugin, event, uplink, route)
        start = process_time_ns()
        plugin.publication(event, 0, 0, route)
        samples.append(process_time_ns() - start)
    samples.sort()
    return fmean(samples[: len(samples) // 2 + 1]) / 1000


def _warm_up(plugin: Ordering, event: Publication, uplink: Hops, route: Route) -> None:
    """Let the hash tables be worked out, which the paper counts to advertising and subscribing."""
    if isinstance(plugin, Published):
        plugin.prepare()
    else:
        plugin.publication(event, 0, 0, route)
        plugin.note(uplink, Note((1,)).content)


@click.command()
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of tables.")
def command(*, json_: bool) -> None:
    """Measure the cost of conflict detection per publication.

    Example: python -m harness.benchmarks.detection --json
    """
    large, paper = run_large(), run_paper()
    if json_:
        both = {"large": [asdict(row) for row in large], "paper": [asdict(row) for row in paper]}
        click.echo(json.dumps(both))
        return
    click.echo("Detection by pairwise, in nanoseconds per publication.\n")
    show(table_of(large, words=0))
    click.echo("\nDetection as in figures 5a and 6a of the paper, in microseconds per publication.\n")
    show(table_of(paper, words=0))


if __name__ == "__main__":
    command()
