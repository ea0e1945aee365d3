"""A broker with a journal, in this process: its last snapshot, and what a full disk means."""

import errno
import os
import shutil
from pathlib import Path

import attrs
import pytest
import trio

from broker import PublisherEndedError, RefusedError, connect
from broker.exception_groups import leaves
from broker.journal import JournalError
from broker.node.exchange import Exchange
from tests.broker.server.overlay import running, settings


async def test_a_broker_that_ends_in_order_replays_nothing_at_its_next_start(tmp_path: Path) -> None:
    wanted = attrs.evolve(settings("B1"), journal=tmp_path / "B1")
    async with running(wanted) as broker:
        incarnation = broker.server.exchange.station.incarnation
        async with connect(broker.address, name="a") as client, client.advertise("x > 0") as publisher:
            await publisher.publish({"x": 1}, confirm=True)
    async with running(wanted) as broker:
        keeping = broker.server._keeping
        assert keeping is not None
        assert keeping.journal.recovered.upto > 0
        assert keeping.journal.recovered.count == 0
        assert broker.server.exchange.station.incarnation == incarnation


async def test_a_full_disk_refuses_publications_and_requests_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        running(attrs.evolve(settings("B1"), journal=tmp_path / "B1")) as broker,
        connect(broker.address, name="a") as client,
        client.subscribe("x > 0") as deliveries,
    ):
        async with client.advertise("x > 0") as publisher:
            await publisher.publish({"x": 1}, confirm=True)
            with monkeypatch.context() as full:
                full.setattr(Exchange, "is_full", True)
                await publisher.publish({"x": 2})
                with pytest.raises(
                    PublisherEndedError, match="disk of the broker's journal is full"
                ) as ended:
                    await publisher.flush()
                assert ended.value.code == "no-room"
                with pytest.raises(RefusedError, match="try again when there is room"):
                    async with client.advertise("x > 0"):
                        raise AssertionError("it was not refused")
        broker.server.exchange.grant_withheld()
        async with client.advertise("x > 0") as publisher:
            await publisher.publish({"x": 3}, confirm=True)
        with trio.fail_after(20):
            assert [(await anext(deliveries)).attributes["x"] for _ in range(2)] == [1, 3]


async def test_a_broker_that_has_nothing_to_write_ends_when_its_directory_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.server.keeping.CHECK_S", 0.01)

    async def run() -> None:
        async with running(attrs.evolve(settings("B1"), journal=tmp_path / "B1")):
            shutil.rmtree(tmp_path / "B1")
            await trio.sleep_forever()

    with trio.fail_after(20), pytest.raises(BaseExceptionGroup) as failed:
        await run()
    assert "directory was deleted" in str(next(leaves(failed.value)))


async def test_a_disk_that_fails_stops_the_broker_before_any_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    confirmed: list[int] = []

    async def publish(address: str) -> None:
        async with connect(address, name="a") as client, client.advertise("x > 0") as publisher:
            confirmed.append(await publisher.publish({"x": 1}, confirm=True))
            monkeypatch.setattr(os, "fdatasync", fail)
            confirmed.append(await publisher.publish({"x": 2}, confirm=True))

    try:
        async with running(attrs.evolve(settings("B1"), journal=tmp_path / "B1")) as broker:
            await publish(broker.address)
    except* JournalError as failed:  # Whatever writes meanwhile fails in the same way.
        reason = str(next(leaves(failed)))
    assert "segment: cannot be written: Input/output error; the disk does not" in reason
    assert confirmed == [1]
