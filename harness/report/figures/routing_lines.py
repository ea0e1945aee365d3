"""What figures about routing strategies share: a line for each strategy, with and without advertisements."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from harness.analysis.points import Point
from harness.report.charts import Axis, Chart, Line, draw
from harness.report.figures.figure import Figure

__all__ = ["KINDS", "by_strategy", "chart_over_subscriptions", "label", "style"]

Value = Callable[[Point], float | None]

KINDS: Final[Mapping[str, str]] = {
    "simple": "quotes",
    "identity": "quotes",
    "covering": "intervals",
    "merging": "intervals",
}
"""The subscriptions that a strategy is shown with: those that it was made for."""

_STYLES: Final[Mapping[str, str]] = {"simple": "c4", "identity": "c1", "covering": "c0", "merging": "c2"}


def style(strategy: str) -> str:
    """The colour that a strategy has in every figure."""
    return _STYLES.get(strategy, "c3")


def label(point: Point) -> str:
    """A strategy, and whether with advertisements."""
    return point.strategy + (" + adv." if point.has_advertisements else "")


def by_strategy(points: Iterable[Point], group: str, value: Value) -> dict[str, list[Point]]:
    """The points of a group that have a value, by line, each in the order of subscriptions."""
    found: dict[str, list[Point]] = {}
    for each in sorted(points, key=_place):
        if each.group == group and each.kind == KINDS.get(each.strategy) and value(each) is not None:
            found.setdefault(label(each), []).append(each)
    return found


def _place(point: Point) -> tuple[int, bool, int]:
    return (
        list(KINDS).index(point.strategy) if point.strategy in KINDS else -1,
        point.has_advertisements,
        point.consumers,
    )


def chart_over_subscriptions(
    name: str, words: tuple[str, str, str], axis: Axis, found: Mapping[str, Sequence[Point]], value: Value
) -> Figure | None:
    """A figure with a line for each strategy; `words` are its title, its text, and what the thesis says."""
    lines, rows = [], []
    for line, points in found.items():
        measured = [(float(each.subscriptions), value(each)) for each in points]
        known = [(across, up) for across, up in measured if up is not None]
        lines.append(Line(line, known, style(points[0].strategy)))
        rows += [
            (line, each.consumers, each.subscriptions, value(each), each.is_continued) for each in points
        ]
    if not any(len(line.points) > 1 for line in lines):
        return None
    title, text, said = words
    drawn = draw(Chart(lines, Axis("subscriptions", least=0), axis))
    return Figure(
        name, title, text, drawn, ("strategy", "consumers", "subscriptions", "value", "continued"), rows, said
    )
