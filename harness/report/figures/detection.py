"""What finding out whether a publication must wait takes: the paper's figures 5a, 5b and 6a."""

from collections.abc import Sequence

from harness.report.charts import Axis, Bars, Chart, draw, drawn_bars
from harness.report.figures.figure import Figure, same_scenario, style, swept
from harness.report.results import Result

__all__ = ["figure"]


def figure(results: Sequence[Result]) -> Figure | None:
    """Over a sweep of subscriptions if there is one, else a bar per ordering."""
    lines, rows = swept(results, "subscriptions", _mean_us)
    svg = (
        draw(Chart(lines, Axis("subscriptions", least=0), Axis("mean, microseconds", least=0)))
        if lines
        else ""
    )
    if not lines:
        runs = [(each, _mean_us(each)) for each in same_scenario(results)]
        bars = [(each.ordering, [("", mean, style(each))]) for each, mean in runs if mean is not None]
        rows = [(each.ordering, each.name, each.parameter("subscriptions"), mean) for each, mean in runs]
        if not bars:
            return None
        svg = drawn_bars(Bars(bars, "mean, microseconds"))
    return Figure(
        "detection",
        "Detection",
        "The time a broker takes to find out whether a publication has to wait for another, for each "
        "publication.",
        svg,
        ("ordering", "run", "subscriptions", "mean_us"),
        rows,
        "Up to 10 s at 300 subscriptions and advertisements (figure 5a); below 0.8 ms with fast "
        "detection (figure 6a).",
    )


def _mean_us(result: Result) -> float | None:
    return result.number("detection_us", "mean")
