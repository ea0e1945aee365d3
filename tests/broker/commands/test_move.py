"""`concord move` and `concord drain` at real brokers, and that no subscriber notices either."""

import subprocess

import trio

from broker import connect
from broker.server.server import Server
from tests.broker.commands.test_publish_and_subscribe import run
from tests.broker.server.overlay import WAIT_S, Running, running, settings, until


async def move(broker: Running, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return await run("move", "--broker", broker.address, *arguments)


def uplink_of(broker: Running) -> str:
    uplink = broker.server.node.exchange.core.uplink
    return "" if uplink is None else uplink.name


async def test_a_broker_moves_up_and_down_while_events_flow() -> None:
    with trio.fail_after(WAIT_S):
        async with (
            running(settings("B1")) as b1,
            running(settings("B2", b1.endpoint)) as b2,
            running(settings("B3", b2.endpoint)) as b3,
            connect(b1.address, name="alice") as alice,
            connect(b3.address, name="bob") as bob,
        ):
            await until(lambda: uplink_of(b3) == "B2" and uplink_of(b2) == "B1")
            async with alice.advertise("True") as publisher, bob.subscribe("True") as deliveries:
                await publisher.publish({"n": 1})
                moved = await move(b2, "B3", "--uplink", "B1")
                assert (moved.returncode, moved.stdout) == (0, b"B3 is below B1\n"), moved.stderr
                assert b"B3 goes to B1" in moved.stderr
                assert uplink_of(b3) == "B1"
                await publisher.publish({"n": 2})
                outcome = await alice.move("B3", "B2")
                assert outcome["state"] == "moved", outcome
                await publisher.publish({"n": 3})
                # A gap would be raised as an error.
                assert [(await anext(deliveries)).attributes["n"] for _ in range(3)] == [1, 2, 3]
            outcome = await alice.move("B3", "B1", "reattach")
            assert outcome["text"] == "B3 is below B1"
            assert uplink_of(b3) == "B1"


async def test_a_drained_broker_ends_and_nobody_else_notices() -> None:
    with trio.fail_after(WAIT_S):
        async with (
            running(settings("B1")) as b1,
            trio.open_nursery() as nursery,
        ):
            b2 = Server.prepare(settings("B2", b1.endpoint))
            started, ended = trio.Event(), trio.Event()

            async def serve() -> None:
                await b2.run(started.set)
                ended.set()

            nursery.start_soon(serve)
            await started.wait()
            below = settings("B3", Running(b2).endpoint)
            async with (
                running(below) as b3,
                connect(b1.address, name="alice") as alice,
                connect(b3.address, name="bob") as bob,
                connect([Running(b2).address, b1.address], name="carol") as carol,
            ):
                await until(lambda: uplink_of(b3) == "B2" and uplink_of(Running(b2)) == "B1")
                async with (
                    alice.advertise("True") as publisher,
                    bob.subscribe("True") as deliveries,
                    carol.subscribe("True"),
                ):
                    await publisher.publish({"n": 1})
                    drained = await run("drain", "--broker", b1.address, "B2")
                    assert (drained.returncode, drained.stdout) == (0, b"B2 ends\n"), drained.stderr
                    await ended.wait()
                    await until(lambda: carol.broker == "B1")
                    await publisher.publish({"n": 2})
                    assert [(await anext(deliveries)).attributes["n"] for _ in range(2)] == [1, 2]
                outcome = await bob.drain("B1")
                assert outcome["state"] == "ended", outcome
                await until(lambda: b3.server.node.exchange.core.uplink is None)
