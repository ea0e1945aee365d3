from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.peers import starting
from harness.peers.adapters import PEERS
from harness.peers.campaign import measure_all
from harness.peers.measurement import measure
from harness.peers.workload import WorkloadShape, WorkloadTiming
from harness.traces import DELIVERIES, MATCHES

BRIEF = WorkloadTiming(repeat=1, warm_up_s=0.1, measure_s=0.2)

INSTALLED = [
    pytest.param(name, servers, id=f"{name}-{servers}")
    for name, adapter in PEERS.items()
    for servers in (1, 3)
    if servers <= adapter.most_servers and not adapter.missing()
]


@pytest.mark.parametrize(("name", "servers"), INSTALLED)
async def test_everything_published_is_delivered_to_everyone_and_counted(
    name: str, servers: int, tmp_path: Path
) -> None:
    figures = await measure(PEERS[name], WorkloadShape("small", servers, 2, 3), BRIEF, tmp_path)
    assert figures.deliveries_per_s > 0
    assert 0 < figures.p50_ms <= figures.p99_ms
    delivered = pq.read_table(DELIVERIES.folder(tmp_path), columns=["subscriber", "publisher", "sequence"])
    owed = pq.read_table(MATCHES.folder(tmp_path))
    assert delivered.num_rows == owed.num_rows > 0
    assert set(map(tuple, zip(*delivered.to_pydict().values(), strict=True))) == set(
        map(tuple, zip(*owed.to_pydict().values(), strict=True))
    )


@pytest.mark.parametrize("name", ["nats", "redis", "jetstream", "spread"])
def test_a_peer_without_its_server_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "find_program", lambda _: None)
    monkeypatch.setattr("harness.peers.spread.find_program", lambda _: None)
    missing = PEERS[name].missing()
    assert missing.startswith("there is no ")
    assert name.replace("jetstream", "nats") in missing


def test_what_runs_here_anyway_is_never_missing() -> None:
    assert [PEERS[name].missing() for name in ("concord", "relay")] == ["", ""]


def test_free_ports_are_each_another() -> None:
    assert len(set(starting.free_ports(20))) == 20


async def test_a_run_that_fails_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "find_program", lambda _: None)
    said: list[str] = []
    shapes = [WorkloadShape("small", 1, 1, 1)]
    measured, failed = await measure_all(
        [PEERS["redis"], PEERS["relay"]], shapes, BRIEF, tmp_path, said.append
    )
    assert [each.adapter.name for each in measured] == ["relay"]
    assert failed == ["round 1 of 1: small, redis: redis cannot be started: there is no redis-server"]
    assert said == ["round 1 of 1: small, redis", *failed, "round 1 of 1: small, relay"]
