"""The gallery of a report: functions from the runs to a figure, or to nothing if there is nothing to show.

Adding one is adding a file to `figures` and one line to `FIGURES`.
"""

from collections.abc import Callable, Sequence
from typing import Final

from harness.report.figures import (
    brokers,
    detection,
    displacement,
    distribution,
    publishers,
    subscriptions,
    timeline,
    traffic,
)
from harness.report.figures.figure import Figure
from harness.report.results import Result

__all__ = ["FIGURES"]

FIGURES: Final[tuple[tuple[str, Callable[[Sequence[Result]], Figure | None]], ...]] = (
    ("Latency over subscriptions", subscriptions.figure),
    ("Latency, distribution", distribution.figure),
    ("Throughput over publishers", publishers.figure),
    ("Latency over brokers", brokers.figure),
    ("Order of delivery", displacement.figure),
    ("Traffic", traffic.figure),
    ("Detection", detection.figure),
    ("Timeline", timeline.figure),
)
"""In the order of the page; the names stand for figures that are left out."""
