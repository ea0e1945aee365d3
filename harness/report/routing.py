"""The report about routing strategies: one page of figures, with their data beside it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from harness.analysis.points import Point
from harness.report.figures import (
    routing_break_even,
    routing_changes,
    routing_factors,
    routing_locality,
    routing_tables,
)
from harness.report.figures.figure import Figure
from harness.report.sections import figures, keep, opening

__all__ = ["ROUTING_FIGURES", "write"]

ROUTING_FIGURES: Final[tuple[tuple[str, Callable[[Sequence[Point]], Figure | None]], ...]] = (
    ("Table size", routing_tables.unadvertised),
    ("Table size, with advertisements", routing_tables.advertised),
    ("Messages for a change", routing_changes.figure),
    ("Locality", routing_locality.figure),
    ("Break-even", routing_break_even.figure),
    ("Imperfect merging", routing_factors.figure),
)
"""In the order of the page; the names stand for figures that are left out."""


def write(directory: Path, points: Sequence[Point]) -> Path:
    """Write the report into a directory; return the page's path."""
    drawn = [(name, make(points)) for name, make in ROUTING_FIGURES]
    folder = directory / "report"
    folder.mkdir(parents=True, exist_ok=True)
    keep(folder, drawn)
    page = folder / "index.html"
    checked = [each for each in points if each.differing is not None]
    wrong = sum(each.differing or 0 for each in checked)
    abstract = (
        f'<p class="abstract">{len(points)} points on a tree of 107 brokers. Tables were worked out from '
        f"scratch "
        f"at {len(checked)} of them: {wrong} tables differ.</p></header>"
    )
    parts = [opening("Routing strategies", "Concord, what tables and changes cost"), abstract]
    page.write_text(
        "".join([*parts, *figures(drawn, "The thesis"), "</main></body></html>\n"]), encoding="utf-8"
    )
    return page
