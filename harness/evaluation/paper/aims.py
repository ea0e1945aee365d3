"""Our own aims, and whether they were reached."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.evaluation.paper.claims import EVERYWHERE, FIGURE_7, PAIRWISE, pairs, ratios, times
from harness.evaluation.paper.repeats import RepeatedRun, RepeatedStudies
from harness.tables import NONE, Table, whole

FAULTY: Final = ("crash-core", "flaky-links", "slow-subscriber")
"""Studies with injected faults that may cost nothing but time, and what slow subscribers drop."""

LOSING: Final = frozenset({"slow-subscriber", "crash-lossy"})
"""Studies whose subscribers may miss events: they get gaps in their place."""

MEDIAN_AT_MOST: Final = 1.5
LONGEST_AT_MOST: Final = 3.0
"""Pairwise to per-publisher order."""

LARGEST: Final = (96.0, 240.0, 800.0)
"""Brokers, publishers and subscriptions of the paper's largest overlay."""

ANALYSED: Final = 10_000_000
ANALYSED_S: Final = 180.0
"""So many deliveries are analysed in less than so long."""


def aims(studies: RepeatedStudies, scaling: Sequence[Mapping[str, float]]) -> str:
    """Return our aims, and whether they were reached."""
    rows = [*_latencies(studies), *_promises(studies), _largest(studies), _analysis(scaling)]
    return Table(("aim", "here", "reached"), rows).markdown()


Aim = tuple[str, str, str]


def _latencies(studies: RepeatedStudies) -> Iterator[Aim]:
    rows = studies.get(FIGURE_7, ())
    for name, part, limit in (("median", "p50", MEDIAN_AT_MOST), ("longest", "max", LONGEST_AT_MOST)):
        found = ratios(rows, PAIRWISE, EVERYWHERE, part)
        yield (
            f"{name} latency of pairwise at most {limit:g} times that of per-publisher order",
            times(found),
            _reached(max(found) <= limit if found else None),
        )


def _promises(studies: RepeatedStudies) -> Iterator[Aim]:
    broken = [each for name in FAULTY for each in _pairwise(studies.get(name, ()))]
    is_kept = all(not each.total("pairs_out_of_order") for each in broken)
    is_whole = len(broken) == len(FAULTY)
    yield (
        "no pair out of order with faults, pairwise",
        pairs(broken, PAIRWISE),
        _reached(is_kept if is_whole else None),
    )
    owed = [
        each
        for name, rows in studies.items()
        if name not in LOSING
        for each in _pairwise(rows)
        if each.total("missing") is not None
    ]
    missing = sum(each.total("missing") or 0 for each in owed)
    runs = sum(len(each.results) for each in owed)
    yield (
        "nothing missing, pairwise",
        f"{whole(missing)} missing in {runs} runs" if owed else NONE,
        _reached(not missing if owed else None),
    )


def _pairwise(rows: Sequence[RepeatedRun]) -> list[RepeatedRun]:
    return [each for each in rows if each.line == PAIRWISE]


def _largest(studies: RepeatedStudies) -> Aim:
    aim = "96 brokers, 240 publishers and 800 subscriptions on one machine"
    for each in _pairwise(studies.get(FIGURE_7, ())):
        sizes = tuple(each.parameter(name) for name in ("brokers", "publishers", "subscriptions"))
        if sizes == LARGEST:
            delivered, missing = whole(each.total("deliveries")), whole(each.total("missing"))
            return aim, f"{delivered} delivered, {missing} missing", _reached(each.total("missing") == 0)
    return aim, NONE, _reached(None)


def _analysis(scaling: Sequence[Mapping[str, float]]) -> Aim:
    taken = [row["seconds"] for row in scaling if row["deliveries"] == ANALYSED]
    return (
        f"{ANALYSED:,} deliveries analysed in less than {ANALYSED_S:.0f} s",
        f"{min(taken):.0f} to {max(taken):.0f} s" if taken else NONE,
        _reached(max(taken) < ANALYSED_S if taken else None),
    )


def _reached(is_so: bool | None) -> str:  # noqa: FBT001 - the outcome itself
    return "not measured" if is_so is None else "yes" if is_so else "**no**"
