"""Latency over the number of subscriptions: the paper's figure 7, and 5d and 6c."""

from collections.abc import Sequence

from harness.report.charts import Axis, Chart, draw
from harness.report.figures.figure import Figure, swept
from harness.report.results import Result

__all__ = ["figure"]


def figure(results: Sequence[Result]) -> Figure | None:
    """One line per ordering, the median at the publisher's own broker, as the paper measures it."""
    lines, rows = swept(results, "subscriptions", lambda each: each.number("latency_same_broker_ms", "p50"))
    if not lines:
        lines, rows = swept(results, "subscriptions", lambda each: each.number("latency_ms", "p50"))
    if not lines:
        return None
    chart = Chart(lines, Axis("subscriptions", least=0), Axis("median latency, ms", least=0))
    return Figure(
        "latency-over-subscriptions",
        "Latency over subscriptions",
        "The median from just before publishing to the subscriber, at the broker that the event was "
        "published at: "
        "there order costs most, since without it one broker is all there is.",
        draw(chart),
        ("ordering", "run", "subscriptions", "p50_ms"),
        rows,
        "Figure 7: grows linearly with subscriptions and advertisements for every ordering; the pairwise "
        "solution is "
        "highest, about ten times per-publisher order.",
    )
