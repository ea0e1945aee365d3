"""The claims of the paper beside the measurements, and whether our own aims were reached.

Everything here is worked out from analyses: no sentence knows how the numbers came out.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from harness.report.results import Result
from harness.tables import NONE, Table, plain, whole

Studies = Mapping[str, Sequence[Result]]

LARGEST: Final = "datacentre-16x5"
"""The study of the paper's largest overlay."""

FAULTY: Final = ("crash-core", "flaky-links", "slow-subscriber")
"""Studies with injected faults."""

LOSING: Final = "slow-subscriber"
"""The study whose slow subscribers drop events beyond their queue, and get gaps."""

MEDIAN_AT_MOST: Final = 1.5
LONGEST_AT_MOST: Final = 3.0
"""Aims: pairwise to per-publisher order."""

ANALYSED: Final = 10_000_000
ANALYSED_S: Final = 180.0
"""Aim: so many deliveries are analysed in less than so long."""

KEPT_UP: Final = 0.95
"""An ordering that delivers less than this part of what per-publisher order does is full."""

_SAME: Final = "latency_same_broker_ms"
_ALL: Final = "latency_ms"


def claims(studies: Studies) -> str:
    """The paper's claims beside ours."""
    everything = _everything(studies)
    compared = _compared(studies)
    rows = [
        ("pairs out of order, pairwise", "0, by theorem 9", _pairs(everything, "pairwise")),
        ("pairs out of order, per-publisher order", "not stated", _pairs(everything, "fifo")),
        ("ordering degree, pairwise", "1", _range(compared, "pairwise", "ordering_degree", 4)),
        ("ordering degree, per-publisher order", "0.9952", _range(compared, "fifo", "ordering_degree", 4)),
        (
            "publications per conflict, per-publisher order",
            "14",
            _range(compared, "fifo", "publications_per_conflict", 1),
        ),
        (
            "median latency at the publisher's broker, pairwise to per-publisher order",
            "10 times",
            _times(_ratios(compared, _SAME, "p50")),
        ),
        ("the same over all deliveries", "not stated", _times(_ratios(compared, _ALL, "p50"))),
        (
            "longest latency, pairwise to per-publisher order",
            "50 times",
            _times(_ratios(compared, _ALL, "max")),
        ),
        ("publishers with which the sequencer is full", "130", _knee(studies, "sequencer")),
        ("publishers with which pairwise is full", "not with 240", _knee(studies, "pairwise")),
        (
            "detection of the paper's progressive form, mean",
            "up to 10 s",
            _detection(studies.get("figure5", ()), "published"),
        ),
        (
            "detection of the paper's fast form, mean",
            "below 800 microseconds",
            _detection(studies.get("figure6", ()), "published"),
        ),
        ("detection of pairwise, mean", NONE, _detection(everything, "pairwise")),
    ]
    return Table(("what", "paper", "here"), rows).markdown()


def aims(studies: Studies, scaling: Sequence[Mapping[str, float]]) -> str:
    """Return our aims, and whether they were reached."""
    rows = [*_order_aims(studies), *_other_aims(studies, scaling)]
    return Table(("aim", "here", "reached"), rows).markdown()


def _order_aims(studies: Studies) -> Iterator[tuple[str, str, str]]:
    compared = _compared(studies)
    for name, part, limit in (("median", "p50", MEDIAN_AT_MOST), ("longest", "max", LONGEST_AT_MOST)):
        ratios = _ratios(compared, _ALL, part)
        yield (
            f"{name} latency of pairwise at most {limit:g} times that of per-publisher order",
            _times(ratios),
            _reached(max(ratios) <= limit if ratios else None),
        )
    broken = [each for name in FAULTY for each in studies.get(name, ()) if each.ordering == "pairwise"]
    is_kept = all(each.part("verdicts", "pairwise", "outcome") is True for each in broken)
    yield (
        "no pair out of order with faults, pairwise",
        _pairs(broken, "pairwise"),
        _reached(is_kept if len(broken) == len(FAULTY) else None),
    )
    owed = [
        each
        for name, runs in studies.items()
        if name != LOSING
        for each in runs
        if each.ordering == "pairwise" and each.number("missing") is not None
    ]
    missing = sum(each.number("missing") or 0 for each in owed)
    yield (
        "nothing missing, pairwise",
        f"{whole(missing)} missing in {len(owed)} runs" if owed else NONE,
        _reached(not missing if owed else None),
    )


def _other_aims(studies: Studies, scaling: Sequence[Mapping[str, float]]) -> Iterator[tuple[str, str, str]]:
    large = [each for each in studies.get(LARGEST, ()) if each.ordering == "pairwise"]
    sizes = (
        [whole(large[0].parameter(name)) for name in ("brokers", "publishers", "subscriptions")]
        if large
        else []
    )
    delivered = (
        f"; {whole(large[0].number('deliveries'))} delivered, {whole(large[0].number('missing'))} missing"
        if large
        else ""
    )
    yield (
        "96 brokers, 240 publishers and 800 subscriptions on one machine",
        ", ".join(sizes) + delivered if large else NONE,
        _reached(sizes == ["96", "240", "800"] and not large[0].number("missing") if large else None),
    )
    taken = [row["seconds"] for row in scaling if row["deliveries"] == ANALYSED]
    yield (
        f"{ANALYSED:,} deliveries analysed in less than {ANALYSED_S:.0f} s",
        f"{min(taken):.0f} to {max(taken):.0f} s" if taken else NONE,
        _reached(max(taken) < ANALYSED_S if taken else None),
    )


def growth(results: Sequence[Result]) -> str:
    """Return how much latency grows over subscriptions, in a sentence; nothing if there is one size only."""
    found: dict[str, list[tuple[float, float]]] = {}
    for each in results:
        across, up = each.parameter("subscriptions"), each.number(_SAME, "p50")
        if across and up:
            found.setdefault(each.ordering, []).append((across, up))
    ends = {name: (min(points), max(points)) for name, points in found.items() if len(points) > 1}
    if not ends:
        return ""
    (fewest, _), (most, _) = next(iter(ends.values()))
    grown = ", ".join(
        f"{high / low:.1f} times under `{name}`" for name, ((_, low), (_, high)) in ends.items()
    )
    return (
        f"From {whole(fewest)} to {whole(most)} subscriptions, {most / fewest:.1f} times as many, "
        f"the median at the publisher's broker grows {grown}."
    )


def _everything(studies: Studies) -> list[Result]:
    return [each for results in studies.values() for each in results]


def _compared(studies: Studies) -> list[Result]:
    """The runs on the paper's largest overlay."""
    return [*studies.get("figure7", ()), *studies.get(LARGEST, ())]


def _pairs(results: Sequence[Result], ordering: str) -> str:
    runs = [each for each in results if each.ordering == ordering]
    wrong = sum(each.number("pairs_out_of_order") or 0 for each in runs)
    pairs = sum(each.number("pairs") or 0 for each in runs)
    return f"{wrong:,.0f} of {pairs:,.0f}, in {len(runs)} runs" if runs else NONE


def _range(results: Sequence[Result], ordering: str, name: str, digits: int) -> str:
    return _span([each.number(name) for each in results if each.ordering == ordering], digits)


def _detection(results: Sequence[Result], ordering: str) -> str:
    found = [each.number("detection_us", "mean") for each in results if each.ordering == ordering]
    span = _span(found, 1)
    return span if span == NONE else f"{span} microseconds"


def _span(found: Sequence[float | None], digits: int) -> str:
    known = sorted(value for value in found if value is not None)
    if not known:
        return NONE
    low, high = plain(known[0], digits), plain(known[-1], digits)
    return low if low == high else f"{low} to {high}"


def _ratios(results: Sequence[Result], *path: str) -> list[float]:
    """Pairwise to `fifo`, at each point that both were run at."""
    base = {each.point: each.number(*path) for each in results if each.ordering == "fifo"}
    ratios = []
    for each in results:
        own, other = each.number(*path), base.get(each.point)
        if each.ordering == "pairwise" and own is not None and other:
            ratios.append(own / other)
    return ratios


def _times(ratios: Sequence[float]) -> str:
    if not ratios:
        return NONE
    if len(ratios) == 1:
        return f"{ratios[0]:.2f} times"
    return f"{median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})"


def _knee(studies: Studies, ordering: str) -> str:
    """Between which numbers of publishers an ordering begins to deliver less than `fifo`."""
    base = {each.point: each.throughput for each in studies.get("knee", ()) if each.ordering == "fifo"}
    last = 0.0
    for each in studies.get("knee", ()):
        rate, other = each.throughput, base.get(each.point)
        if each.ordering == ordering and rate is not None and other:
            many = each.parameter("publishers") or 0.0
            if rate < KEPT_UP * other:
                return f"between {whole(last)} and {whole(many)}"
            last = many
    return f"not with {whole(last)}" if last else NONE


def _reached(is_so: bool | None) -> str:  # noqa: FBT001 - the outcome itself
    return "not measured" if is_so is None else "yes" if is_so else "**no**"
