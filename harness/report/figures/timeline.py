"""Deliveries over time, with what was done to the overlay."""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.report.charts import Axis, Chart, Line, Mark, draw
from harness.report.figures.figure import Figure, same_scenario, style
from harness.report.results import Result

__all__ = ["figure"]

NAMED_MAX: Final = 8
"""Names of faults that can be told apart over one line of time."""

_ENDS: Final = frozenset({"started again", "mended", "as before", "SIGCONT"})
"""What a run writes down when a fault is over."""


def figure(results: Sequence[Result]) -> Figure | None:
    """One line per ordering; the faults of the first run that had any."""
    lines, rows = [], []
    runs = same_scenario([each for each in results if each.rows("faults")]) or same_scenario(results)
    for each in runs:
        points = [
            tuple(float(str(point[name])) for name in ("at_s", "deliveries_s", "max_ms"))
            for point in each.objects("series", "timeline")
        ]
        if len(points) > 1:
            lines.append(
                Line(each.ordering, [(at, rate) for at, rate, _ in points], style(each), is_step=True)
            )
            rows += [(each.ordering, each.name, *point) for point in points]
    if not lines:
        return None
    faults = next((each.objects("faults") for each in runs if each.rows("faults")), [])
    marks = _marks(faults)
    words = "Deliveries a second, all subscribers together."
    if marks:
        words += " Upright lines are injected faults and their ends; the table of faults names them."
    return Figure(
        "timeline",
        "Timeline",
        words,
        draw(Chart(lines, Axis("seconds"), Axis("deliveries a second", least=0), marks)),
        ("ordering", "run", "at_s", "deliveries_s", "max_ms"),
        rows,
    )


def _marks(faults: Sequence[Mapping[str, object]]) -> list[Mark]:
    """A line for each fault and each end of one. Faults alone have names, where there is room for them."""
    begins = [str(each.get("detail", "")) not in _ENDS for each in faults]
    has_room = sum(begins) <= NAMED_MAX
    return [
        Mark(
            float(str(each["at_s"])),
            f"{each['kind']} {each['target']}".strip() if has_room and is_begin else "",
        )
        for each, is_begin in zip(faults, begins, strict=True)
    ]
