"""`concord explain --advise` at real brokers, and how it prints what it finds."""

import json

import pytest
import trio
from attrs import evolve
from click.testing import CliRunner

from broker import connect
from broker.addresses import Address
from broker.advice import BrokerTraffic, TrafficError
from broker.advice.traffic import Readership
from broker.commands.advising import Survey, advice_on, json_of, lines_of, surveyed
from broker.commands.connecting import Connecting
from broker.commands.explain import command
from tests.broker.server.overlay import WAIT_S, Running, chain, running, settings, until

EVENTS = 60

FILTER = "x > 0"


def asking(broker: Running) -> Connecting:
    return Connecting((broker.endpoint,), "advice", None, None, retry=False, learn=False)


async def test_brokers_are_asked_along_the_links_and_the_advice_has_the_moves() -> None:
    with trio.fail_after(WAIT_S):
        async with (
            chain("B1", "B2", "B3") as (top, middle, leaf),
            connect(leaf.address, name="alice") as alice,
            connect(top.address, name="bob") as bob,
            alice.advertise(FILTER) as publisher,
            bob.advertise(FILTER),
            alice.subscribe(FILTER) as hers,
            bob.subscribe(FILTER) as his,
        ):
            for x in range(1, EVENTS + 1):
                await publisher.publish({"x": x})
            for _ in range(EVENTS):
                await anext(hers)
                await anext(his)
            survey = await surveyed(asking(middle), 0)
            assert [(each.broker, each.uplink) for each in survey.traffic] == [
                ("B1", ""),
                ("B2", "B1"),
                ("B3", "B2"),
            ]
            assert survey.traffic[2].deferred
            assert survey.traffic[2].waiting_s > 0
            advice = advice_on(survey, 8, keeps_root=True)
            assert list(advice.uplinks.values()) == ["", "B1", "B1"]
            *_, last = lines_of(survey, advice)
            assert last == f"  concord move B3 --uplink B1 --broker {top.address}"
            quiet = await surveyed(asking(middle), 0.001)
            with pytest.raises(TrafficError, match="0 deliveries"):
                advice_on(quiet, 8, keeps_root=True)


async def test_a_broker_that_cannot_be_asked_is_named() -> None:
    with trio.fail_after(WAIT_S):
        nowhere = Address("127.0.0.1", 1)
        async with (
            chain("B1") as (top,),
            running(evolve(settings("B2", top.endpoint), advertise_address=nowhere)) as leaf,
        ):
            await until(lambda: leaf.is_attached and len(top.server.exchange.core.roster) > 1)
            with pytest.raises(TrafficError, match=r"B2 at .* cannot be asked"):
                await surveyed(asking(top), 0)


def broker(name: str, uplink: str, children: tuple[str, ...], events: int, delivered: int) -> BrokerTraffic:
    return BrokerTraffic(
        name,
        uplink,
        children,
        advertised={FILTER: events},
        subscribed={(FILTER, True): Readership(1, delivered)},
    )


TRAFFIC = [
    broker("B1", "", ("B2",), 0, 1000),
    evolve(broker("B2", "B1", ("B3",), 0, 1000), deferred=1000, waiting_s=2.0, left_out=2),
    evolve(broker("B3", "B2", (), 1000, 1000), deferred=1000, waiting_s=4.0),
]
ADDRESSES = {f"B{number}": f"10.0.0.{number}:7411" for number in (1, 2, 3)}
SURVEY = Survey(TRAFFIC, ADDRESSES)


def test_another_root_is_drained_and_started_again() -> None:
    assert list(lines_of(SURVEY, advice_on(SURVEY, 8, keeps_root=False))) == [
        "B1, the root: 0 published, 1000 delivered",
        "B2, below B1: 0 published, 1000 delivered, of 1000 that waited 2.00 ms each",
        "B3, below B2: 1000 published, 1000 delivered, of 1000 that waited 4.00 ms each",
        "without 2 filters with little traffic, or too long to be asked for",
        "now a delivery takes 1.00 links and waits for 2.00 more, 2.00 ms",
        "it takes 0.67 links and waits for 0.00 more, 0.00 ms, 78% less, after",
        "  concord move B3 --uplink B1 --broker 10.0.0.3:7411",
        "  concord move B2 --uplink B3 --broker 10.0.0.3:7411",
        "  concord drain B1 --broker 10.0.0.3:7411   # its clients go elsewhere, behind a gap",
        "  concord broker --name B1 --uplink 10.0.0.3:7411 ...   # start it again, below B3",
    ]


def test_programs_get_everything_as_json() -> None:
    printed = json.loads(json_of(SURVEY, advice_on(SURVEY, 8, keeps_root=True)))
    assert [each["advised"] for each in printed["brokers"]] == ["", "B1", "B1"]
    assert printed["steps"] == [{"verb": "move", "broker": "B3", "uplink": "B1"}]
    assert printed["link_s"] == pytest.approx(0.001)
    assert printed["after"]["waited"] < printed["before"]["waited"]
    assert printed["searched"]


def test_nothing_is_printed_to_do_where_nothing_gains() -> None:
    survey = Survey([broker("B1", "", ("B2",), 100, 100), broker("B2", "B1", (), 0, 100)], ADDRESSES)
    *_, last = lines_of(survey, advice_on(survey, 8, keeps_root=False))
    assert last == "no other tree gains enough to move for"


def test_a_broker_that_is_alone_has_nothing_to_move() -> None:
    with pytest.raises(TrafficError, match="B1 is alone"):
        advice_on(Survey([broker("B1", "", (), 100, 100)], ADDRESSES), 8, keeps_root=False)


def test_advice_is_asked_for_alone() -> None:
    ended = CliRunner().invoke(command, ["--broker", "127.0.0.1:1", "--advise", "--uplinks"])
    assert ended.exit_code == 2
    assert "ask for one thing" in ended.output
