"""Whole runs: real brokers, real clients, real faults, and what is left of them."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from harness.processes import ProcessError
from harness.runs.performance import perform_all, planned
from harness.runs.progress import Progress
from harness.scenarios import from_content
from harness.traces import BROKERS, DELIVERIES, FAULTS, MATCHES, PUBLICATIONS, SUBSCRIPTIONS, Dataset
from tests.sources import ROOT

SMALL: Final = {
    "duration_s": 1,
    "overlay": {"cores": 2, "edges_per_core": 2, "link_timeout_s": 5},
    "publishers": {"count": 4, "rate": "random", "per_second": 30},
    "subscribers": {"count": 4},
}

EVERY_KIND: Final = (
    "crash edge-1 at 200ms",
    "restart core-2 at 300ms after 100ms",
    "pause edge-2 at 200ms for 200ms",
    "pause core-1 at 1s",
    "resume core-1 at 1100ms",
    "cut link edge-4 at 600ms for 200ms",
    "slow link edge-2 core-1 at 300ms to 20ms limit 1mbit for 500ms",
    "slow subscriber sub-3 at 200ms to 20/s for 500ms",
    "disconnect client pub-2 at 500ms",
    "kill edge-3 every 600ms until 700ms after 100ms",
)


def rows(dataset: Dataset, run: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pq.read_table(dataset.folder(run)).to_pylist()
    return found


async def perform(folder: Path, **changes: object) -> None:
    study = from_content("small", {**SMALL, **changes}, "small.toml")
    await perform_all(list(planned(study, folder, Progress())), Progress())


async def test_a_run_writes_what_was_published_delivered_and_counted(tmp_path: Path) -> None:
    await perform(tmp_path)
    published = {(row["publisher"], row["sequence"]) for row in rows(PUBLICATIONS, tmp_path)}
    delivered = rows(DELIVERIES, tmp_path)
    matches = rows(MATCHES, tmp_path)
    assert published
    assert {(row["publisher"], row["sequence"]) for row in delivered} == published
    key = ("subscriber", "publisher", "sequence")
    assert Counter(tuple(row[k] for k in key) for row in delivered) == Counter(
        tuple(row[k] for k in key) for row in matches
    )
    streams: dict[object, list[dict[str, object]]] = {}
    for row in delivered:
        streams.setdefault(row["subscriber"], []).append(row)
    assert set(streams) == {row["subscriber"] for row in rows(SUBSCRIPTIONS, tmp_path)}
    orders = []
    for stream in streams.values():
        assert sorted(int(str(row["position"])) for row in stream) == list(range(len(stream)))
        orders.append(
            [
                (r["publisher"], r["sequence"])
                for r in sorted(stream, key=lambda r: str(r["position"]).zfill(9))
            ]
        )
    assert all(order == orders[0] for order in orders)
    counted = {(row["broker"], row["counter"]): row["value"] for row in rows(BROKERS, tmp_path)}
    assert {broker for broker, _ in counted} == {"core-1", "core-2", "edge-1", "edge-2", "edge-3", "edge-4"}
    assert counted["core-1", "publications_in"] == len(published)


async def test_every_kind_of_fault_happens_and_is_recorded(tmp_path: Path) -> None:
    await perform(tmp_path, duration_s=1.5, drain_s=3, faults=list(EVERY_KIND))
    done = Counter((row["kind"], row["target"]) for row in rows(FAULTS, tmp_path))
    assert done == {
        ("crash", "edge-1"): 1,
        ("restart", "core-2"): 2,
        ("pause", "edge-2"): 1,
        ("pause", "core-1"): 1,
        ("resume", "edge-2"): 1,
        ("resume", "core-1"): 1,
        ("cut link", "edge-4>core-2"): 2,
        ("slow link", "edge-2>core-1"): 2,
        ("slow subscriber", "sub-3"): 1,
        ("disconnect client", "pub-2"): 2,
        ("kill", "edge-3"): 2,
    }
    published = Counter((row["publisher"], row["sequence"]) for row in rows(PUBLICATIONS, tmp_path))
    assert set(published.values()) == {1}
    assert {(row["publisher"], row["sequence"]) for row in rows(DELIVERIES, tmp_path)} <= set(published)


def children_of(pid: int) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(folder.name)
                yield from children_of(int(folder.name))


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended: one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def interrupted(folder: Path, number: int) -> tuple[int, set[int]]:
    """Start a run, send it a signal while it publishes, and return its status and all it had started."""
    command = [sys.executable, "-m", "broker", "harness", "run", "quick", "--out", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(  # noqa: S603 - the product's own command
        command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as run:
        assert run.stderr is not None
        while "publishing" not in (line := run.stderr.readline()):
            assert line, "the run ended early"
        started = set(children_of(run.pid))
        run.send_signal(number)
        run.stderr.read()
        return run.wait(60), started


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)]
)
def test_a_run_that_is_interrupted_leaves_no_process_behind(tmp_path: Path, number: int, status: int) -> None:
    ended, started = interrupted(tmp_path / "run", number)
    assert ended == status
    assert len(started) > 10
    while any(map(is_running, started)):
        os.sched_yield()


async def test_a_broker_that_ends_by_itself_ends_the_run_with_what_it_said(tmp_path: Path) -> None:
    content = {**SMALL, "ordering": "sequencer", "ordering_options": {"requests": "many"}}
    study = from_content("small", content, "small.toml")
    with pytest.RaisesGroup(
        pytest.RaisesExc(ProcessError, match=r"broker .* ended with status 2: .*requests"),
        flatten_subgroups=True,
    ):
        await perform_all(list(planned(study, tmp_path, Progress())), Progress())
