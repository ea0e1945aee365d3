"""Table sizes over the number of subscriptions."""

from collections.abc import Sequence

from harness.analysis.points import Point
from harness.report.charts import Axis
from harness.report.figures.figure import Figure
from harness.report.figures.routing_lines import by_strategy, chart_over_subscriptions

__all__ = ["advertised", "unadvertised"]

_AXIS = Axis("remote entries of all brokers", is_log=True)


def unadvertised(points: Sequence[Point]) -> Figure | None:
    """Without advertisements: subscriptions go everywhere."""
    return _figure(
        points,
        "table-size",
        "Table size over subscriptions",
        "Remote entries of all 107 brokers, without advertisements. Quote subscriptions for simple and "
        "identity, "
        "intervals for covering and merging. Simple routing goes on in a straight line where it was not "
        "simulated.",
        is_advertised=False,
    )


def advertised(points: Sequence[Point]) -> Figure | None:
    """With one advertisement at the root: subscriptions go towards it alone."""
    return _figure(
        points,
        "table-size-advertised",
        "Table size over subscriptions, with advertisements",
        "The same with one source at the root that advertises everything.",
        is_advertised=True,
    )


def _figure(
    points: Sequence[Point], name: str, title: str, text: str, *, is_advertised: bool
) -> Figure | None:
    some = [each for each in points if each.has_advertisements == is_advertised]
    said = (
        "simple grows for ever; identity tends to twice the number of stocks per link, or once with "
        "advertisements; merging of intervals is as good as identity of quotes; covering lies between."
    )
    found = by_strategy(some, "tables", _entries)
    return chart_over_subscriptions(name, (title, text, said), _AXIS, found, _entries)


def _entries(point: Point) -> float | None:
    return float(point.entries)
