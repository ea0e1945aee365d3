"""Performs every point of a scenario, under every ordering that is asked for.

Where a run is written: `OUT` for a single one; `OUT/ORDERING` when orderings are compared; and with several
points `OUT/points/POINT` or `OUT/points/POINT/ORDERING`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.runs.performance import Ending, Performance
from harness.runs.progress import Progress
from harness.scenarios import Study

__all__ = ["perform_all", "planned"]

POINTS: str = "points"


def planned(
    study: Study, out: Path, progress: Progress, orderings: Sequence[str] = ()
) -> Iterator[Performance]:
    """Every run there will be. Without orderings, each point has its scenario's own."""
    for point in study.points:
        base = out / POINTS / point.name if point.name else out
        for ordering in orderings or (point.scenario.ordering,):
            folder = base / ordering if orderings else base
            yield Performance(point, study.name, ordering, folder, progress)


async def perform_all(runs: Sequence[Performance], progress: Progress) -> list[Ending]:
    """Perform them, one after the other."""
    endings = []
    for run in runs:
        words = [run.study, run.point.name, run.ordering]
        progress.run(" ".join(filter(None, words)))
        endings.append(await run.perform())
    return endings
