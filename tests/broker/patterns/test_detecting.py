"""Patterns in what a client subscribes to: under Trio, under asyncio, and as a command."""

import json
import sys

import pytest
import trio

from broker import connect
from broker.commands.detect import command
from broker.patterns.conditions import PatternError
from broker.patterns.detecting import detect
from broker.patterns.machine import PatternMatch
from tests.broker.client.shells import SHELLS, ShellUnderTest
from tests.broker.client.stage import stage
from tests.broker.server.overlay import running, settings
from tests.sources import ROOT

PAID = "kind == 'order' as a then kind == 'paid' as b where a.id == b.id within 5s"


@pytest.mark.parametrize("shell", [each for each in SHELLS if each.has_tasks], ids=repr)
def test_a_match_is_found_in_the_deliveries_of_one_subscription(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(broker.address) as alice,
            alice.advertise("exists(id)") as publisher,
            shell.connect(broker.address) as bob,
            detect(bob, PAID) as matches,
        ):
            for kind, number in (("order", 1), ("order", 2), ("sent", 2), ("paid", 2), ("paid", 1)):
                await publisher.publish({"kind": kind, "id": number})
            found = [await anext(matches) for _ in range(2)]
            assert [
                (each["a"].sequence, each["b"].sequence) for each in found if isinstance(each, PatternMatch)
            ] == [
                (2, 4),
                (1, 5),
            ]
            again = detect(bob, "kind == 'paid' as b within 1s", replay=10)
            async for each in again:
                assert isinstance(each, PatternMatch)
                assert each["b"].replayed
                break
            await again.aclose()

    with stage() as broker:
        shell.run(test)


async def run(*arguments: str) -> tuple[int, bytes, bytes]:
    ended = await trio.run_process(
        [sys.executable, "-m", "broker", "detect", *arguments],
        capture_stdout=True,
        capture_stderr=True,
        check=False,
        cwd=ROOT,
    )
    return ended.returncode, ended.stdout, ended.stderr


async def test_the_command_prints_matches_as_objects_or_for_people() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address) as client,
        client.advertise("exists(id)") as publisher,
    ):
        for kind, number in (("order", 1), ("order", 2), ("paid", 2), ("paid", 1)):
            await publisher.publish({"kind": kind, "id": number})
        options = ("--broker", broker.address, "--replay", "1m", "--count")
        status, printed, _ = await run(*options, "2", "--json", PAID)
        matches = [json.loads(line)["match"] for line in printed.splitlines()]
        assert (status, [[each["a"]["sequence"], each["b"]["sequence"]] for each in matches]) == (
            0,
            [[2, 3], [1, 4]],
        )
        status, printed, _ = await run(*options, "1", "kind == 'order' as o times 2 within 1s")
        assert (status, printed) == (0, b'o: {"kind": "order", "id": 1}  o: {"kind": "order", "id": 2}\n')


def test_the_command_says_where_a_pattern_is_wrong() -> None:
    with pytest.raises(PatternError, match="column 20: '=' is not part of the language; write '=='"):
        command.main(
            ["--broker", "127.0.0.1:1", "x == 1 as a then x = 2 as b within 1s"], standalone_mode=False
        )
