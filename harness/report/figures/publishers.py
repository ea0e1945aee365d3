"""Throughput over the number of publishers: where the sequencer's knee is."""

from collections.abc import Sequence

from harness.report.charts import Axis, Chart, draw
from harness.report.figures.figure import Figure, swept
from harness.report.results import Result

__all__ = ["figure", "throughput"]


def figure(results: Sequence[Result]) -> Figure | None:
    """Deliveries a second, over the middle of each run."""
    lines, rows = swept(results, "publishers", throughput)
    if not lines:
        return None
    chart = Chart(lines, Axis("publishers", least=0), Axis("deliveries a second", least=0))
    return Figure(
        "throughput-over-publishers",
        "Throughput over publishers",
        "Deliveries a second while everybody publishes. Where a line bends, something is full.",
        draw(chart),
        ("ordering", "run", "publishers", "deliveries_s"),
        rows,
        "The sequencer is saturated at 130 publishers, what more of them send is discarded; pairwise "
        "order takes all 240.",
    )


def throughput(result: Result) -> float | None:
    """The mean of the middle half of a run: neither its beginning nor what drains at its end."""
    rates = [float(str(each["deliveries_s"])) for each in result.objects("series", "timeline")]
    middle = rates[len(rates) // 4 : len(rates) - len(rates) // 4]
    return sum(middle) / len(middle) if middle else None
