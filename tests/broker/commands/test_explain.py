"""`concord explain` at real brokers, and how it prints their answers."""

import json
import subprocess

import trio

from broker import connect
from broker.commands.explain import _waiting, _way
from tests.broker.commands.test_publish_and_subscribe import run
from tests.broker.server.overlay import WAIT_S, Running, chain, running, settings, until


async def explain(broker: Running, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return await run("explain", "--broker", broker.address, *arguments)


async def test_the_way_of_a_publication_through_two_brokers() -> None:
    with trio.fail_after(WAIT_S):
        async with (
            running(settings("B1")) as top,
            running(settings("B2", top.endpoint)) as below,
            connect(top.address, name="alice") as alice,
            connect(below.address, name="bob") as bob,
        ):
            await until(lambda: below.is_attached)
            async with alice.advertise("True") as publisher, bob.subscribe("True") as deliveries:
                await publisher.publish({"price": 1})
                delivery = await anext(deliveries)
                name, number = delivery.publisher, str(delivery.sequence)
                for broker in (top, below):
                    shown = await explain(broker, name, number)
                    assert shown.stderr == b""
                    first, at_top, at_below = shown.stdout.decode().splitlines()
                    assert first == f"{name} {number}:"
                    assert at_top == "  B1: from a client, to B2"
                    assert at_below.startswith("  B2: from B1, to bob@B2.")
                shown = await explain(top, name, number, "--json")
                assert {json.loads(line)["broker"] for line in shown.stdout.splitlines()} == {"B1", "B2"}
                shown = await explain(top, name, "99")
                assert shown.stdout.decode() == f"{name} 99: no broker that was asked remembers it\n"
                shown = await explain(below)
                assert shown.stdout == b"nothing waits at B2\n"


async def test_a_publisher_without_a_sequence_is_an_error_in_one_line() -> None:
    ended = await run("explain", "--broker", "127.0.0.1:1", "alice")
    assert ended.returncode == 2
    assert b"PUBLISHER needs a SEQUENCE" in ended.stderr


def test_what_waits_names_the_item_the_need_and_the_debtor() -> None:
    lines: list[dict[str, object]] = [
        {
            "broker": "B2",
            "target": "B3",
            "head": {"publisher": "p", "sequence": 7},
            "published_ns": None,
            "needs": "the uplink's acknowledgement",
            "from": "B1",
            "behind": 2,
        },
        {
            "broker": "B2",
            "target": "B4",
            "head": {"control": "AdvertisementAdded"},
            "published_ns": None,
            "needs": "an earlier item",
            "from": None,
            "behind": 0,
        },
    ]
    assert _waiting("B2", lines) == [
        "B3: waits for p 7, which needs the uplink's acknowledgement (from B1); 2 behind it",
        "B4: waits for AdvertisementAdded, which needs an earlier item; 0 behind it",
    ]


def test_a_way_names_the_targets_that_wait_and_those_that_are_gone() -> None:
    step: dict[str, object] = {
        "broker": "B2",
        "remembered": True,
        "came_from": None,
        "went_to": ["B1"],
        "waits_for": ["bob"],
        "hops_gone_since": 1,
    }
    assert _way("p 7", [step, {"broker": "B1", "remembered": False}]) == [
        "p 7:",
        "  B2: from a link that is gone, to B1, waits for bob, and 1 that are gone",
    ]


async def test_it_shows_the_uplink_and_the_candidates_without_it() -> None:
    async with chain("B1", "B2", "B3") as (top, middle, leaf):
        await until(lambda: len(leaf.server.exchange.core.roster) == 3)
        shown = (await explain(leaf, "--uplinks")).stdout.decode().splitlines()
        at_top = (await explain(top, "--uplinks")).stdout.decode()
        both = await explain(leaf, "--uplinks", "alice@B1.k/1", "1")
    assert shown == [
        f"B3 at {leaf.address} is below B2 at {middle.address}",
        "  attachments so far: 1, brokers it knows: 3",
        f"  would dial {middle.address} B2 (configured uplink)",
        f"  would dial {top.address} B1 (above the lost uplink)",
    ]
    assert "is the root of its tree" in at_top
    assert both.returncode == 2
