"""What a figure is, what several figures need, and how figures stand on a page and in files.

Every ordering has one colour in all figures, and lines over a sweep are found in one way.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import Final

import attrs

from harness.report.charts import ChartLine
from harness.report.results import ORDER, Result

_STYLES: Final[Mapping[str, str]] = {
    **{name: f"c{index}" for index, name in enumerate(ORDER)},
    "published, progressive": f"c{len(ORDER) - 1}",
}
_OTHER: Final = "c4"


@attrs.frozen(eq=False)
class Figure:
    """A chart with its words and its data. `paper` is the result of the paper for the same."""

    name: str
    title: str
    text: str
    svg: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    paper: str = ""


Drawn = Sequence[tuple[str, Figure | None]]
"""Figures with their names; None for those that there is nothing to show in."""


def style(result: Result) -> str:
    """The colour that an ordering has in every figure."""
    return _STYLES.get(result.line, _OTHER)


def of_ordering(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Runs by ordering, in the order they come."""
    found: dict[str, list[Result]] = {}
    for each in results:
        found.setdefault(each.line, []).append(each)
    return found


def same_scenario(results: Sequence[Result]) -> list[Result]:
    """One run of each ordering, all of the same point of a sweep: the largest that most orderings have."""
    points: dict[tuple[object, ...], dict[str, Result]] = {}
    for each in results:
        points.setdefault((_base(each.scenario), *each.point[1:]), {}).setdefault(each.line, each)
    if not points:
        return []
    most = max(len(runs) for runs in points.values())
    return list([runs for runs in points.values() if len(runs) == most][-1].values())


def _base(scenario: str) -> str:
    """Points of a sweep may number their scenarios."""
    return re.sub(r"[-_]?\d+$", "", scenario)


def swept(
    results: Sequence[Result], parameter: str, value: Callable[[Result], float | None]
) -> tuple[list[ChartLine], list[tuple[object, ...]]]:
    """A line per ordering over a parameter that differs between runs, of repeats the median; or nothing."""
    lines: list[ChartLine] = []
    rows: list[tuple[object, ...]] = []
    for label, runs in _series(results).items():
        points: dict[float, list[float]] = {}
        for each in runs:
            across, up = each.parameter(parameter), value(each)
            if across is not None and up is not None:
                points.setdefault(across, []).append(up)
                rows.append((label, each.name, across, up))
        if len(points) > 1:
            medians = sorted((across, median(found)) for across, found in points.items())
            lines.append(ChartLine(label, medians, style(runs[0])))
    return (lines, rows) if lines else ([], [])


def _series(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Runs by ordering, and by overlap where that is swept as well."""
    is_swept = len({each.overlap for each in results}) > 1
    found: dict[str, list[Result]] = {}
    for each in results:
        more = f" {each.overlap:.0f} %" if is_swept else ""
        found.setdefault(each.line + more, []).append(each)
    return found


def section(drawn: Drawn, source: str) -> Iterator[str]:
    """Return the section of figures; `source` names the author of the words below a figure's own."""
    yield '<section id="figures"><h2>Figures</h2><div class="figures">'
    number = 0
    for _, figure in drawn:
        if figure is not None:
            number += 1
            said = f'<p class="paper"><b>{source}:</b> {escape(figure.paper)}</p>' if figure.paper else ""
            yield (
                f'<figure id="{figure.name}"><h3><span>{number}</span> '
                f"{escape(figure.title)}</h3>{figure.svg}"
                f"<figcaption><p>{escape(figure.text)}</p>{said}"
                f'<a href="{figure.name}.csv" download>data</a></figcaption></figure>'
            )
    absent = [name for name, figure in drawn if figure is None]
    yield "</div>"
    if absent:
        names = escape(", ".join(absent).lower())
        yield f'<p class="absent">Without data in these runs, and left out: {names}.</p>'
    yield "</section>"


def keep(folder: Path, drawn: Drawn) -> None:
    """Write the data of every figure beside the page."""
    for _, figure in drawn:
        if figure is not None:
            (folder / f"{figure.name}.csv").write_text(_csv(figure), encoding="utf-8")


def _csv(figure: Figure) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(figure.head)
    writer.writerows(figure.rows)
    return text.getvalue()
