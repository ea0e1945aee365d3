"""All measurements of a comparison: systems in turn, whole rounds of them, and a verdict on every run.

Laws:

1. Within a round every system has its turn with a shape before the next shape comes, so that a slow minute of
   the machine hits all of them. Each round begins with another system.
2. A run's datasets and its `run.json` stand in `SHAPE/SYSTEM/ROUND`, as `concord harness analyze` reads them.
3. A run that fails is named and left out; the others go on.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from broker.exception_groups import leaves
from harness.peers.adapter import Adapter
from harness.peers.measurement import Figures, measure
from harness.peers.results import PeerResult, PeerVerdict
from harness.peers.workload import WorkloadShape, WorkloadTiming
from harness.processes import ProcessError
from harness.runs import directory

Say = Callable[[str], None]


@attrs.frozen
class Measured:
    """One run, before it is judged."""

    shape: WorkloadShape
    adapter: Adapter
    figures: Figures
    folder: Path
    load: float
    """Of the machine before it, averaged over a minute."""


async def measure_all(
    adapters: Sequence[Adapter], shapes: Sequence[WorkloadShape], timing: WorkloadTiming, out: Path, say: Say
) -> tuple[list[Measured], list[str]]:
    """Measure every system with every shape that it can have, as often as the timing says.

    Return what was measured, and which runs failed and why.
    """
    found, failed = [], []
    for number in range(timing.repeat):
        for shape, adapter in _turns(adapters, shapes, number):
            name = f"round {number + 1} of {timing.repeat}: {shape.name}, {adapter.name}"
            say(name)
            folder = out / _plain(shape.name) / adapter.name / str(number + 1)
            load = os.getloadavg()[0]
            try:
                figures = await measure(adapter, shape, timing, folder)
            except (ExceptionGroup, ProcessError) as error:
                failed.append(f"{name}: {_reason(error)}")
                say(failed[-1])
                continue
            directory.write(folder, _about(shape, adapter, figures, load))
            found.append(Measured(shape, adapter, figures, folder, load))
    return found, failed


def _reason(error: Exception) -> str:
    """Return why a run failed; a defect of ours is raised again."""
    causes = list(leaves(error))
    if not all(isinstance(cause, ProcessError) for cause in causes):
        raise error
    return str(causes[0])


def _turns(
    adapters: Sequence[Adapter], shapes: Sequence[WorkloadShape], number: int
) -> Iterator[tuple[WorkloadShape, Adapter]]:
    """Each shape with each system (law 1)."""
    first = number % len(adapters)
    for shape in shapes:
        for adapter in (*adapters[first:], *adapters[:first]):
            if shape.servers <= adapter.most_servers:
                yield shape, adapter


def _plain(name: str) -> str:
    return name.replace(",", "").replace(" ", "-")


def _about(shape: WorkloadShape, adapter: Adapter, figures: Figures, load: float) -> Mapping[str, object]:
    """Return the content of `run.json`."""
    return {
        "scenario": shape.name,
        "ordering": adapter.name,
        "load_before": load,
        "brokers": shape.servers,
        "publishers": shape.publishers,
        "subscriptions": shape.subscribers,
        "figures": attrs.asdict(figures),
    }


def gathered(measured: Sequence[Measured]) -> list[PeerResult]:
    """Return the results by shape and system, before anything is judged."""
    found: dict[tuple[str, str], PeerResult] = {}
    for each in measured:
        key = each.shape.name, each.adapter.name
        before = found.get(key, PeerResult(*key, ()))
        found[key] = attrs.evolve(before, runs=(*before.runs, each.figures))
    return list(found.values())


def judge(measured: Sequence[Measured], rounds: int, master: str, say: Say) -> list[PeerResult]:
    """Judge the first rounds in one Spark session; return the results by shape and system."""
    # Spark is loaded for judging, and not for measuring.
    from harness.analysis.analyzing import judged  # noqa: PLC0415 - see above
    from harness.analysis.session import session  # noqa: PLC0415 - see above

    say("judging: starting Spark")
    found = {(each.shape, each.peer): each for each in gathered(measured)}
    with session(master) as spark:
        for each in measured:
            if int(each.folder.name) > rounds:
                continue
            say(f"judging {each.folder}")
            key = each.shape.name, each.adapter.name
            verdicts = (*found[key].verdicts, _verdict(judged(spark, each.folder)))
            found[key] = attrs.evolve(found[key], verdicts=verdicts)
    return list(found.values())


def _verdict(analysis: Mapping[str, object]) -> PeerVerdict:
    counts = [analysis.get(name) for name in ("pairs", "pairs_out_of_order", "missing")]
    pairs, disagreeing, missing = (each if isinstance(each, int) else 0 for each in counts)
    return PeerVerdict(pairs, disagreeing, missing, str(analysis.get("reason", "")))
