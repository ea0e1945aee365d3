"""Spread in figure 8: the workload of the figure through the peers' harness, beside Concord.

The toolkit is no dependency. Where it is not installed it is named as absent, and Concord is not measured
this way either: figure 8 has it already.
"""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs
import click

from harness import outcomes
from harness.evaluation import campaign
from harness.peers.adapters import PEERS
from harness.peers.campaign import measure_all
from harness.peers.measurement import Figures, PeerWork
from harness.peers.results import PeerResult
from harness.peers.workload import WorkloadShape, WorkloadTiming
from harness.runs.progress import Progress
from harness.tables import Column, table

SERVERS: Final = (1, 2, 4)
"""Daemons; more of them with 50 clients each are more than one machine carries."""

CLIENTS: Final = 50
"""Publishers, and subscribers, of each daemon, as in the paper."""

PER_SECOND: Final = 0.25
"""Publications of a publisher, as in the paper."""

SYSTEMS: Final = ("spread", "concord")

FOLDER: Final = "spread"
ABSENT: Final = "absent.json"

_TEXT: Final = """\
Spread and Concord through `harness/peers`, with a publication of each publisher every 4 seconds while latency
is measured. The paper takes 5 ms with 1 daemon, 200 ms with 2, and 700 s with 20.
"""


def shapes() -> list[WorkloadShape]:
    """Return the shapes that are measured."""
    return [WorkloadShape(f"{each} servers", each, CLIENTS * each, CLIENTS * each) for each in SERVERS]


def perform(folder: Path, repeats: int, progress: Progress, until_s: float) -> list[str]:
    """Measure what is missing, or note why there is nothing to measure; return the failures."""
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    missing = PEERS["spread"].missing()
    (place / ABSENT).write_text(json.dumps(missing), encoding="utf-8")
    if missing:
        progress.event(f"spread is left out: {missing}")
        return []
    by_name = {shape.name: shape for shape in shapes()}

    def make(names: Sequence[str]) -> Iterator[campaign.Done]:
        for name in names:
            if time.monotonic() < until_s:
                yield _done(by_name[name], place / name, repeats)

    return campaign.perform({name: place / name for name in by_name}, make, progress)


def _done(shape: WorkloadShape, place: Path, repeats: int) -> campaign.Done:
    """Measure all systems with a shape, in turn."""
    begun_s = time.monotonic()
    timing = WorkloadTiming(repeat=repeats, measure_s=8.0, rate_per_s=shape.publishers * PER_SECOND)
    adapters = [PEERS[name] for name in SYSTEMS]
    failed: list[str] = []
    try:
        with campaign.whole(place) as unfinished:
            _, failed = outcomes.run(measure_all, adapters, [shape], timing, unfinished, _silent)
    except click.ClickException as error:
        failed.append(error.message)
    return campaign.Done(shape.name, time.monotonic() - begun_s, "; ".join(failed))


def _silent(_: str) -> None:
    """Print nothing: the campaign has a line of its own."""


def results(folder: Path) -> list[PeerResult]:
    """Return what was measured, by shape and system."""
    found: dict[tuple[str, str], PeerResult] = {}
    for about in sorted((folder / FOLDER).glob("[!.]*/*/*/*/run.json")):
        run = json.loads(about.read_text(encoding="utf-8"))
        key = str(run["scenario"]), str(run["ordering"])
        figures = Figures(**{**run["figures"], "work": PeerWork(**run["figures"]["work"])})
        before = found.get(key, PeerResult(*key, ()))
        found[key] = attrs.evolve(before, runs=(*before.runs, figures))
    return list(found.values())


_COLUMNS: Final[Sequence[Column[PeerResult]]] = (
    ("daemons or brokers", lambda each: each.shape.removesuffix(" servers")),
    ("clients of each", lambda _: f"{CLIENTS} and {CLIENTS}"),
    ("system", lambda each: f"`{each.peer}`"),
    ("p50, ms", lambda each: f"{each.middle(lambda run: run.p50_ms):,.2f}"),
    ("p99, ms", lambda each: f"{each.middle(lambda run: run.p99_ms):,.2f}"),
    ("deliveries a second, at most", lambda each: f"{each.deliveries_per_s:,.0f}"),
)


def section(folder: Path) -> str:
    """Return the part of the page about Spread; nothing if nobody looked for it."""
    absent = folder / FOLDER / ABSENT
    if not absent.is_file():
        return ""
    reason = json.loads(absent.read_text(encoding="utf-8"))
    found = results(folder)
    if not found:
        return f"## Spread\n\nNot measured: {reason or 'no run of it was whole'}.\n"
    return f"## Spread\n\n{_TEXT}\n{table(_COLUMNS, found, words=3).markdown()}"
