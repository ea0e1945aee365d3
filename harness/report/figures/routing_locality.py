"""Locality: what it brings that subscribers of one part of the overlay want similar things."""

from collections.abc import Sequence
from typing import Final

from harness.analysis.points import Point
from harness.report.charts import Axis, Chart, Line, draw
from harness.report.figures.figure import Figure

__all__ = ["figure"]

_STYLES: Final = ("c4", "c3", "c1", "c2", "c0", "c4")


def figure(points: Sequence[Point]) -> Figure | None:
    """Messages for a change over the degree of locality, a line per number of consumers."""
    found: dict[int, list[Point]] = {}
    for each in sorted(points, key=_place):
        if each.group == "locality" and each.strategy == "identity" and each.has_advertisements:
            found.setdefault(each.consumers, []).append(each)
    lines = [
        Line(f"{consumers} consumers", [(each.locality or 1.0, float(each.entries)) for each in some], style)
        for (consumers, some), style in zip(found.items(), _STYLES * len(found), strict=False)
    ]
    if not any(len(line.points) > 1 for line in lines):
        return None
    chart = Chart(
        lines, Axis("part of all stocks that a subtree wants", most=1.0), Axis("remote entries", least=0)
    )
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
        draw(chart),
        ("consumers", "locality", "entries", "messages", "saved", "break_even"),
        rows,
        "tables, messages and the break-even ratio fall with more locality, and are least where subtrees "
        "have "
        "nothing in common.",
    )


def _place(point: Point) -> tuple[int, float]:
    return (point.consumers, point.locality or 1.0)
