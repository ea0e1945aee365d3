"""The page: the paper's claims beside what was measured here. Numbers come from analyses alone."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from harness.analysis.scaling import markdown
from harness.report.results import ReportError, Result, find

__all__ = ["document"]

_OPENING: Final = """\
# Evaluation

The paper's evaluation (Zhang, Muthusamy and Jacobsen, *Total Order in Content-Based Publish/Subscribe
Systems*, 2011, section V), repeated with real brokers and clients on one machine, and judged over all pairs
of subscribers. Shapes can be compared; milliseconds cannot: the paper had up to 96 machines, and here all
brokers share {machine}.

Everything on this page is made by

    make evaluation

which goes on where it was interrupted, and leaves a report with figures beside each study's runs. *Same
broker* is what the paper measures: deliveries at the broker that the publication was published at, where
order costs most.
"""

_SCALING: Final = """\
All pairs of 200 subscribers, in a common order and up to 12 steps away from it
(`python -m harness.analysis.scaling`).
"""

_NONE: Final = "-"

Column = tuple[str, Callable[[Result], str]]


def document(folder: Path, scaling: Sequence[dict[str, float]]) -> str:
    """The whole page; a study that was not run is left out."""
    machine = f"{os.cpu_count()} cores with Python {platform.python_version()}"
    parts = [_OPENING.format(machine=machine)]
    studies = {name: _results(folder / name) for name in _names(folder)}
    parts += [*_claims(studies), *_sections(studies)]
    if scaling:
        parts += [
            "## The analysis itself\n",
            _SCALING,
            "\n".join(markdown(list(scaling))) + "\n",
        ]
    return "\n".join(parts)


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []


def _results(folder: Path) -> list[Result]:
    try:
        return [each for each in find(folder) if each.is_known]
    except ReportError:
        return []


Studies = Mapping[str, Sequence[Result]]


def _claims(studies: Studies) -> Iterator[str]:
    same = "latency_same_broker_ms"
    everything = [each for results in studies.values() for each in results]
    comparable = [*studies.get("figure7", ()), *studies.get("datacentre-16x5", ())]
    rows = [
        ("pairs out of order, pairwise", "0, by theorem 9", _pairs(everything, "pairwise")),
        ("ordering degree, per-publisher order", "0.9952", _range(comparable, "fifo", "ordering_degree", 4)),
        (
            "publications per conflict, per-publisher order",
            "14",
            _range(comparable, "fifo", "publications_per_conflict", 1),
        ),
        (
            "latency, pairwise to per-publisher order, same broker",
            "10 times",
            _ratio(comparable, same, "p50"),
        ),
        ("the same over all deliveries, median", "not told", _ratio(comparable, "latency_ms", "p50")),
        (
            "longest latency, pairwise to per-publisher order",
            "50 times",
            _ratio(comparable, "latency_ms", "max"),
        ),
        (
            "detection in microseconds, mean",
            "up to 10 s, and below 0.8 ms when fast",
            _range(everything, "pairwise", "detection_us", 1, "mean"),
        ),
    ]
    yield "## The paper's claims, and ours\n"
    yield _table(("what", "paper", "here"), rows)


def _pairs(results: Sequence[Result], ordering: str) -> str:
    runs = [each for each in results if each.ordering == ordering]
    wrong = sum(each.number("pairs_out_of_order") or 0 for each in runs)
    pairs = sum(each.number("pairs") or 0 for each in runs)
    return f"{wrong:,.0f} of {pairs:,.0f}, in {len(runs)} runs" if runs else _NONE


def _range(results: Sequence[Result], ordering: str, name: str, digits: int, part: str = "") -> str:
    path = (name, part) if part else (name,)
    found = [each.number(*path) for each in results if each.ordering == ordering]
    known = sorted(value for value in found if value is not None)
    if not known:
        return _NONE
    low, high = f"{known[0]:.{digits}f}", f"{known[-1]:.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _ratio(results: Sequence[Result], *path: str) -> str:
    """Pairwise to `fifo`, the median over all points that both were run at."""
    plain = {each.point: each.number(*path) for each in results if each.ordering == "fifo"}
    ratios = []
    for each in results:
        own, other = each.number(*path), plain.get(each.point)
        if each.ordering == "pairwise" and own is not None and other:
            ratios.append(own / other)
    return f"{median(ratios):.1f} times" if ratios else _NONE


_SIZES: Final[tuple[Column, ...]] = (
    ("brokers", lambda each: _whole(each.parameter("brokers"))),
    ("publishers", lambda each: _whole(each.parameter("publishers"))),
    ("subscriptions", lambda each: _whole(each.parameter("subscriptions"))),
)
_OVERLAP: Final[Column] = ("overlap, %", lambda each: f"{each.overlap:.0f}")
_ORDERING: Final[Column] = ("ordering", lambda each: f"`{each.ordering}`")
_SAME: Final[Column] = ("same broker p50, ms", lambda each: _ms(each.number("latency_same_broker_ms", "p50")))
_LATENCIES: Final[tuple[Column, ...]] = (
    ("p50, ms", lambda each: _ms(each.number("latency_ms", "p50"))),
    ("p99, ms", lambda each: _ms(each.number("latency_ms", "p99"))),
    ("longest, ms", lambda each: _ms(each.number("latency_ms", "max"))),
)
_WRONG: Final[Column] = (
    "pairs out of order",
    lambda each: f"{_whole(each.number('pairs_out_of_order'))} of {_whole(each.number('pairs'))}",
)
_DEGREE: Final[Column] = ("degree", lambda each: _plain(each.number("ordering_degree"), 4))
_MISSING: Final[Column] = ("missing", lambda each: _whole(each.number("missing")))
_PAUSE: Final[Column] = ("longest pause after a fault, s", lambda each: _plain(_longest_pause(each), 2))
_DETECTION: Final[Column] = (
    "detection, microseconds",
    lambda each: _plain(each.number("detection_us", "mean"), 1),
)
_SENT: Final[Column] = (
    "messages per publication",
    lambda each: _plain(_messages(each), 1),
)
_DELIVERED: Final[Column] = ("published", lambda each: _whole(each.number("publications")))


def _sections(studies: Studies) -> Iterator[str]:
    general = (*_SIZES, _ORDERING, _WRONG, _DEGREE, _SAME, *_LATENCIES)
    detection = (*_SIZES, _OVERLAP, _ORDERING, _DETECTION, _SENT, _SAME)
    faults = (_ORDERING, _WRONG, _MISSING, _PAUSE, *_LATENCIES)
    for title, names, columns in (
        ("Figures 5 and 6: detection, traffic and latency", ("figure5", "figure6"), detection),
        ("Figure 7: latency over subscriptions", ("figure7",), general),
        ("Figure 8: latency over brokers", ("figure8",), general),
        ("The sequencer's knee", _beginning(studies, "knee-"), (*_SIZES, _ORDERING, _DELIVERED, *_LATENCIES)),
        ("96 brokers on one machine", ("datacentre-16x5",), (*general, _MISSING)),
        ("A small overlay", ("quick",), general),
        ("Symbols and price ranges", ("market",), general),
    ):
        results = [each for name in names for each in studies.get(name, ())]
        if results:
            yield f"## {title}\n"
            rows = [[tell(each) for _, tell in columns] for each in results]
            yield _table([head for head, _ in columns], rows)
    scenarios = ("crash-core", "flaky-links", "slow-subscriber")
    runs = [(name, each) for name in scenarios for each in studies.get(name, ())]
    if runs:
        yield "## With faults\n"
        top = ("scenario", *(head for head, _ in faults))
        told = [(f"`{name}`", *(tell(each) for _, tell in faults)) for name, each in runs]
        yield _table(top, told)


def _beginning(studies: Studies, start: str) -> list[str]:
    """Names of studies that differ in a number, by the number."""
    found = (name for name in studies if name.startswith(start))
    return sorted(found, key=lambda name: int(name.removeprefix(start)))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _longest_pause(result: Result) -> float | None:
    pauses = [each["pause_ms"] for each in result.objects("faults")]
    longest = [each.get("max") for each in pauses if isinstance(each, Mapping)]
    known = [float(each) for each in longest if isinstance(each, int | float)]
    return max(known) / 1e3 if known else None


def _messages(result: Result) -> float | None:
    kinds = [result.number("traffic", kind) for kind in ("publications", "acknowledgements", "control")]
    published = result.number("publications")
    known = [count for count in kinds if count is not None]
    return sum(known) / published if known and published else None


def _whole(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}"


def _plain(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"


def _ms(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.1f}"
