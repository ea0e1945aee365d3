"""The two client commands as processes of their own, at a real broker."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import click
import pytest
import trio

from broker import InvalidPublicationError, connect
from broker.commands import concord
from broker.commands.publish import printed_event
from tests.broker.client.restartable import Restartable
from tests.broker.server.overlay import running, settings, until
from tests.sources import ROOT

TRADES = "kind == 'trade'"
LINES = b'{"kind": "trade", "price": 1}\n\n{"kind": "trade", "price": 2.5, "open": true}'


async def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command that ends by itself."""
    return await trio.run_process(
        [sys.executable, "-m", "broker", *arguments],
        stdin=given,
        capture_stdout=True,
        capture_stderr=True,
        check=False,
        cwd=ROOT,
    )


@asynccontextmanager
async def subscriber(address: str, *arguments: str) -> AsyncIterator[trio.Process]:
    """A `concord subscribe` that has subscribed; it has to end within the block."""
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "broker", "subscribe", "--broker", address, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert b"subscribed to" in await read_until(process, b"\n")
        yield process
        await process.wait()
    finally:
        process.kill()
        assert process.stdio is None
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            await trio.aclose_forcefully(pipe)


async def read_until(process: trio.Process, words: bytes) -> bytes:
    """Standard error up to these words."""
    assert process.stderr is not None
    said = b""
    while words not in said:
        chunk = await process.stderr.receive_some()
        assert chunk, said
        said += chunk
    return said


async def output_of(process: trio.Process) -> list[dict[str, object]]:
    assert process.stdout is not None
    return [json.loads(line) for line in b"".join([chunk async for chunk in process.stdout]).splitlines()]


async def test_what_one_publishes_the_other_prints() -> None:
    async with (
        running(settings("B1")) as broker,
        subscriber(broker.address, "price > 0", "--count", "2") as process,
    ):
        options = ["--broker", broker.address, "--advertise", TRADES, "--payload", "händler"]
        ended = await run("publish", *options, given=LINES)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
        first, second = await output_of(process)
    assert process.returncode == 0
    assert first["attributes"] == {"kind": "trade", "price": 1}
    assert second["attributes"] == {"kind": "trade", "price": 2.5, "open": True}
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert first["publisher"] == second["publisher"]
    assert first["payload"] == "händler"
    assert isinstance(first["published_at"], float)


async def test_when_wanted_nothing_is_read_before_a_subscription_exists(tmp_path: Path) -> None:
    path = tmp_path / "trades.jsonl"
    path.write_bytes(LINES)
    async with (
        running(settings("B1")) as broker,
        connect(broker.address) as client,
        trio.open_nursery() as nursery,
    ):
        options = ["--broker", broker.address, "--advertise", TRADES, "--when-wanted", str(path)]
        nursery.start_soon(partial(run, "publish", *options))
        await until(lambda: bool(broker.server.exchange.publishers))
        async with client.subscribe("price > 0") as deliveries:
            assert [(await anext(deliveries)).attributes["price"] for _ in range(2)] == [1, 2.5]


async def test_events_come_from_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "trades.jsonl"
    path.write_bytes(LINES)
    async with (
        running(settings("B1")) as broker,
        connect(broker.address) as client,
        client.subscribe("True") as deliveries,
    ):
        ended = await run("publish", "--broker", broker.address, "--advertise", TRADES, str(path))
        assert ended.returncode == 0
        assert (await anext(deliveries)).attributes == {"kind": "trade", "price": 1}


async def test_a_payload_that_is_no_text_is_printed_in_base64() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address) as client,
        subscriber(broker.address, "True", "--count", "1") as process,
        client.advertise("True") as publisher,
    ):
        await publisher.publish({}, b"\xff\x00")
        (printed,) = await output_of(process)
    assert printed["payload_base64"] == "/wA="
    assert "payload" not in printed


async def test_what_was_printed_can_be_published_again() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address) as client,
        client.subscribe("True") as deliveries,
        client.advertise("True") as publisher,
    ):
        async with subscriber(broker.address, "True", "--count", "3") as process:
            await publisher.publish({"price": 1.5, "symbol": "é"}, "händler".encode())
            await publisher.publish({"size": 7}, b"\xff\x00", ordered=False)
            await publisher.publish({})
            printed = await output_of(process)
        lines = "\n".join(map(json.dumps, printed)).encode()
        options = ["--broker", broker.address, "--advertise", "True", "--from-subscribe"]
        ended = await run("publish", *options, given=lines)
        assert (ended.returncode, ended.stderr) == (0, b"")
        seen = [await anext(deliveries) for _ in range(6)]
        content = [(each.attributes, each.payload, each.ordered) for each in seen]
        assert content[3:] == content[:3]
        assert seen[3].publisher != publisher.id


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b'{"price": 1}', "expected what concord subscribe prints"),
        (b'{"attributes": {}, "payload_base64": "="}', "the payload cannot be read"),
    ],
)
def test_what_was_not_printed_is_not_taken_for_it(given: bytes, words: str) -> None:
    with pytest.raises(InvalidPublicationError, match=words):
        printed_event(json.loads(given))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["subscribe", "symbol", "==", "IBM"], "unexpected '==' 'IBM': quote the filter"),
        (["subscribe", "price"], 'price == True.*quote the filter .* "price > 100"'),
        (["publish", "--advertise", "kind", "==", "x", "f.jsonl"], "unexpected 'x' 'f.jsonl': quote"),
        (["publish", "--advertise", "True", "--from-subscribe", "--payload", "x"], "leave --payload out"),
        (["publish", "--advertise", "True", "f.jsonl"], "f.jsonl: No such file"),
    ],
)
def test_what_a_shell_took_apart_is_to_be_quoted(command: list[str], words: str) -> None:
    with pytest.raises(click.ClickException) as caught:
        concord.main([*command, "--broker", "127.0.0.1:1"], standalone_mode=False)
    assert re.search(words, caught.value.message)


async def test_a_number_that_json_does_not_have_is_printed_as_null() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address) as client,
        subscriber(broker.address, "True", "--count", "1") as process,
        client.advertise("True") as publisher,
    ):
        await publisher.publish({"price": float("nan"), "limit": float("inf"), "size": 2.5})
        (printed,) = await output_of(process)
    assert printed["attributes"] == {"price": None, "limit": None, "size": 2.5}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b'{"kind": "trade"}\n{"kind": }', "line 2: not JSON.*; 1 event above it went"),
        (b'{"kind": "trade"}\n' * 2 + b'{"kind": "sale"}', "line 3: .*; 2 events above it went"),
        (b'\n["trade"]', "line 2: expected an object.*; 0 events above it went"),
        (b'{"kind": "sale"}', "line 1: .*kind == 'trade'"),
        (b'{"kind": "trade", "price": ' + b"[" * 9 + b"]" * 9 + b"}", "line 1: .*8 levels"),
        (b"\xff\n", "line 1: not JSON"),
        (b'{"price": NaN}', "line 1: not JSON: NaN is no number in JSON"),
        (b'{"price": -Infinity}', "line 1: not JSON: -Infinity is no number in JSON"),
        (b'{"price": 1e999}', "line 1: not JSON: 1e999 is larger than any floating number"),
        (b'{"kind": "trade", "price": 1' + b"0" * 5000 + b"}", "line 1: not JSON"),
        (b'{"kind": ' + b"[" * 100_000, "line 1: nested too deeply"),
        (b'{"kind": "trade", "name": "\\ud800"}', "line 1: "),
    ],
)
async def test_a_line_that_cannot_be_published_is_named(given: bytes, words: str) -> None:
    async with running(settings("B1")) as broker:
        ended = await run("publish", "--broker", broker.address, "--advertise", TRADES, given=given)
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1
    assert re.search(words, ended.stderr.decode())


@pytest.mark.parametrize("command", [["publish", "--advertise", "price >"], ["subscribe", "price >"]])
async def test_a_filter_that_cannot_be_read_is_reported_before_anything_is_connected(
    command: list[str],
) -> None:
    ended = await run(*command, "--broker", "127.0.0.1:1")
    assert ended.returncode == 2
    assert b"column" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


async def test_an_interrupted_subscriber_ends_at_once_and_quietly() -> None:
    async with running(settings("B1")) as broker, subscriber(broker.address, "True") as process:
        process.send_signal(signal.SIGINT)
        assert await output_of(process) == []
        assert process.stderr is not None
        assert b"".join([chunk async for chunk in process.stderr]).strip() == b""
    assert process.returncode == 130


async def test_a_lost_connection_and_the_gap_behind_it_are_reported_on_standard_error(
    nursery: trio.Nursery,
) -> None:
    broker = Restartable(nursery)
    address = await broker.start()
    async with subscriber(address, "True", "--count", "1") as process:
        await broker.stop()
        assert b"reconnecting" in await read_until(process, b"reconnecting")
        await broker.start()
        async with connect(address) as client, client.advertise("True") as publisher:
            assert b"again" in await read_until(process, b"missing here")
            await publisher.publish({})
        assert len(await output_of(process)) == 1
    await broker.stop()


async def test_a_durable_subscription_is_kept_listed_and_forgotten() -> None:
    async with running(settings("B1")) as broker:
        where = ("--broker", broker.address, "--name", "bob")
        async with subscriber(
            broker.address, "--name", "bob", "--durable", "audit", "--count", "1", TRADES
        ) as one:
            await run("publish", "--broker", broker.address, "--advertise", TRADES, given=LINES)
            (first,) = await output_of(one)
        assert (first["sequence"], first["position"]) == (1, 1)
        listed = await run("explain", *where, "--durable")
        assert b"audit: kind == 'trade', had up to 1 of 2" in listed.stdout
        again = await run("subscribe", *where, "--durable", "audit", "--count", "1", TRADES)
        assert json.loads(again.stdout)["position"] == 2
        assert b"audit is forgotten" in (await run("subscribe", *where, "--forget", "audit")).stderr
        refused = await run("subscribe", *where, "--forget", "audit")
        assert refused.returncode == 2
        assert b"has no durable subscription 'audit'" in refused.stderr
        for wrong in ((), ("--after", "3", TRADES)):
            assert (await run("subscribe", *where, *wrong)).returncode == 2
