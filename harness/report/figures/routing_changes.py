"""What it costs when a subscription comes or goes, over the number of active subscriptions."""

from collections.abc import Sequence

from harness.analysis.points import Point
from harness.report.charts import Axis
from harness.report.figures.figure import Figure
from harness.report.figures.routing_lines import by_strategy, chart_over_subscriptions

__all__ = ["figure"]


def figure(points: Sequence[Point]) -> Figure | None:
    """A line per strategy, with and without advertisements."""
    text = (
        "Messages between brokers for each subscription that comes or goes, without acknowledgements, while "
        "about half of the consumers are active."
    )
    said = (
        "106 and 3.73 for simple, whatever the number; identity falls steeply and then no longer depends on "
        "advertisements; covering and merging fall more slowly, and there advertisements stay useful."
    )
    words = ("Messages for a change", text, said)
    axis = Axis("messages for a change", is_log=True)
    found = by_strategy(points, "changes", _messages)
    return chart_over_subscriptions("control-messages", words, axis, found, _messages)


def _messages(point: Point) -> float | None:
    return point.messages
