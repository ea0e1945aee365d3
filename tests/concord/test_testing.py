"""Overlays for the tests of programs."""

import re
from typing import Any

import pytest
import trio

from concord import ConcordError, connect
from concord.testing import Brokers, overlay
from tests.sources import ROOT


async def publish_at(brokers: Brokers, broker: str, x: int) -> None:
    async with (
        brokers.connect(broker, name=f"at {broker}") as client,
        client.advertise("x > 0") as publisher,
    ):
        await publisher.publish({"x": x})


async def test_what_is_published_at_one_broker_is_delivered_at_the_others() -> None:
    async with (
        overlay("B1>B2,B1>B3") as brokers,
        brokers.connect("B2") as two,
        brokers.connect("B1") as one,
        two.subscribe("x > 0") as at_two,
        one.subscribe("x > 0") as at_one,
    ):
        assert brokers.names == ("B1", "B2", "B3")
        assert (one.broker, two.broker) == ("B1", "B2")
        await publish_at(brokers, "B3", 7)
        for deliveries in (at_one, at_two):
            delivery = await anext(deliveries)
            assert delivery.attributes == {"x": 7}
            assert delivery.publisher.startswith("at B3@B3.")


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ("B1", ("B1",)),
        ("B1>B2>B3", ("B1", "B2", "B3")),
        ("leaf, top > middle, middle > leaf", ("top", "middle", "leaf")),
    ],
)
async def test_a_shape_is_started_from_the_root_down(shape: str, names: tuple[str, ...]) -> None:
    async with overlay(shape, ordering="fifo") as brokers:
        assert brokers.names == names
        async with brokers.connect(names[-1]) as client, client.subscribe("x > 0") as deliveries:
            await publish_at(brokers, names[0], 1)
            assert (await anext(deliveries)).attributes == {"x": 1}


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ("", "'' lacks a broker's name"),
        ("B1>", "'B1>' lacks a broker's name"),
        ("B1>B2,B3", "B1 and B3 have no uplink"),
        ("B1>B3,B1>B2,B2>B3", "B3 has two uplinks, B1 and B2"),
        ("B1>B2>B1", "B1, B2 form a ring"),
        ("B1>B1", "B1 form a ring"),
        ("B0>B1,B2>B3>B2", "B2, B3 form a ring"),
    ],
)
async def test_what_is_no_tree_is_refused_in_words(shape: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        async with overlay(shape):
            pass


async def test_a_broker_or_an_ordering_that_is_not_there_is_named() -> None:
    async with overlay("B1>B2") as brokers:
        with pytest.raises(ValueError, match="no broker is called 'B3'; there are B1, B2"):
            brokers.connect("B3")
    with pytest.raises(ConcordError, match="no ordering plugin is called 'none'"):
        async with overlay("B1", ordering="none"):
            pass
    with pytest.raises(ConcordError, match="unknown option 'a'"):
        async with overlay("B1", ordering_options={"a": "b"}):
            pass


async def test_what_a_test_raises_comes_out_as_it_was_raised() -> None:
    with pytest.raises(LookupError, match="in the block"):
        async with overlay("B1>B2"):
            raise LookupError("in the block")


async def test_everything_is_gone_with_the_block() -> None:
    async with overlay("B1") as brokers:
        address = brokers._addresses["B1"]
    with pytest.raises(ConcordError, match="refused"):
        async with connect(address):
            pass
    assert trio.lowlevel.current_statistics().tasks_living < 10


def test_the_example_in_the_documentation_is_a_test_that_passes() -> None:
    page = (ROOT / "docs" / "reference" / "client.md").read_text(encoding="utf-8")
    (program,) = (each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "overlay(" in each)
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102 - what our own page shows
    trio.run(names["test_a_trade_is_seen_at_another_broker"])
