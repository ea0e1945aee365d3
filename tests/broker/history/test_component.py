"""Histories at real brokers: what subscribers get of them, and what a kill leaves."""

import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Final

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from broker import Client, GapError, RefusedError, Replay, connect, parse
from broker import history_events as h
from broker.history.component import RETRY_S, HistoryComponent
from broker.history.rows import Row
from broker.history.store import HistoryStore
from broker.node.access import Access
from broker.server.settings import Tls
from broker.server.users import load_access
from concord import sync
from tests.broker.history.test_store import files_of_at_most, numbers, rows
from tests.broker.server.overlay import WAIT_S, chain, running, settings
from tests.sources import ROOT

PAST = Replay(age_s=600, history=True)


@define(eq=False)
class Watched(HistoryComponent):
    """A history that says when it has stored so much."""

    _stored: trio.Condition = field(factory=trio.Condition, init=False)

    async def _append(self, rows: Sequence[Row]) -> None:
        await HistoryComponent._append(self, rows)
        async with self._stored:
            self._stored.notify_all()

    async def stored(self, count: int) -> None:
        async with self._stored:
            while self.store.last < count:
                await self._stored.wait()


@asynccontextmanager
async def history(
    folder: Path, address: str, *, access: Access | None = None, token: str | None = None
) -> AsyncIterator[Watched]:
    """A history at a broker, which records when the block is entered."""
    store = HistoryStore.open(folder)
    made = Watched(store, parse("exists(n)"), 1e6, 0.01, 1 << 24, access or Access(), print)
    ready = trio.Event()
    async with connect(address, name="history", token=token) as client, trio.open_nursery() as nursery:
        nursery.start_soon(made.run, client, "history", ready.set)
        await ready.wait()
        yield made
        nursery.cancel_scope.cancel()


async def publish(client: Client, numbers: range) -> None:
    async with client.advertise("exists(n)") as publisher:
        for number in numbers:
            await publisher.publish({"n": number, "even": number % 2 == 0}, bytes(2000))


async def read(client: Client, content: str, count: int, replay: Replay | str | int) -> list[object]:
    """The numbers of the first deliveries of a replay."""
    async with client.subscribe(content, replay=replay) as deliveries:
        return [(await anext(deliveries)).attributes["n"] for _ in range(count)]


async def test_history_comes_first_then_what_brokers_have_then_what_is_live(tmp_path: Path) -> None:
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address) as reader,
        connect(two.address) as writer,
    ):
        async with history(tmp_path, one.address) as recorder:
            await publish(writer, range(300))
            await recorder.stored(300)
        # Its durable subscription keeps these for the history, and caches have them for others.
        await publish(writer, range(300, 310))
        async with history(tmp_path, one.address) as recorder:
            await publish(writer, range(310, 320))
            async with reader.subscribe("n >= 0 and even == True", replay=PAST) as deliveries:
                numbers = [(await anext(deliveries)).attributes["n"] for _ in range(160)]
                assert numbers == list(range(0, 320, 2))
                number, is_live = 320, False
                while not is_live:
                    await publish(writer, range(number, number + 2))
                    delivery = await anext(deliveries)
                    assert delivery.attributes["n"] == number
                    number, is_live = number + 2, not delivery.replayed
            await recorder.stored(number)
    assert recorder.store.last == number


async def test_what_a_broker_that_is_lost_for_good_had_is_replayed_by_a_history(tmp_path: Path) -> None:
    async with running(settings("B1")) as one, history(tmp_path, one.address) as recorder:
        async with running(settings("B2", one.endpoint)) as two, connect(two.address) as writer:
            await publish(writer, range(20))
            await recorder.stored(20)
        async with connect(one.address) as reader:
            assert await read(reader, "n < 100", 20, PAST) == list(range(20))


async def test_without_a_history_caches_answer_and_who_demands_one_gets_a_gap() -> None:
    async with (
        chain("B1") as (one,),
        connect(one.address) as reader,
        connect(one.address) as writer,
    ):
        await publish(writer, range(3))
        assert await read(reader, "exists(n)", 3, "2h") == [0, 1, 2]
        async with reader.subscribe("exists(n)", replay=PAST) as deliveries:
            with pytest.raises(GapError, match="could be replayed"):
                await anext(deliveries)
            assert [(await anext(deliveries)).attributes["n"] for _ in range(3)] == [0, 1, 2]


async def test_a_durable_subscription_has_the_history_when_it_is_made_and_never_again(tmp_path: Path) -> None:
    async with (
        running(settings("B1")) as one,
        history(tmp_path, one.address) as recorder,
        connect(one.address) as client,
    ):
        await publish(client, range(5))
        await recorder.stored(5)
        for numbers in ([0, 1, 2, 3, 4, 5], [6]):
            async with client.subscribe(
                "n >= 0", durable="desk", ack="manual", max_open=1, replay=PAST
            ) as deliveries:
                for number in numbers[:-1]:
                    delivery = await anext(deliveries)
                    assert delivery.attributes["n"] == number
                    delivery.ack()
                await publish(client, range(numbers[-1], numbers[-1] + 1))
                delivery = await anext(deliveries)
                assert delivery.attributes["n"] == numbers[-1]
                delivery.ack()


async def test_programs_of_threads_get_histories_too(tmp_path: Path) -> None:
    def read_all(address: str) -> list[object]:
        with sync.connect(address) as client, client.subscribe("exists(n)", replay=PAST) as deliveries:
            return [deliveries.next(WAIT_S).attributes["n"] for _ in range(600)]

    async with (
        running(settings("B1")) as one,
        history(tmp_path, one.address) as recorder,
        connect(one.address) as client,
    ):
        await publish(client, range(600))
        await recorder.stored(600)
        assert await trio.to_thread.run_sync(read_all, one.address) == list(range(600))


async def test_while_the_disk_is_full_it_waits_and_says_so(tmp_path: Path, mock_clock: MockClock) -> None:
    notices: list[str] = []
    is_full = trio.Event()

    def note(text: str) -> None:
        notices.append(text)
        is_full.set()

    store = HistoryStore.open(tmp_path)
    recorder = HistoryComponent(store, parse("True"), 1e6, 0.01, 1 << 24, Access(), note)
    async with trio.open_nursery() as nursery:
        with files_of_at_most(1000):
            nursery.start_soon(recorder._append, rows(1, 5))
            await is_full.wait()
            assert numbers(store) == []
        mock_clock.jump(RETRY_S)
    assert numbers(store) == [1, 2, 3, 4, 5]
    assert [each.partition(": ")[2] for each in notices] == [
        "File too large: 5 events are not stored, and nothing is acknowledged; it tries again every 5 s",
        "the disk takes events again",
    ]


def user(token: str, advertise: str, subscribe: str) -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    rules = f"advertise = {json.dumps(advertise)}\nsubscribe = {json.dumps(subscribe)}\n"
    return f'[users.{token}]\ntoken_sha256 = "{digest}"\n{rules}'


async def test_a_user_gets_of_a_history_what_he_may_subscribe_to(tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    desk = user("desk", h.QUESTIONS, f"n > 5 or {h.USER} == 'desk'")
    users.write_text(user("all", "True", "True") + desk, "utf-8")
    async with running(settings("B1", auth=users)) as one:
        access = load_access(users, Tls())
        async with (
            history(tmp_path / "history", one.address, access=access, token="all") as recorder,
            connect(one.address, token="all") as writer,
            connect(one.address, token="desk") as reader,
        ):
            await publish(writer, range(10))
            await recorder.stored(10)
            assert await read(reader, "n > 5", 4, PAST) == [6, 7, 8, 9]
            with pytest.raises(RefusedError, match="may subscribe only"):
                await read(reader, "n > 4", 1, PAST)


DIES: Final = """
import os, sys
from broker.commands import main

def die(event, arguments):
    global renamed
    if event == "os.rename" and str(arguments[1]).endswith(".parquet"):
        renamed += 1
        os.write(2, b"renames\\n")
    elif renamed == 2 and event == "open":
        os._exit(9)

renamed = 0
sys.addaudithook(die)
main(sys.argv[1:])
"""
"""The command, killed when its second file has been renamed and nothing of that has been acknowledged."""


async def test_a_history_that_is_killed_with_an_unacknowledged_file_stores_nothing_twice(
    tmp_path: Path,
) -> None:
    async with running(settings("B1")) as one, connect(one.address) as writer:
        arguments = [
            "history",
            "--broker",
            one.address,
            "exists(n)",
            "--dir",
            str(tmp_path),
            "--flush",
            "10ms",
        ]
        program = [sys.executable, "-c", DIES, *arguments]
        with trio.fail_after(2 * WAIT_S):
            async with writer.advertise("exists(n)") as publisher:
                process = await trio.lowlevel.open_process(
                    program, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=PIPE
                )
                assert process.stderr is not None
                for number, said in enumerate((b"keeps", b"renames")):
                    assert said in await process.stderr.receive_some()
                    await publisher.publish({"n": number}, confirm=True)
                assert await process.wait() == 9
        assert HistoryStore.open(tmp_path).last == 2
        async with history(tmp_path, one.address) as recorder:
            await publish(writer, range(2, 4))
            await recorder.stored(4)
            assert await read(writer, "exists(n)", 4, PAST) == [0, 1, 2, 3]
            assert recorder.store.last == 4
