"""Lets every study happen that has not happened yet, some at a time, each in a process of its own.

Laws.

1. What is not whole has a hidden name (`harness.evaluation.whole`).
2. What fails is said and left out; the rest goes on.
3. Results do not depend on how many processes share the work.
"""

import json
import platform
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from attrs import asdict

from broker.server.collector import undisturbed
from harness.evaluation.routing.measuring import Measuring
from harness.evaluation.routing.studies import Study
from harness.evaluation.routing.tree import thesis_tree
from harness.evaluation.whole import begin, finish
from harness.runs.progress import Progress

__all__ = ["measure", "perform"]


def perform(studies: Sequence[Study], folder: Path, jobs: int, seed: int, progress: Progress) -> list[str]:
    """Measure what is missing; return what failed, in a line each."""
    missing = [study for study in studies if not (folder / study.name).is_dir()]
    progress.run("measuring")
    progress.stage(f"{len(studies) - len(missing)} of {len(studies)} studies done before", len(missing))
    failed: list[str] = []
    with ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        under_way = {pool.submit(measure, study, folder / study.name, seed): study for study in missing}
        for done, future in enumerate(as_completed(under_way), 1):
            name = under_way[future].name
            complaint = _complaint(future)
            progress.event(f"{done}/{len(missing)}  {name}  {complaint or f'{future.result():.0f} s'}")
            progress.advance(done)
            failed += [f"{name}: {complaint}"] if complaint else []
    return failed


def _complaint(future: "Future[float]") -> str:
    error = future.exception()
    return f"{type(error).__name__}: {error}" if error is not None else ""


def measure(study: Study, place: Path, seed: int) -> float:
    """Let one study happen, and say how much processor time it took."""
    unfinished = begin(place)
    begun_s = time.process_time()
    # There are millions of entries and no cycles: each look for garbage would walk through all of them.
    with undisturbed():
        Measuring(study, thesis_tree(), unfinished, seed).run()
    taken_s = time.process_time() - begun_s
    described = {
        **asdict(study),
        "strategy": study.subscribing.partition(":")[0],
        "routing": study.routing,
        "has_advertisements": study.has_advertisements,
        "seed": seed,
        "processor_s": round(taken_s, 1),
        "python": platform.python_version(),
    }
    (unfinished / "run.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    finish(place)
    return taken_s
