"""The distribution of latencies: which part of all deliveries took longer than so much."""

from collections.abc import Sequence

from harness.report.charts import Axis, Chart, Line, draw
from harness.report.figures.figure import Figure, same_scenario, style
from harness.report.results import Result

__all__ = ["figure"]


def figure(results: Sequence[Result]) -> Figure | None:
    """A curve per ordering, tails on a scale of nines."""
    lines, rows = [], []
    for each in same_scenario(results):
        curve = [(float(str(part)), float(str(ms))) for part, ms in each.rows("series", "latency")]
        if curve:
            # A part of 0.99 stands at 2: one nine more is one step more.
            lines.append(Line(each.ordering, [(1 / (1 - part), ms) for part, ms in curve], style(each)))
            rows += [(each.ordering, each.name, part, ms) for part, ms in curve]
    if not lines:
        return None
    chart = Chart(
        lines,
        Axis("of all deliveries", is_log=True, least=1, tick=_nines),
        Axis("took at most, ms", is_log=True),
    )
    return Figure(
        "latency-distribution",
        "Latency, distribution",
        "All deliveries, whatever their way. Each step to the right leaves out a tenth of what was left: "
        "the slowest "
        "in ten, in a hundred, in a thousand.",
        draw(chart),
        ("ordering", "run", "part", "ms"),
        rows,
        "At most 10 s with pairwise order, below 200 ms without and with a sequencer: fifty times.",
    )


def _nines(inverse: float) -> str:
    part = 100 * (1 - 1 / inverse)
    return f"{part:.5g} %"
