"""Latency over the number of brokers: the paper's figure 8."""

from collections.abc import Sequence

from harness.report.charts import Axis, Chart, draw
from harness.report.figures.figure import Figure, swept
from harness.report.results import Result

__all__ = ["figure"]


def figure(results: Sequence[Result]) -> Figure | None:
    """One line per ordering: the mean over all deliveries."""
    lines, rows = swept(results, "brokers", lambda each: each.number("latency_ms", "mean"))
    if not lines:
        return None
    chart = Chart(lines, Axis("brokers", least=0), Axis("mean latency, ms", least=0))
    return Figure(
        "latency-over-brokers",
        "Latency over brokers",
        "The mean over all deliveries, as the overlay grows and clients with it.",
        draw(chart),
        ("ordering", "run", "brokers", "mean_ms"),
        rows,
        "Figure 8: below 250 ms with 20 brokers, where a group communication system takes 700 s; ten times "
        "per-publisher order.",
    )
