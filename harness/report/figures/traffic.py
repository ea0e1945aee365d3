"""What brokers send, by kind: the paper's figures 5c and 6b."""

from collections.abc import Sequence
from typing import Final

from harness.report.charts import Bars, drawn_bars
from harness.report.figures.figure import Figure, same_scenario
from harness.report.results import Result

__all__ = ["figure"]

_KINDS: Final = (("publications", "c0"), ("acknowledgements", "c1"), ("control", "c2"))


def figure(results: Sequence[Result]) -> Figure | None:
    """A stack per ordering, per publication, so that runs of different length can be compared."""
    bars, rows = [], []
    for each in same_scenario(results):
        published = each.number("publications")
        counts = [(kind, each.number("traffic", kind), colour) for kind, colour in _KINDS]
        if published and any(count is not None for _, count, _ in counts):
            bars.append(
                (each.ordering, [(kind, (count or 0) / published, colour) for kind, count, colour in counts])
            )
            totals = (count for _, count, _ in counts)
            rows.append((each.ordering, each.name, published, *totals, each.number("traffic", "bytes")))
    if not bars:
        return None
    return Figure(
        "traffic",
        "Traffic",
        "Messages that all brokers send together, for each publication.",
        drawn_bars(Bars(bars, "messages per publication")),
        ("ordering", "run", "published", "publications", "acknowledgements", "control", "bytes"),
        rows,
        "Figures 5c and 6b: acknowledgements make up the growth, in proportion to how many publications "
        "conflict.",
    )
