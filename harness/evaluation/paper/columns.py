"""The columns of the tables: a row is the repeats of one line at one point."""

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Final

from harness.evaluation.paper.claims import (
    FIFO,
    KEPT_UP,
    acknowledging,
    notifications,
    outgoing,
)
from harness.evaluation.paper.repeats import DISTURBED, RepeatedRun
from harness.report.results import Result
from harness.tables import Column, plain, whole

_WIDTH: Final = 110


def _line(each: RepeatedRun) -> str:
    plugin, _, form = each.line.partition(", ")
    text = f"`{plugin}`, {form}" if form else f"`{plugin}`"
    return text + (DISTURBED if each.is_disturbed else "")


def _shown(value: Callable[[Result], float | None], digits: int = 1) -> Callable[[RepeatedRun], str]:
    return lambda each: each.shown(value, digits)


def _number(*path: str) -> Callable[[Result], float | None]:
    return lambda each: each.number(*path)


def _longest_pause(result: Result) -> float | None:
    pauses = [each["pause_ms"] for each in result.objects("faults")]
    longest = [each.get("max") for each in pauses if isinstance(each, Mapping)]
    known = [float(each) for each in longest if isinstance(each, int | float)]
    return max(known) / 1e3 if known else None


def _rate(result: Result) -> float | None:
    """Return the publications of all publishers in a second."""
    settings = result.about.get("settings")
    publishers = settings.get("publishers") if isinstance(settings, Mapping) else None
    rate = publishers.get("per_second") if isinstance(publishers, Mapping) else None
    many = result.parameter("publishers")
    return float(rate) * many if isinstance(rate, int | float) and many is not None else None


_SIZES: Final[tuple[Column[RepeatedRun], ...]] = (
    ("brokers", lambda each: whole(each.parameter("brokers"))),
    ("publishers", lambda each: whole(each.parameter("publishers"))),
    ("subscriptions", lambda each: whole(each.parameter("subscriptions"))),
)
_ORDERING: Final[Column[RepeatedRun]] = ("ordering", _line)
_SAME: Final[Column[RepeatedRun]] = (
    "publisher's broker p50, ms",
    _shown(_number("latency_same_broker_ms", "p50")),
)
_LATENCIES: Final[tuple[Column[RepeatedRun], ...]] = (
    ("p50, ms", _shown(_number("latency_ms", "p50"))),
    ("p99, ms", _shown(_number("latency_ms", "p99"))),
    ("longest, ms", _shown(_number("latency_ms", "max"))),
)
_WRONG: Final[Column[RepeatedRun]] = (
    "pairs out of order",
    lambda each: f"{whole(each.total('pairs_out_of_order'))} of {whole(each.total('pairs'))}",
)
_COUNTS: Final[tuple[Column[RepeatedRun], ...]] = (
    ("delivered", lambda each: whole(each.total("deliveries"))),
    ("missing", lambda each: whole(each.total("missing"))),
)

GENERAL: Final[tuple[Column[RepeatedRun], ...]] = (
    *_SIZES,
    _ORDERING,
    _SAME,
    *_LATENCIES,
    _WRONG,
    ("degree", lambda each: plain(each.number("ordering_degree"), 4)),
    *_COUNTS,
)

DETECTION: Final[tuple[Column[RepeatedRun], ...]] = (
    ("subscriptions and advertisements", lambda each: whole(_together(each))),
    ("conflicts, %", lambda each: f"{each.first.overlap:.0f}"),
    _ORDERING,
    ("detection at the edge, us", _shown(_number("detection_by_place_us", "edge"))),
    ("in the core, us", _shown(_number("detection_by_place_us", "core"))),
    ("events", _shown(notifications)),
    ("acknowledgements", _shown(acknowledging)),
    ("of a broker", _shown(outgoing, 2)),
    _SAME,
    _WRONG,
    *_COUNTS,
)

LIVELOCK: Final[tuple[Column[RepeatedRun], ...]] = (
    ("publications a second", _shown(_rate, 0)),
    _ORDERING,
    *_LATENCIES,
    _WRONG,
    *_COUNTS,
)

KNEE: Final[tuple[Column[RepeatedRun], ...]] = (
    ("publishers", lambda each: whole(each.parameter("publishers"))),
    _ORDERING,
    ("deliveries a second", _shown(lambda each: each.throughput, 0)),
    *_LATENCIES,
    *_COUNTS,
)

FAULTS: Final[tuple[Column[RepeatedRun], ...]] = (
    ("scenario", lambda each: f"`{each.study}`"),
    _ORDERING,
    _WRONG,
    *_COUNTS,
    ("faults", lambda each: whole(sum(len(result.objects("faults")) for result in each.results))),
    ("longest pause after one, s", _shown(_longest_pause, 2)),
    *_LATENCIES,
)

LOSSY: Final[tuple[Column[RepeatedRun], ...]] = (
    _ORDERING,
    _WRONG,
    *_COUNTS,
    ("gaps", lambda each: whole(sum(result.parameter("gaps") or 0 for result in each.results))),
    ("faults", lambda each: whole(sum(len(result.objects("faults")) for result in each.results))),
    *_LATENCIES,
)


def _together(each: RepeatedRun) -> float:
    return (each.parameter("subscriptions") or 0) + (each.parameter("publishers") or 0)


def stops(rows: Sequence[RepeatedRun]) -> str:
    """Return up to how many brokers and clients each line keeps up, in a sentence a line.

    It does where nothing is missing, and it delivers `KEPT_UP` of what `fifo` does or all that is published.
    """
    base = {each.point: each.throughput for each in rows if each.line == FIFO}
    found = []
    for line in dict.fromkeys(each.line for each in rows):
        some = sorted((each for each in rows if each.line == line), key=_load)
        carried = [each for each in some if _keeps_up(each, base.get(each.point))]
        beyond = [each for each in some if each not in carried]
        if carried:
            text = f"`{line}` carries up to {_sizes(carried[-1])}"
            found.append(text + (f", and not {_sizes(beyond[0])}" if beyond else ", the most that was tried"))
    return fill("; ".join(found) + ".", _WIDTH) + "\n" if found else ""


def _keeps_up(each: RepeatedRun, other: float | None) -> bool:
    rate = each.throughput
    is_fast = rate is None or other is None or rate >= KEPT_UP * other
    return is_fast and not each.total("missing")


def _load(each: RepeatedRun) -> float:
    """Deliveries for one publication of everybody."""
    return (each.parameter("subscriptions") or 0) * (each.parameter("publishers") or 0)


def _sizes(each: RepeatedRun) -> str:
    names = ("brokers", "publishers", "subscriptions")
    return " with ".join(
        (
            f"{whole(each.parameter(names[0]))} brokers",
            " and ".join(f"{whole(each.parameter(name))} {name}" for name in names[1:]),
        )
    )
