"""What follows from the points of several studies: factors, relative sizes, and baselines beside them.

Of curves that were not measured, what the closed forms of `expected` give stands beside those that were.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from harness.analysis.points import MeasuredPoint
from harness.evaluation.routing.expected import (
    covering_announces,
    expected_interval_messages,
    expected_saved,
    hierarchical_links,
    hierarchical_tables,
    merging_announces,
    needed_links,
)
from harness.evaluation.routing.expected import expected_entries as entries_of
from harness.evaluation.routing.expected import expected_tables as tables_of
from harness.evaluation.routing.references import at
from harness.evaluation.routing.studies import FAR, LOCAL
from harness.evaluation.routing.thesis import LOCALITIES, STOCKS, Crowd, Tree, Want, thesis_tree
from harness.tables import NONE, Table, beside, number, percent

CONSUMERS: Final = (2, 10, 20, 50, 100, 200)

_CURVES: Final = (
    ("simple, quotes", "quotes-simple"),
    ("identity, quotes", "quotes-identity"),
    ("covering, intervals", "intervals-covering"),
    ("merging, intervals", "intervals-merging"),
)

HIERARCHICAL: Final = (2, 10, 20)
"""Consumers at each broker for which the hierarchy is worked out."""


def relations(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """All sections."""
    yield from factors(points)
    yield from merging_beside_covering(points)
    yield from relative_sizes(points)
    yield from hierarchy()


def factors(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """The factor that advertisements save, over the whole range (figures 6.4 and 6.7)."""
    yield "### What advertisements save\n"
    yield (
        "How many times larger tables are, and how many times more messages a change takes, without the "
        "one advertisement at the root: the thesis' figures 6.4 and 6.7.\n"
    )
    rows = []
    for many in CONSUMERS:
        cells = [
            _factor(points, f"{group}-{study}", many)
            for group in ("tables", "changes")
            for _, study in _CURVES
        ]
        rows.append((str(many), *cells))
    head = [f"{what}: {title}" for what in ("entries", "messages") for title, _ in _CURVES]
    yield Table(("consumers", *head), rows).markdown()


def _factor(points: Sequence[MeasuredPoint], study: str, consumers: int) -> str:
    both = [at(points, study + way, consumers) for way in ("", "-advertised")]
    costs = [_cost(each) for each in both if each is not None]
    known = [cost for cost in costs if cost]
    return f"{known[0] / known[1]:.1f}" if len(known) == len(both) else NONE


def _cost(point: MeasuredPoint) -> float | None:
    return point.messages if point.group == "changes" else float(point.entries)


def merging_beside_covering(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """Show that a change costs merging less than covering, measured and as expected."""
    yield "### Why merging sends less than covering\n"
    yield (
        "The thesis finds that merging needs more messages for a change than covering. Here it is the "
        "other way round. Behind a link that n intervals of a stock are wanted behind, a new one is "
        "announced under covering if no other covers it: H(n) of n times, where H(n) = 1 + 1/2 + ... + "
        "1/n. Under merging it is announced if it makes the union longer: (2n-1) of n^2 times, which is "
        "less from n = 3 on. The union that goes and the union that comes are in one message here; where "
        "each filter is a message of its own, as we read the thesis, the second number nearly doubles. "
        "Measured, and in brackets what these expectations give with the deviation.\n"
    )
    rows = []
    for many in CONSUMERS:
        cells = []
        for strategy, announces in (("covering", covering_announces), ("merging", merging_announces)):
            for way in ("", "-advertised"):
                found = at(points, f"changes-intervals-{strategy}{way}", many)
                expected = expected_interval_messages(many, announces, is_advertised=bool(way))
                measured = None if found is None else found.messages
                cells.append(f"({number(expected)})" if measured is None else beside(measured, expected))
        rows.append((str(many), *cells))
    head = ("consumers", "covering", "covering + adv.", "merging", "merging + adv.")
    yield Table(head, rows).markdown()


def relative_sizes(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """Entries for the part of publications that they save, by locality (figures 6.13 to 6.15)."""
    yield "### Relative table sizes\n"
    yield (
        "The part of publications over links that identity routing saves (the thesis' figure 6.13), and "
        "its entries divided by that part, without (6.14) and with advertisements (6.15): what a table "
        "costs for what it saves. In brackets what is to be expected, with the deviation of what was "
        "measured. With more consumers and advertisements this tends to `d m (|V|-2) / (1-d)`.\n"
    )
    head = [
        f"{title}, {many} consumers"
        for title in ("saved", "relative size", "relative size + adv.")
        for many in LOCAL
    ]
    rows = []
    for locality in LOCALITIES:
        bound = NONE if locality == 1 else number(locality * STOCKS * 105 / (1 - locality))
        cells = [_saved(points, locality, many) for many in LOCAL]
        cells += [
            _relative(points, locality, many, is_advertised=way) for way in (False, True) for many in LOCAL
        ]
        rows.append((f"{locality:.2f}", *cells, bound))
    yield Table(("d", *head, "limit + adv."), rows).markdown()


def _measured(
    points: Sequence[MeasuredPoint], locality: float, consumers: int, *, is_advertised: bool
) -> MeasuredPoint | None:
    some = (
        each
        for each in points
        if each.group == "locality" and each.strategy == "identity" and each.saved is not None
    )
    key = (locality, consumers, is_advertised)
    return next(
        (each for each in some if (each.locality, each.consumers, each.has_advertisements) == key), None
    )


def _saved(points: Sequence[MeasuredPoint], locality: float, consumers: int) -> str:
    expected = expected_saved(locality, consumers)
    found = _measured(points, locality, consumers, is_advertised=True)
    return f"({percent(expected)})" if found is None else f"{percent(found.saved)} ({percent(expected)})"


def _relative(
    points: Sequence[MeasuredPoint], locality: float, consumers: int, *, is_advertised: bool
) -> str:
    saved = expected_saved(locality, consumers)
    expected = entries_of(locality, consumers, is_advertised=is_advertised) / saved
    found = _measured(points, locality, consumers, is_advertised=is_advertised)
    if found is None or not found.saved:
        return f"({number(expected)})"
    return beside(found.entries / found.saved, expected)


def hierarchy() -> Iterator[str]:
    """Show hierarchical covering, in which every event goes to the root, beside routing in the whole tree."""
    yield "### Hierarchical covering\n"
    yield (
        "In SIENA's hierarchy and in JEDI subscriptions go up only, and every event goes to the root and "
        "from there to where it is wanted. Its tables need no advertisements and are as small as with one "
        "at the root; its events take the way up also where nobody wants them. Worked out from who wants "
        "what, with all consumers active and the source at a local broker that is farthest from the "
        "others: entries of all brokers, and links that an event takes on average over all stocks, of "
        "106.\n"
    )
    head = (
        "consumers",
        "entries: covering",
        "covering + adv. at the source",
        "hierarchical covering",
        "links: covering",
        "hierarchical covering",
    )
    yield Table(head, [_hierarchical(many) for many in HIERARCHICAL]).markdown()


@lru_cache
def _hierarchical(consumers: int) -> tuple[str, ...]:
    tree = thesis_tree()
    wanted = _everybody(tree, consumers)
    tables = [
        tables_of(tree, "covering", wanted, None),
        tables_of(tree, "covering", wanted, FAR),
        hierarchical_tables(tree, "covering", wanted),
    ]
    readers = _readers(wanted)
    links = [
        sum(count(tree, FAR, readers.get(stock, ())) for stock in range(STOCKS)) / STOCKS
        for count in (needed_links, hierarchical_links)
    ]
    entries = [f"{sum(each.values()):,}" for each in tables]
    return str(consumers), *entries, *(f"{each:.1f}" for each in links)


def _everybody(tree: Tree, consumers: int) -> Mapping[str, Sequence[Want]]:
    crowd = Crowd("intervals")
    return {
        place.name: [want for consumer in range(consumers) for want in crowd.wants(place, consumer)]
        for place in tree.places
        if crowd.has_clients(place)
    }


def _readers(wanted: Mapping[str, Sequence[Want]]) -> Mapping[int, set[str]]:
    """Return the brokers at which each stock is wanted at the price that every interval holds."""
    found: dict[int, set[str]] = {}
    for broker, wants in wanted.items():
        for want in wants:
            found.setdefault(want.stock, set()).add(broker)
    return found
