"""Scenario files: found by name or path, read, checked, and spread out into their points.

A scenario with a table `sweep` is several runs, its *points*: every combination of the values listed there.
A key of `sweep` is a key of the scenario, dots and all; several keys joined by commas change together, and
each of their values is a list.

    [sweep]
    "filters.overlap_percent" = [25, 50, 100]
    "publishers.count, subscribers.count" = [[10, 10], [50, 50]]
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Final

import attrs

from broker.routing import DEFAULT, RoutingError, parse
from harness.scenarios.interests import groups
from harness.scenarios.keys import ScenarioError, read
from harness.scenarios.overlays import edges, uplinks
from harness.scenarios.scenario import Scenario

POINTS_MAX: Final = 200
"""A sweep of more runs than this is a mistake in the file, or a night's work that is better cut in parts."""

_SHIPPED: Final = "harness.scenarios.shipped"
_SUFFIX: Final = ".toml"
_SWEEP: Final = "sweep"


@attrs.frozen
class Point:
    """One run of a study. `name` has the differences from the others; it is empty if there is only one."""

    name: str
    scenario: Scenario
    content: Mapping[str, object] = attrs.field(repr=False)


@attrs.frozen
class Study:
    """A scenario file: one point, or several."""

    name: str
    points: tuple[Point, ...]

    @property
    def first(self) -> Scenario:
        """The first point's scenario, for what is the same at all points."""
        return self.points[0].scenario


def shipped_scenarios() -> dict[str, Path]:
    """Return the scenarios that come with the product, by name.

    Their folder is a package, called as it is: nothing else of this package may have that name, or the two
    take turns at being it.
    """
    folder = Path(str(files(_SHIPPED)))
    return {path.stem: path for path in sorted(folder.glob(f"*{_SUFFIX}"))}


def find(name_or_path: str, overrides: Mapping[str, object] | None = None) -> Study:
    """Read a scenario by the name of one that is shipped, or by its path.

    Raises:
        ScenarioError: there is none, or it makes no sense.
    """
    path = shipped_scenarios().get(name_or_path, Path(name_or_path))
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(
            f"{name_or_path}: no file ({error.strerror}) and no scenario of that name; there are "
            f"{', '.join(shipped_scenarios())}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    return from_content(path.stem, content, str(path), overrides or {})


def from_content(
    name: str, content: Mapping[str, object], where: str, overrides: Mapping[str, object] | None = None
) -> Study:
    """Check what a file says. Overrides are keys, dots and all, that the command line changes."""
    rest = {key: value for key, value in content.items() if key != _SWEEP}
    points = []
    for point_name, changes in _combinations(content.get(_SWEEP, {}), where):
        changed = _changed(rest, changes | dict(overrides or {}), where)
        place = f"{where} at {point_name}" if point_name else where
        points.append(Point(point_name, _checked(changed, place), changed))
    return Study(name, tuple(points))


def _checked(content: Mapping[str, object], where: str) -> Scenario:
    """Read one scenario, and check the rules on several keys together."""
    scenario = read(Scenario, content, where)
    _check_routing(scenario, where)
    above = uplinks(scenario.overlay, scenario.seed, where)
    for key, wanted in (
        ("publishers.at", scenario.publishers.at),
        ("subscribers.at", scenario.subscribers.at),
        ("links.delays_ms", tuple(scenario.links.delays_ms)),
        ("links.bandwidths_mbit", tuple(scenario.links.bandwidths_mbit)),
    ):
        for name in wanted:
            if name not in above:
                raise ScenarioError(f"{where}: {key}: no broker is called {name!r}; there are {_some(above)}")
    _check_overlap(scenario, scenario.publishers.at or edges(above), "publishers", where)
    _check_overlap(scenario, scenario.subscribers.at or edges(above), "subscribers", where)
    return scenario


def _check_routing(scenario: Scenario, where: str) -> None:
    try:
        parse(scenario.routing or str(DEFAULT))
    except RoutingError as error:
        raise ScenarioError(f"{where}: routing: {error}") from error


def _check_overlap(scenario: Scenario, places: Sequence[str], who: str, where: str) -> None:
    """See that brokers can be dealt out to the groups in equal parts."""
    number = groups(scenario.filters, where)
    if scenario.filters.kind == "overlap" and len(places) % number:
        raise ScenarioError(
            f"{where}: filters.overlap_percent: {number} groups need a multiple of {number} brokers with "
            f"{who}, and there are {len(places)}"
        )


def _some(names: Mapping[str, object]) -> str:
    listed = list(names)
    return ", ".join(listed) if len(listed) <= 8 else f"{', '.join(listed[:7])}, ... {listed[-1]}"  # noqa: PLR2004 - one line


def _changed(content: Mapping[str, object], changes: Mapping[str, object], where: str) -> dict[str, object]:
    """Return the content with single keys changed."""
    changed = deepcopy(dict(content))
    for key, value in changes.items():
        *tables, last = key.split(".")
        place = changed
        for name in tables:
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ScenarioError(f"{where}: {key}: {name} is no table")
            place = inner
        place[last] = value
    return changed


def _combinations(sweep: object, where: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Every combination of what is listed, with a name for each."""
    if not isinstance(sweep, Mapping):
        raise ScenarioError(f"{where}: sweep: expected a table of lists, found {sweep!r}")
    axes = [_axis(str(keys), values, where) for keys, values in sweep.items()]
    combined = list(product(*axes))
    if len(combined) > POINTS_MAX:
        raise ScenarioError(f"{where}: sweep: {len(combined)} points; expected at most {POINTS_MAX}")
    for steps in combined:
        changes = {key: value for step in steps for key, value in step.items()}
        words = [
            f"{key.replace('_percent', '').replace('.count', '').split('.')[-1]}-{value}"
            for key, value in changes.items()
        ]
        yield "-".join(words), changes


def _axis(keys: str, values: object, where: str) -> list[dict[str, object]]:
    """The values that a key, or several together, take one after the other."""
    names = [each.strip() for each in keys.split(",")]
    if not isinstance(values, list) or not values:
        raise ScenarioError(f"{where}: sweep.{keys}: expected a list of values, found {values!r}")
    steps = []
    for value in values:
        each = value if len(names) > 1 else [value]
        if not isinstance(each, list) or len(each) != len(names):
            raise ScenarioError(
                f"{where}: sweep.{keys}: expected lists of {len(names)} values each, found {value!r}"
            )
        steps.append(dict(zip(names, each, strict=True)))
    return steps
