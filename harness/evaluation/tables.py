"""Tables of the page: what a column says about a run, and how numbers are written."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.report.results import Result

__all__ = ["NONE", "Column", "detection", "faults", "general", "knee", "of_runs", "plain", "table", "whole"]

NONE: Final = "-"

Column = tuple[str, Callable[[Result], str]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table as Markdown has it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def of_runs(columns: Sequence[Column], results: Sequence[Result]) -> str:
    """Write a row for each run."""
    return table([head for head, _ in columns], [[tell(each) for _, tell in columns] for each in results])


def whole(value: float | None) -> str:
    """Write a number that has no fraction."""
    return NONE if value is None else f"{value:,.0f}"


def plain(value: float | None, digits: int) -> str:
    """Write a number with so many digits behind the point."""
    return NONE if value is None else f"{value:,.{digits}f}"


def _ordering(result: Result) -> str:
    options = result.about.get("ordering_options")
    form = options.get("form") if isinstance(options, Mapping) else None
    return f"`{result.ordering}`, {form}" if form else f"`{result.ordering}`"


def _latency(name: str, part: str) -> Callable[[Result], str]:
    return lambda each: plain(each.number(name, part), 1)


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


_SIZES: Final[tuple[Column, ...]] = (
    ("brokers", lambda each: whole(each.parameter("brokers"))),
    ("publishers", lambda each: whole(each.parameter("publishers"))),
    ("subscriptions", lambda each: whole(each.parameter("subscriptions"))),
)
_ORDERING: Final[Column] = ("ordering", _ordering)
_SAME: Final[Column] = ("same broker p50, ms", _latency("latency_same_broker_ms", "p50"))
_LATENCIES: Final[tuple[Column, ...]] = (
    ("p50, ms", _latency("latency_ms", "p50")),
    ("p99, ms", _latency("latency_ms", "p99")),
    ("longest, ms", _latency("latency_ms", "max")),
)
_WRONG: Final[Column] = (
    "pairs out of order",
    lambda each: f"{whole(each.number('pairs_out_of_order'))} of {whole(each.number('pairs'))}",
)
_COUNTS: Final[tuple[Column, ...]] = (
    ("delivered", lambda each: whole(each.number("deliveries"))),
    ("missing", lambda each: whole(each.number("missing"))),
)

general: Final[tuple[Column, ...]] = (
    *_SIZES,
    _ORDERING,
    _WRONG,
    ("degree", lambda each: plain(each.number("ordering_degree"), 4)),
    *_COUNTS,
    _SAME,
    *_LATENCIES,
)

detection: Final[tuple[Column, ...]] = (
    *_SIZES,
    ("overlap, %", lambda each: f"{each.overlap:.0f}"),
    _ORDERING,
    ("detection, microseconds", lambda each: plain(each.number("detection_us", "mean"), 1)),
    ("messages per publication", lambda each: plain(_messages(each), 1)),
    _SAME,
)

knee: Final[tuple[Column, ...]] = (
    ("publishers", lambda each: whole(each.parameter("publishers"))),
    _ORDERING,
    ("deliveries a second", lambda each: whole(each.throughput)),
    *_LATENCIES,
    *_COUNTS,
)

faults: Final[tuple[Column, ...]] = (
    ("scenario", lambda each: f"`{each.scenario}`"),
    _ORDERING,
    _WRONG,
    *_COUNTS,
    ("faults", lambda each: whole(len(each.objects("faults")))),
    ("longest pause after one, s", lambda each: plain(_longest_pause(each), 2)),
    *_LATENCIES,
)
