"""The figures of the report about routing strategies, from the points that were measured.

Adding one is adding a function, and a line to `ROUTING_FIGURES`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from harness.analysis.points import MeasuredPoint
from harness.report.charts import Chart, ChartAxis, ChartLine, draw
from harness.report.figures import Figure

_Value = Callable[[MeasuredPoint], float | None]

_KINDS: Final[Mapping[str, str]] = {
    "simple": "quotes",
    "identity": "quotes",
    "covering": "intervals",
    "merging": "intervals",
}
"""The subscriptions that a strategy is shown with: those that it was made for."""

_STYLES: Final[Mapping[str, str]] = {"simple": "c4", "identity": "c1", "covering": "c0", "merging": "c2"}
_FACTOR_STYLES: Final = ("c1", "c0", "c2", "c3")
_LOCALITY_STYLES: Final = ("c4", "c3", "c1", "c2", "c0", "c4")


def _tables(points: Sequence[MeasuredPoint]) -> Figure | None:
    """Without advertisements: subscriptions go everywhere."""
    text = (
        "Remote entries of all 107 brokers, without advertisements. Quote subscriptions for simple and "
        "identity, intervals for covering and merging. Simple routing goes on in a straight line where it "
        "was not simulated."
    )
    return _table_sizes(points, ("table-size", "Table size over subscriptions", text), is_advertised=False)


def _advertised_tables(points: Sequence[MeasuredPoint]) -> Figure | None:
    """With one advertisement at the root: subscriptions go towards it alone."""
    title = "Table size over subscriptions, with advertisements"
    text = "The same with one source at the root that advertises everything."
    return _table_sizes(points, ("table-size-advertised", title, text), is_advertised=True)


def _table_sizes(
    points: Sequence[MeasuredPoint], words: tuple[str, str, str], *, is_advertised: bool
) -> Figure | None:
    some = [each for each in points if each.has_advertisements == is_advertised]
    thesis = (
        "simple grows for ever; identity tends to twice the number of stocks per link, or once with "
        "advertisements; merging of intervals is as good as identity of quotes; covering lies between."
    )
    axis = ChartAxis("remote entries of all brokers", is_log=True)
    return _over_subscriptions(some, "tables", lambda each: float(each.entries), axis, (*words, thesis))


def _changes(points: Sequence[MeasuredPoint]) -> Figure | None:
    """Show the cost of a subscription that comes or goes, with and without advertisements."""
    words = (
        "control-messages",
        "Messages for a change",
        (
            "Messages between brokers for each subscription that comes or goes, without acknowledgements, "
            "while about half of the consumers are active."
        ),
        (
            "106 and 3.73 for simple, whatever the number; identity falls steeply and then no longer depends "
            "on advertisements; covering and merging fall more slowly, and there advertisements stay useful."
        ),
    )
    axis = ChartAxis("messages for a change", is_log=True)
    return _over_subscriptions(points, "changes", lambda each: each.messages, axis, words)


def _break_even(points: Sequence[MeasuredPoint]) -> Figure | None:
    """Show the rate of events to changes at which filtering costs as much as it saves."""
    words = (
        "break-even",
        "Break-even dynamics",
        (
            "Events for each change of subscriptions from which on filtering costs fewer messages than "
            "flooding. Below a line, flooding is cheaper."
        ),
        (
            "rises with subscriptions for simple routing, and falls for identity: the more subscriptions "
            "there are, the more change it bears."
        ),
    )
    axis = ChartAxis("events for a change", is_log=True)
    return _over_subscriptions(points, "changes", lambda each: each.break_even, axis, words)


def _over_subscriptions(
    points: Iterable[MeasuredPoint],
    group: str,
    value: _Value,
    axis: ChartAxis,
    words: tuple[str, str, str, str],
) -> Figure | None:
    """Draw a line for each strategy; `words` are the name, the title, the text, and what the thesis says."""
    lines, rows = [], []
    for label, some in _by_strategy(points, group, value).items():
        measured = [(float(each.subscriptions), value(each)) for each in some]
        known = [(across, up) for across, up in measured if up is not None]
        lines.append(ChartLine(label, known, _STYLES.get(some[0].strategy, "c3")))
        rows += [(label, each.consumers, each.subscriptions, value(each), each.is_continued) for each in some]
    if not any(len(line.points) > 1 for line in lines):
        return None
    name, title, text, thesis = words
    drawn = draw(Chart(lines, ChartAxis("subscriptions", least=0), axis))
    head = ("strategy", "consumers", "subscriptions", "value", "continued")
    return Figure(name, title, text, drawn, head, rows, thesis)


def _by_strategy(
    points: Iterable[MeasuredPoint], group: str, value: _Value
) -> dict[str, list[MeasuredPoint]]:
    """The points of a group that have a value, by line, each in the order of subscriptions."""
    found: dict[str, list[MeasuredPoint]] = {}
    for each in sorted(points, key=_line_place):
        if each.group == group and each.kind == _KINDS.get(each.strategy) and value(each) is not None:
            label = each.strategy + (" + adv." if each.has_advertisements else "")
            found.setdefault(label, []).append(each)
    return found


def _line_place(point: MeasuredPoint) -> tuple[int, bool, int]:
    strategies = list(_KINDS)
    place = strategies.index(point.strategy) if point.strategy in strategies else -1
    return place, point.has_advertisements, point.consumers


def _locality(points: Sequence[MeasuredPoint]) -> Figure | None:
    """Show the gain if subscribers of one part of the overlay have similar filters."""
    found: dict[int, list[MeasuredPoint]] = {}
    for each in sorted(points, key=lambda each: (each.consumers, each.locality or 1.0)):
        if each.group == "locality" and each.strategy == "identity" and each.has_advertisements:
            found.setdefault(each.consumers, []).append(each)
    lines = [
        ChartLine(
            f"{consumers} consumers", [(each.locality or 1.0, float(each.entries)) for each in some], style
        )
        for (consumers, some), style in zip(found.items(), _LOCALITY_STYLES * len(found), strict=False)
    ]
    if not any(len(line.points) > 1 for line in lines):
        return None
    across = ChartAxis("part of all stocks that a subtree wants", most=1.0)
    rows = [
        (each.consumers, each.locality, each.entries, each.messages, each.saved, each.break_even)
        for some in found.values()
        for each in some
    ]
    return Figure(
        "locality",
        "Locality",
        "Remote entries of all brokers under identity with advertisements, when each of the root's three "
        "subtrees draws its stocks from a part of all; half of the consumers at each broker are active.",
        draw(Chart(lines, across, ChartAxis("remote entries", least=0))),
        ("consumers", "locality", "entries", "messages", "saved", "break_even"),
        rows,
        "tables, messages and the break-even ratio fall with more locality, and are least where subtrees "
        "have nothing in common.",
    )


def _factors(points: Sequence[MeasuredPoint]) -> Figure | None:
    """Imperfect merging: tables and extra publications over the factor, in parts of perfect merging's."""
    found: dict[int, list[MeasuredPoint]] = {}
    for each in sorted(points, key=lambda each: (each.consumers, each.factor)):
        if each.group == "factors":
            found.setdefault(each.consumers, []).append(each)
    styles = _FACTOR_STYLES * len(found)
    lines = [line for some, style in zip(found.values(), styles, strict=False) for line in _pair(some, style)]
    if not any(len(line.points) > 1 for line in lines):
        return None
    return Figure(
        "imperfect-merging",
        "Imperfect merging",
        "Remote entries, in percent of those of perfect merging, and publications over links beyond those "
        "that somebody behind the link wants, in percent of these. The two lines of a number of consumers "
        "have one colour; the rising one is the extra traffic.",
        draw(Chart(lines, ChartAxis("factor"), ChartAxis("percent", least=0))),
        ("consumers", "factor", "entries", "publications", "extra", "wrong"),
        [
            (each.consumers, each.factor, each.entries, each.publications, each.extra, each.wrong)
            for some in found.values()
            for each in some
        ],
        "tables shrink with the factor; it does not measure the extra traffic.",
    )


def _pair(some: Sequence[MeasuredPoint], style: str) -> Iterator[ChartLine]:
    """The two lines of a number of consumers."""
    perfect = next((each.entries for each in some if each.factor == 1.0), None)
    if perfect:
        entries = [(each.factor, each.entries / perfect * 100) for each in some]
        yield ChartLine(f"entries, {some[0].consumers}", entries, style)
    extra = [(each.factor, (each.extra or 0.0) * 100) for each in some]
    yield ChartLine(f"extra, {some[0].consumers}", extra, style)


ROUTING_FIGURES: Final[tuple[tuple[str, Callable[[Sequence[MeasuredPoint]], Figure | None]], ...]] = (
    ("Table size", _tables),
    ("Table size, with advertisements", _advertised_tables),
    ("Messages for a change", _changes),
    ("Locality", _locality),
    ("Break-even", _break_even),
    ("Imperfect merging", _factors),
)
"""In the order of the page; names without a figure are figures left out."""
