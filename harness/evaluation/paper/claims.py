"""The claims of the paper beside the measurements, the paper's own measure first.

Everything here is worked out from analyses: no sentence knows how the numbers came out.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final

from harness.evaluation.paper.repeats import RepeatedRun, RepeatedStudies
from harness.report.results import Result
from harness.tables import NONE, Table, plain, whole

PAIRWISE: Final = "pairwise"
FIFO: Final = "fifo"
SEQUENCER: Final = "sequencer"
ASKING: Final = "sequencer, asking"
PROGRESSIVE: Final = "published, progressive"
FAST: Final = "published, fast"
BASIC: Final = "published, basic"

FIGURE_5: Final = "figure5"
FIGURE_7: Final = "figure7"
STREAM: Final = "figure7-stream"
KNEE: Final = "knee"

KEPT_UP: Final = 0.95
"""An ordering that delivers less than this part of what per-publisher order does is full."""

SAME: Final = "latency_same_broker_ms"
EVERYWHERE: Final = "latency_ms"


def claims(studies: RepeatedStudies) -> str:
    """The paper's claims beside ours."""
    rows = [*_latency(studies), *_sequencing(studies), *_order(studies), *_detecting(studies)]
    return Table(("what", "paper", "here"), rows).markdown()


Claim = tuple[str, str, str]


def _latency(studies: RepeatedStudies) -> Iterator[Claim]:
    rows = studies.get(FIGURE_7, ())
    where = "median latency at the publisher's broker"
    for line, name, paper in ((PAIRWISE, "pairwise", NONE), (FAST, "the paper's fast form", "10 times")):
        yield f"{where}, {name} to per-publisher order", paper, times(ratios(rows, line, SAME, "p50"))
    yield (
        "the same over all deliveries, pairwise",
        "not stated",
        times(ratios(rows, PAIRWISE, EVERYWHERE, "p50")),
    )
    for line, name, paper in ((PAIRWISE, "pairwise", NONE), (FAST, "the paper's fast form", "50 times")):
        found = times(ratios(rows, line, EVERYWHERE, "max"))
        yield f"longest latency, {name} to per-publisher order", paper, found
    lines = "linear for every ordering"
    yield "latency over subscriptions, from the fewest to the most", lines, growth(rows)
    fifth = [each for each in studies.get(FIGURE_5, ()) if each.first.overlap == WHOLE_OVERLAP]
    yield "the same at 24 brokers, the paper's fast form", "stable", _grown(fifth, FAST)
    yield "the same, pairwise", NONE, _grown(fifth, PAIRWISE)


WHOLE_OVERLAP: Final = 100.0
_HALF: Final = 50.0
_QUARTER: Final = 25.0


def _sequencing(studies: RepeatedStudies) -> Iterator[Claim]:
    full = "publishers with which the sequencer is full"
    yield f"{full}, the paper's overlay of 96 brokers", "130", knee(studies.get(FIGURE_7, ()), SEQUENCER)
    thin = studies.get(KNEE, ())
    yield f"{full}, links of 1 Mbit/s chosen here", "not measured", knee(thin, SEQUENCER)
    yield f"{full}, the same if clients ask for a number first", "not measured", knee(thin, ASKING)
    yield (
        "deliveries missing there, since the sequencer refused requests",
        "all beyond 130 publishers",
        _refused(thin),
    )
    yield "publishers with which pairwise is full", "not with 240", knee(studies.get(FIGURE_7, ()), PAIRWISE)
    yield "the same, links of 1 Mbit/s chosen here", "not measured", knee(thin, PAIRWISE)


def _refused(rows: Sequence[RepeatedRun]) -> str:
    """Return the deliveries that are missing because the sequencer refused their publications."""
    some = [each for each in rows if each.line == ASKING]
    found = [
        f"{whole(each.total('missing'))} with {whole(each.parameter('publishers'))}"
        for each in some
        if each.total("missing")
    ]
    return "; ".join(found) if found else "none" if some else NONE


def _order(studies: RepeatedStudies) -> Iterator[Claim]:
    everything = [each for rows in studies.values() for each in rows]
    for line, name, paper in (
        (PAIRWISE, "pairwise", NONE),
        (FAST, "the paper's fast form", "0, by theorem 9"),
        (PROGRESSIVE, "the paper's progressive form", "0, by theorem 9"),
        (FIFO, "per-publisher order", "not stated"),
    ):
        yield f"pairs out of order, {name}", paper, pairs(everything, line)
    large = [*studies.get(FIGURE_7, ()), *studies.get(STREAM, ())]
    yield "ordering degree, pairwise", "1", _range(large, PAIRWISE, "ordering_degree", 4)
    yield "ordering degree, per-publisher order", "0.9952", _range(large, FIFO, "ordering_degree", 4)
    conflicts = _range(large, FIFO, "publications_per_conflict", 1)
    yield "publications per conflict, per-publisher order", "14", conflicts
    yield "longest displacement, per-publisher order", "2", _furthest(large)


def _detecting(studies: RepeatedStudies) -> Iterator[Claim]:
    rows = studies.get(FIGURE_5, ())
    for line, name, paper in (
        (PROGRESSIVE, "the paper's progressive form", "up to 10 s"),
        (FAST, "the paper's fast form", "below 0.8 ms"),
        (PAIRWISE, "pairwise", NONE),
    ):
        yield f"detection, mean, {name}", paper, _detection(rows, line, "detection_us", "mean")
    place = ("detection_by_place_us", "core")
    yield "the same at core brokers, progressive", "up to 7 s", _detection(rows, PROGRESSIVE, *place)
    yield (
        "detection of the fast form at 25 % conflicts to that at 50 %",
        "above 1",
        times(_across_overlap(rows, FAST)),
    )
    yield (
        "outgoing messages of a broker at 25, 50 and 100 % conflicts, progressive",
        "2000, 6000, 9000 in a period",
        _outgoing(rows),
    )


def growth(rows: Sequence[RepeatedRun]) -> str:
    """Return how the median at the publisher's broker grows with subscriptions, line by line."""
    lines = dict.fromkeys(each.line for each in rows)
    found = [f"`{line}` {text}" for line in lines if (text := _grown(rows, line)) != NONE]
    return "; ".join(found) or NONE


def _grown(rows: Sequence[RepeatedRun], line: str) -> str:
    points = sorted(
        (across, up)
        for each in rows
        if each.line == line
        and (across := each.parameter("subscriptions")) is not None
        and (up := each.number(SAME, "p50"))
    )
    if len(points) < 2:  # noqa: PLR2004 - growth needs two points
        return NONE
    (fewest, low), (most, high) = points[0], points[-1]
    return f"{high / low:.1f} times, for {most / fewest:.1f} times as many"


def pairs(rows: Sequence[RepeatedRun], line: str) -> str:
    """Return how many pairs were out of order, of how many, over all runs of a line."""
    some = [each for each in rows if each.line == line]
    wrong = sum(each.total("pairs_out_of_order") or 0 for each in some)
    total = sum(each.total("pairs") or 0 for each in some)
    runs = sum(len(each.results) for each in some)
    return f"{wrong:,.0f} of {total:,.0f}, in {runs} runs" if some else NONE


def ratios(rows: Sequence[RepeatedRun], line: str, *path: str) -> list[float]:
    """A line to `fifo`, at each point that both were run at."""
    base = {each.point: each.number(*path) for each in rows if each.line == FIFO}
    own = {each.point: each.number(*path) for each in rows if each.line == line}
    return [value / other for point, value in own.items() if value is not None and (other := base.get(point))]


def times(found: Sequence[float]) -> str:
    """Return the median of ratios, and their range."""
    if not found:
        return NONE
    if len(found) == 1:
        return f"{found[0]:.2f} times"
    return f"{median(found):.2f} times ({min(found):.2f} to {max(found):.2f})"


def knee(rows: Sequence[RepeatedRun], line: str) -> str:
    """Between which numbers of publishers a line begins to deliver less than `fifo`."""
    base = {each.point: each.throughput for each in rows if each.line == FIFO}
    last = 0.0
    some = sorted((each for each in rows if each.line == line), key=_publishers)
    for each in some:
        rate, other = each.throughput, base.get(each.point)
        if rate is not None and other:
            many = _publishers(each)
            if rate < KEPT_UP * other:
                return f"between {whole(last)} and {whole(many)}"
            last = many
    return f"not with {whole(last)}" if last else NONE


def _publishers(each: RepeatedRun) -> float:
    return each.parameter("publishers") or 0.0


def _range(rows: Sequence[RepeatedRun], line: str, name: str, digits: int) -> str:
    return _span([each.number(name) for each in rows if each.line == line], digits)


def _span(found: Sequence[float | None], digits: int) -> str:
    known = sorted(value for value in found if value is not None)
    if not known:
        return NONE
    low, high = plain(known[0], digits), plain(known[-1], digits)
    return low if low == high else f"{low} to {high}"


def _furthest(rows: Sequence[RepeatedRun]) -> str:
    found = [_longest(result) for each in rows if each.line == FIFO for result in each.results]
    return _span(found, 0)


def _longest(result: Result) -> float | None:
    moved = result.part("displacement")
    return max(map(float, moved), default=None) if isinstance(moved, dict) else None


def _detection(rows: Sequence[RepeatedRun], line: str, *path: str) -> str:
    span = _span([each.number(*path) for each in rows if each.line == line], 1)
    return span if span == NONE else f"{span} microseconds"


def _across_overlap(rows: Sequence[RepeatedRun], line: str) -> list[float]:
    """Detection at a quarter of conflicts to that at half, at each number of subscriptions."""
    found: dict[tuple[float | None, float], float] = {}
    for each in rows:
        mean = each.number("detection_us", "mean")
        if each.line == line and mean:
            found[each.parameter("subscriptions"), each.first.overlap] = mean
    return [
        low / high
        for (many, part), low in found.items()
        if part == _QUARTER and (high := found.get((many, _HALF)))
    ]


def _outgoing(rows: Sequence[RepeatedRun]) -> str:
    """Return the messages of a broker for each publication, by overlap.

    The number of subscriptions is the largest of those with which most overlaps have a verdict.
    """
    found: dict[float, list[tuple[float, float | None]]] = {}
    for each in rows:
        if each.line == PROGRESSIVE:
            many = each.parameter("subscriptions") or 0.0
            found.setdefault(many, []).append((each.first.overlap, each.middle(outgoing)))
    if not found:
        return NONE
    many, of_overlap = max(found.items(), key=lambda item: (len(item[1]), item[0]))
    values = ", ".join(plain(value, 2) for _, value in sorted(of_overlap))
    return f"{values} for each publication, {whole(many)} subscriptions"


def notifications(result: Result) -> float | None:
    """Return how often an event was sent for each publication: over links, and to subscribers."""
    return _each(result, [result.number("traffic", "publications"), result.number("deliveries")])


def acknowledging(result: Result) -> float | None:
    """Return the acknowledgements for each publication."""
    return _each(result, [result.number("traffic", "acknowledgements")])


def outgoing(result: Result) -> float | None:
    """Return what a broker sends on average for each publication: events and acknowledgements."""
    counts = [notifications(result), acknowledging(result)]
    brokers = result.parameter("brokers")
    known = [count for count in counts if count is not None]
    return sum(known) / brokers if known and brokers else None


def _each(result: Result, counts: Sequence[float | None]) -> float | None:
    published = result.number("publications")
    known = [count for count in counts if count is not None]
    return sum(known) / published if known and published else None


Figure = Callable[[Result], float | None]
"""A figure of one run."""
