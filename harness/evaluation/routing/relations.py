"""What follows from the points of several studies: factors, relative sizes, and baselines beside them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from harness.analysis.points import MeasuredPoint
from harness.evaluation.routing.expected import (
    covering_announces,
    expected_interval_messages,
    expected_saved,
    hierarchical_links,
    merging_announces,
)
from harness.evaluation.routing.expected import expected_entries as entries_of
from harness.evaluation.routing.references import at
from harness.evaluation.routing.studies import FAR, FAR_POINTS, LOCAL
from harness.evaluation.routing.thesis import LOCALITIES, STOCKS, Crowd, Tree, Want, thesis_tree
from harness.tables import NONE, Table, beside, number, percent

CONSUMERS: Final = (2, 10, 20, 50, 100, 200)

_CURVES: Final = (
    ("simple, quotes", "quotes-simple"),
    ("identity, quotes", "quotes-identity"),
    ("covering, intervals", "intervals-covering"),
    ("merging, intervals", "intervals-merging"),
)


def relations(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """All sections."""
    yield from factors(points)
    yield from merging_beside_covering(points)
    yield from relative_sizes(points)
    yield from hierarchy(points)


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
                cells.append(NONE if found is None else beside(found.messages, expected))
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
    return NONE if found is None else f"{percent(found.saved)} ({percent(expected)})"


def _relative(
    points: Sequence[MeasuredPoint], locality: float, consumers: int, *, is_advertised: bool
) -> str:
    found = _measured(points, locality, consumers, is_advertised=is_advertised)
    if found is None or not found.saved:
        return NONE
    expected = entries_of(locality, consumers, is_advertised=is_advertised) / expected_saved(
        locality, consumers
    )
    return beside(found.entries / found.saved, expected)


def hierarchy(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """Show hierarchical covering, in which every event goes to the root, beside routing in the whole tree."""
    yield "### Hierarchical covering\n"
    yield (
        "In SIENA's hierarchy and in JEDI subscriptions go up only, and every event goes to the root and "
        "from there to where it is wanted. Its tables need no advertisements and are those of covering with "
        "one at the root; its events take the way up also where nobody wants them. All consumers are active, "
        "and the source is at a local broker that is farthest from the others: entries of all brokers, and "
        "links that an event takes on average over all stocks, of 106. The links of the hierarchy, which is "
        "no strategy here, are counted in the tree from who wants what.\n"
    )
    head = (
        "consumers",
        "entries: covering",
        "covering + adv. at the source",
        "hierarchical covering",
        "links: covering",
        "hierarchical covering",
    )
    yield Table(head, [_hierarchical(points, many) for many in FAR_POINTS]).markdown()


def _hierarchical(points: Sequence[MeasuredPoint], consumers: int) -> tuple[str, ...]:
    everywhere, far, hierarchical = (
        at(points, study, consumers)
        for study in (
            "tables-intervals-covering",
            "limit-far-covering",
            "tables-intervals-covering-advertised",
        )
    )
    entries = [NONE if each is None else f"{each.entries:,}" for each in (everywhere, far, hierarchical)]
    taken = NONE if far is None or far.publications is None else f"{far.publications:.1f}"
    return str(consumers), *entries, taken, f"{_hierarchical_links(consumers):.1f}"


@lru_cache
def _hierarchical_links(consumers: int) -> float:
    """Return how many links an event takes on average over all stocks."""
    tree = thesis_tree()
    readers = _readers(_everybody(tree, consumers))
    return sum(hierarchical_links(tree, FAR, readers.get(stock, ())) for stock in range(STOCKS)) / STOCKS


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
