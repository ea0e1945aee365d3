"""The runs that a report is about: every analysed run below a directory."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from broker.errors import ConcordError

ORDER: Final = ("pairwise", "fifo", "sequencer", "published")
"""The product's default first, then what it is compared with; others follow by name."""

SIZES: Final = ("subscriptions", "publishers", "brokers")
"""Numbers of a run that sweeps change."""

DEPTH_MAX: Final = 4
"""Folders between a report's directory and a run's."""


class ReportError(ConcordError):
    """There is nothing to report on."""


@attrs.frozen(eq=False)
class Result:
    """One run: its `run.json` and its `analysis.json`."""

    name: str
    about: Mapping[str, object]
    analysis: Mapping[str, object]

    @property
    def ordering(self) -> str:
        """The plugin that ran."""
        return str(self.about.get("ordering", "unknown"))

    @property
    def line(self) -> str:
        """The plugin, and its form if one was chosen: what figures have a line for."""
        options = self.about.get("ordering_options")
        form = options.get("form") if isinstance(options, Mapping) else None
        return f"{self.ordering}, {form}" if form else self.ordering

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self.about.get("scenario", "unnamed"))

    @property
    def is_known(self) -> bool:
        """Return whether the analysis has an answer."""
        return "reason" not in self.analysis

    def parameter(self, name: str) -> float | None:
        """One of a run's numbers, such as how many subscriptions there were."""
        found = self.about.get(name)
        return float(found) if isinstance(found, int | float) else None

    @property
    def overlap(self) -> float:
        """Return the percentage of subscriptions that a publication matches; 100 by default."""
        settings = self.about.get("settings")
        filters = settings.get("filters") if isinstance(settings, Mapping) else None
        found = filters.get("overlap_percent") if isinstance(filters, Mapping) else None
        return float(found) if isinstance(found, int | float) else 100.0

    @property
    def point(self) -> tuple[object, ...]:
        """Return what comparable runs have in common."""
        return (self.scenario, *map(self.parameter, SIZES), self.overlap)

    def part(self, *path: str) -> object:
        """Return a value inside the analysis; None if it is absent."""
        found: object = self.analysis
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def number(self, *path: str) -> float | None:
        """A number inside the analysis."""
        found = self.part(*path)
        return float(found) if isinstance(found, int | float) else None

    def rows(self, *path: str) -> Sequence[Sequence[object]]:
        """A list inside the analysis; empty if it is not there."""
        found = self.part(*path)
        return found if isinstance(found, list) else []

    def objects(self, *path: str) -> list[Mapping[str, object]]:
        """A list of objects inside the analysis."""
        return [each for each in self.rows(*path) if isinstance(each, Mapping)]

    @property
    def throughput(self) -> float | None:
        """Deliveries a second in the middle half: neither its beginning nor what drains at its end."""
        rates = [float(str(each["deliveries_s"])) for each in self.objects("series", "timeline")]
        middle = rates[len(rates) // 4 : len(rates) - len(rates) // 4]
        return sum(middle) / len(middle) if middle else None


def find(directory: Path) -> list[Result]:
    """Every analysed run in a directory and below, in the order in which readers want them.

    Raises:
        ReportError: there is none, or one cannot be read.
    """
    found = [_read(path.parent, directory) for path in _analyses(directory)]
    if not found:
        raise ReportError(f"{directory} holds no analysed run: concord harness analyze makes one of a run")
    return sorted(found, key=_place)


def _analyses(directory: Path) -> list[Path]:
    patterns = ("/".join(["*"] * depth + ["analysis.json"]) for depth in range(DEPTH_MAX + 1))
    return [path for pattern in patterns for path in sorted(directory.glob(pattern))]


def _read(folder: Path, directory: Path) -> Result:
    try:
        analysis = json.loads((folder / "analysis.json").read_text(encoding="utf-8"))
        about_file = folder / "run.json"
        about = json.loads(about_file.read_text(encoding="utf-8")) if about_file.is_file() else {}
    except ValueError as error:
        raise ReportError(f"{folder}: {error}; analyse this run again") from error
    relative = folder.relative_to(directory)
    return Result(relative.as_posix() if relative.parts else folder.resolve().name, about, analysis)


def _place(result: Result) -> tuple[object, ...]:
    known = result.ordering in ORDER
    sizes = (result.parameter(name) or 0.0 for name in SIZES)
    return (
        result.scenario,
        *sizes,
        result.overlap,
        ORDER.index(result.ordering) if known else len(ORDER),
        result.ordering,
        result.name,
    )
