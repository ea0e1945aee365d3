"""`concord harness watch` beside overlays of real brokers, with real subscriptions and a real Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from click.testing import CliRunner
from pyspark.sql import SparkSession

from broker.client import connect
from broker.commands import concord as group
from harness.commands.watch import print_summary
from harness.overlay import start_brokers
from harness.watch.verdict import LiveVerdict
from harness.watch.watching import OverlayWatch, WatchError
from tests.sources import ROOT

pytestmark = pytest.mark.timeout(300)
"""Each starts Spark."""

UPLINKS = {"B1": None, "B2": "B1", "B3": "B1"}
COUNT = 200
ALL = 4 * COUNT
"""Two subscriptions get what two publishers publish."""


async def printed(stream: trio.abc.ReceiveStream, text: str) -> None:
    """Wait until a program has printed this."""
    seen = b""
    while text.encode() not in seen:
        chunk = await stream.receive_some()
        assert chunk, seen.decode()
        seen += chunk


@asynccontextmanager
async def overlay(ordering: str) -> AsyncIterator[list[str]]:
    """Three brokers, of which two are watched: their addresses."""
    async with trio.open_nursery() as nursery:
        servers = await start_brokers(nursery, UPLINKS, ("--ordering", ordering))
        yield [servers[name].address for name in ("B2", "B3")]
        nursery.cancel_scope.cancel()


async def publish_at(places: Sequence[str]) -> None:
    """Publish at both of these brokers at the same time, again and again."""
    async with (
        connect(places[0]) as client,
        connect(places[1]) as other_client,
        client.advertise("exists(n)") as one,
        other_client.advertise("exists(n)") as other,
    ):
        for n in range(1, COUNT + 1):
            await one.publish({"n": n})
            await other.publish({"n": n})
            await one.flush()
            await other.flush()


async def test_under_fifo_it_finds_disagreements_on_a_cluster_and_ends_by_ctrl_c_with_a_summary() -> None:
    words = ["-m", "broker", "harness", "watch", "--filter", "n > 0", "--json"]
    async with overlay("fifo") as places:
        process = await trio.lowlevel.open_process(
            [sys.executable, *words, "--broker", ",".join(places), "--master", "local-cluster[1,2,1024]"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        await printed(process.stderr, "0 deliveries")
        await publish_at(places)
        await printed(process.stderr, f"{ALL:,} deliveries")
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does.
        found = json.loads(b"".join([chunk async for chunk in process.stdout]))
        assert await process.wait() == 1
        async with connect(places[1], name="watch") as same:
            assert await same.durable_subscriptions() == []
    (pair,) = found["pairs"]
    assert found["disagreements"] == pair["disagreements"] > 0
    assert pair["witness"]
    assert [(each["delivered"], each["gaps"]) for each in found["subscriptions"]] == [(2 * COUNT, 0)] * 2


async def test_under_pairwise_it_finds_none(spark: SparkSession) -> None:
    subscribed = trio.Event()

    def is_over(is_subscribed: bool) -> bool:  # noqa: FBT001 - its one argument
        if is_subscribed:
            trio.from_thread.run_sync(subscribed.set)
        return watch.verdict.delivered_count == ALL + ALL // 2

    async with overlay("pairwise") as places, trio.open_nursery() as nursery:
        watch = OverlayWatch(spark, places, ["n > 0", f"n > {COUNT // 2}"])
        nursery.start_soon(trio.to_thread.run_sync, watch.run, is_over, "0 seconds")
        await subscribed.wait()
        await publish_at(places)
    assert watch.verdict.disagreement_count == 0
    counts = sorted(each.common_count for each in watch.verdict.pairs.values())
    assert counts == [COUNT] * 5 + [2 * COUNT]


def test_an_overlay_that_cannot_be_reached_is_an_error_in_one_line(spark: SparkSession) -> None:
    watch = OverlayWatch(spark, ["127.0.0.1:1", "127.0.0.1:2"], ["n > 0"])
    with pytest.raises(WatchError, match=r"^cannot connect to 127\.0\.0\.1:\d: connection refused$"):
        watch.run(lambda _: False, "0 seconds")


def test_a_summary_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = LiveVerdict(["A", "B"])
    for name, order in (("A", (1, 2)), ("B", (2, 1))):
        for number in order:
            verdict.deliver(name, ("p", number))
    verdict.settle()
    print_summary(verdict, as_json=False)
    assert [line.split() for line in capsys.readouterr().out.splitlines() if line] == [
        ["subscription", "other", "common", "events", "disagreements"],
        ["A", "B", "2", "1"],
        ["subscription", "delivered", "gaps"],
        ["A", "2", "0"],
        ["B", "2", "0"],
        ["A", "and", "B:", "p", "1", "before", "p", "2,", "and", "the", "other", "way", "round"],
    ]


def test_one_subscription_has_nobody_to_disagree_with() -> None:
    words = ["harness", "watch", "--broker", "127.0.0.1:1", "--filter", "n > 0"]
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 2
    assert "one subscription agrees with itself" in done.output
