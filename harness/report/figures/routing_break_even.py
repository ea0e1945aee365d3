"""How much change filtering bears: the rate of events to that of changes at which it costs what it saves."""

from collections.abc import Sequence

from harness.analysis.points import Point
from harness.report.charts import Axis
from harness.report.figures.figure import Figure
from harness.report.figures.routing_lines import by_strategy, chart_over_subscriptions

__all__ = ["figure"]


def figure(points: Sequence[Point]) -> Figure | None:
    """A line per strategy, with and without advertisements."""
    text = (
        "Events for each change of subscriptions from which on filtering costs fewer messages than flooding. "
        "Below a line, flooding is cheaper."
    )
    said = (
        "rises with subscriptions for simple routing, and falls for identity: the more subscriptions there "
        "are, the more change it bears."
    )
    words = ("Break-even dynamics", text, said)
    found = by_strategy(points, "changes", _ratio)
    return chart_over_subscriptions(
        "break-even", words, Axis("events for a change", is_log=True), found, _ratio
    )


def _ratio(point: Point) -> float | None:
    return point.break_even
