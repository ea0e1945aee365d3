"""All runs of an evaluation, put together: the repeats of a line at a point are one row of a table.

Law: a time of a row is the median over its repeats, and its interval is from the lowest to the highest. What
is counted, such as pairs out of order, is the sum.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import attrs

from harness.evaluation.paper.quiet import Quietness, read_others
from harness.report.results import ReportError, Result, find
from harness.tables import NONE, plain

DISTURBED: Final = " (disturbed)"
"""Stands behind the name of a line, some of whose repeats others disturbed at every try."""


@attrs.frozen(eq=False)
class RepeatedRun:
    """The repeats of one line at one point. `place` is its folder, from the study's on."""

    study: str
    place: str
    results: Sequence[Result]
    quietness: Sequence[Quietness]

    @property
    def first(self) -> Result:
        """Return the first repeat, for what is the same in all of them."""
        return self.results[0]

    @property
    def ordering(self) -> str:
        """The plugin that ran."""
        return self.first.ordering

    @property
    def line(self) -> str:
        """The plugin and its form."""
        return self.first.line

    @property
    def point(self) -> str:
        """Return the name of the point, which comparable rows have in common."""
        return self.place.rpartition("/")[0]

    @property
    def is_disturbed(self) -> bool:
        """Return whether a repeat was kept although others disturbed it."""
        return any(each.is_disturbed for each in self.quietness)

    def parameter(self, name: str) -> float | None:
        """One of the numbers of the runs, such as how many subscriptions there were."""
        return self.first.parameter(name)

    def values(self, value: Callable[[Result], float | None]) -> list[float]:
        """Return a figure of every repeat that has it, the lowest first."""
        return sorted(found for each in self.results if (found := value(each)) is not None)

    def middle(self, value: Callable[[Result], float | None]) -> float | None:
        """Return the median of a figure over the repeats."""
        found = self.values(value)
        return median(found) if found else None

    def number(self, *path: str) -> float | None:
        """Return the median of a number of the analysis."""
        return self.middle(lambda each: each.number(*path))

    def total(self, *path: str) -> float | None:
        """Return the sum of a count of the analysis."""
        found = self.values(lambda each: each.number(*path))
        return sum(found) if found else None

    @property
    def throughput(self) -> float | None:
        """Return the median of the deliveries a second."""
        return self.middle(lambda each: each.throughput)

    def shown(self, value: Callable[[Result], float | None], digits: int) -> str:
        """Return the median, and in brackets the lowest and the highest where they differ."""
        found = self.values(value)
        if not found:
            return NONE
        low, middle, high = (plain(each, digits) for each in (found[0], median(found), found[-1]))
        return middle if low == high else f"{middle} ({low} to {high})"


RepeatedStudies = Mapping[str, Sequence[RepeatedRun]]


def studies_in(folder: Path) -> RepeatedStudies:
    """Return the rows of every study that has an answer, by the study's name."""
    names = sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    found = {name: list(_rows(folder, name)) for name in names if not name.startswith(".")}
    return {name: rows for name, rows in found.items() if rows}


def _rows(folder: Path, study: str) -> Iterator[RepeatedRun]:
    repeats: dict[str, list[Result]] = {}
    for each in results_of(folder / study):
        if each.is_known:
            repeats.setdefault(each.name.rpartition("/")[0], []).append(each)
    for place, results in repeats.items():
        quietness = [read_others(folder / study / each.name) for each in results]
        yield RepeatedRun(study, place, results, quietness)


def results_of(place: Path) -> list[Result]:
    """Return every analysed run below a folder, with a verdict or without."""
    try:
        return find(place)
    except ReportError:
        return []
