"""Imperfect merging: smaller tables for publications that nobody wants."""

from collections.abc import Iterator, Sequence

from harness.analysis.points import Point
from harness.report.charts import Axis, Chart, Line, draw
from harness.report.figures.figure import Figure

__all__ = ["figure"]

_STYLES = ("c1", "c0", "c2", "c3")


def figure(points: Sequence[Point]) -> Figure | None:
    """Tables and extra publications over the factor, in parts of perfect merging's."""
    found: dict[int, list[Point]] = {}
    for each in sorted(points, key=_place):
        if each.group == "factors":
            found.setdefault(each.consumers, []).append(each)
    lines = [line for index, some in enumerate(found.values()) for line in _lines(some, _STYLES[index % 4])]
    if not any(len(line.points) > 1 for line in lines):
        return None
    chart = Chart(lines, Axis("factor"), Axis("percent", least=0))
    return Figure(
        "imperfect-merging",
        "Imperfect merging",
        "Remote entries, in percent of those of perfect merging, and publications over links beyond those "
        "that "
        "somebody behind the link wants, in percent of these. The two lines of a number of consumers have "
        "one "
        "colour; the rising one is the extra traffic.",
        draw(chart),
        ("consumers", "factor", "entries", "publications", "extra", "wrong"),
        [
            (each.consumers, each.factor, each.entries, each.publications, each.extra, each.wrong)
            for some in found.values()
            for each in some
        ],
        "tables shrink with the factor; it does not measure the extra traffic.",
    )


def _lines(some: Sequence[Point], style: str) -> Iterator[Line]:
    perfect = next((each.entries for each in some if each.factor == 1.0), None)
    if perfect:
        entries = [(each.factor, each.entries / perfect * 100) for each in some]
        yield Line(f"entries, {some[0].consumers}", entries, style)
    extra = [(each.factor, (each.extra or 0.0) * 100) for each in some]
    yield Line(f"extra, {some[0].consumers}", extra, style)


def _place(point: Point) -> tuple[int, float]:
    return (point.consumers, point.factor)
