"""How far deliveries are from a common order: displacement, over all pairs of subscribers."""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.report.charts import Bars, drawn_bars
from harness.report.figures.figure import Figure, same_scenario, style
from harness.report.results import Result

__all__ = ["figure"]

_UNMOVED: Final = "0"
A_THOUSAND: Final = 1_000


def figure(results: Sequence[Result]) -> Figure | None:
    """A bar per ordering: how many of a thousand common publications are out of place."""
    bars, rows = [], []
    for each in same_scenario(results):
        histogram = each.part("displacement")
        if isinstance(histogram, Mapping) and histogram:
            total = sum(histogram.values())
            moved = total - histogram.get(_UNMOVED, 0)
            bars.append((each.ordering, [("", A_THOUSAND * moved / total, style(each))]))
            rows += [
                (each.ordering, each.name, places, count, each.number("ordering_degree"))
                for places, count in histogram.items()
            ]
    if not bars:
        return None
    return Figure(
        "displacement",
        "Order of delivery",
        "Two subscribers, what both delivered: how many of a thousand publications stand at another "
        "place at the one "
        "than at the other, over all pairs of subscribers. Nothing is the promise of pairwise order.",
        drawn_bars(Bars(bars, "of a thousand, out of place")),
        ("ordering", "run", "places", "publications", "ordering_degree"),
        rows,
        "Without order a conflict every 14 publications, displaced by at most 2, a normalised degree of "
        "0.9952; "
        "with pairwise order 1.",
    )
