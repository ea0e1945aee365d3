"""Publishing over streams in memory, to a broker that follows a script."""

from types import MappingProxyType

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import (
    InvalidPublicationError,
    Limits,
    NotAdvertisedError,
    PublisherEndedError,
)
from broker import messages as m
from tests.broker.client.scripted import (
    TRADE,
    TRADES,
    Link,
    ScriptedBroker,
    one_publisher,
)


async def test_publish_counts_from_one_and_leaving_the_block_flushes(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        assert (await link.allow_publisher()).filter == TRADES
        assert await link.sequences(3) == [1, 2, 3]
        await link.answer_flush()
        await link.next(m.Unadvertise)

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        assert client.broker == "B1"
        async with client.advertise(TRADES) as publisher:
            assert publisher.id == "alice@B1/1"
            assert [await publisher.publish(TRADE) for _ in range(3)] == [1, 2, 3]


async def test_confirm_waits_until_the_broker_has_taken_it_over(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        assert (await link.next(m.Publication)).attributes == TRADE
        flush = await link.next(m.Flush)
        log.append("taken over")
        await link.say(m.Flushed(flush.number))

    log: list[str] = []
    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        assert await publisher.publish(TRADE, b"payload", ordered=False, confirm=True) == 1
        assert log == ["taken over"]


async def test_what_is_not_advertised_is_refused_with_what_fails(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    nursery.start_soon(broker.serve, one_publisher)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        with pytest.raises(NotAdvertisedError, match=r"price > 0 \(price is -1\)"):
            await publisher.publish({"kind": "trade", "price": -1})


@pytest.mark.parametrize(
    ("attributes", "payload", "words"),
    [
        ({**TRADE, "when": object()}, b"", r"attributes\[when\].*object"),
        ({**TRADE, "a b": 1}, b"", "a b"),
        ({**TRADE, "big": 2**63}, b"", "big.*64 bits"),
        ({**TRADE, "text": "x" * 65_537}, b"", "text.*65536"),
        ({1: 1, "kind": "trade", "price": 1}, b"", "name.*text"),
        ({"kind": ["trade", b""], "price": 1}, b"", r"kind\]\[1\].*bytes"),
        ([("kind", "trade")], b"", "mapping.*list"),
        (TRADE, "text", "payload.*str"),
        (TRADE, bytes(1024 * 1024 + 1), "payload.*1048576"),
    ],
)
async def test_what_cannot_be_published_says_what_and_where(
    broker: ScriptedBroker, nursery: trio.Nursery, attributes: object, payload: object, words: str
) -> None:
    nursery.start_soon(broker.serve, one_publisher)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        with pytest.raises(InvalidPublicationError, match=words):
            await publisher.publish(attributes, payload)  # type: ignore[arg-type]  # that is what is tested


async def test_any_mapping_and_any_bytes_can_be_published(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        assert (await link.next(m.Publication)).attributes == TRADE
        await link.answer_flush()

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        await publisher.publish(MappingProxyType(TRADE), bytearray(b"payload"))


async def test_publish_waits_while_the_window_is_full_and_publishes_nothing_if_cancelled(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)
        flush = await link.next(m.Flush)
        await full.wait()
        await link.say(m.Flushed(flush.number))
        assert (await link.next(m.Publication)).sequence == 2
        await link.answer_flush()

    full = trio.Event()
    nursery.start_soon(broker.serve, script)
    limits = Limits(window_bytes=1000)
    async with broker.client(limits=limits) as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE, bytes(1000))
        with trio.move_on_after(0) as scope:
            await publisher.publish(TRADE)
        assert scope.cancelled_caught
        nursery.start_soon(_set_when_blocked, full)
        assert await publisher.publish(TRADE) == 2


async def _set_when_blocked(event: trio.Event) -> None:
    await wait_all_tasks_blocked()
    event.set()


async def test_publish_lets_others_run_now_and_then(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)
        arrived.set()
        await link.sequences(999)
        await link.answer_flush()

    arrived = trio.Event()
    nursery.start_soon(broker.serve, script)
    limits = Limits(checkpoint_bytes=5000)
    async with broker.client(limits=limits) as client, client.advertise(TRADES) as publisher:
        for _ in range(999):
            await publisher.publish(TRADE)
        assert arrived.is_set()
        await publisher.publish(TRADE)


async def test_nothing_is_sent_without_credit(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script() -> None:
        link = await broker.accept(credit_bytes=0)
        await link.allow_publisher()
        await published.wait()
        await link.say(m.Ping(1))
        await link.next(m.Pong)
        await link.say(m.Grant(1000))
        assert await link.sequences(1) == [1]
        await link.answer_flush()

    published = trio.Event()
    nursery.start_soon(script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE)
        published.set()


async def test_a_publisher_that_the_broker_ended_raises_why(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        asked = await link.allow_publisher()
        await link.next(m.Publication)
        await link.say(m.Ended(asked.number, "not-advertised", "it does not match"))
        await link.answer_flush()

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        block = client.advertise(TRADES)
        publisher = await block.__aenter__()
        await publisher.publish(TRADE)
        await wait_all_tasks_blocked()
        with pytest.raises(PublisherEndedError, match="it does not match"):
            await block.__aexit__(None, None, None)


async def test_what_is_in_the_window_survives_a_broken_connection(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    async def first(link: Link) -> None:
        await link.allow_publisher()
        assert await link.sequences(2) == [1, 2]
        await link.close()

    async def second(link: Link) -> None:
        assert (await link.allow_publisher(taken=1)).resume == "alice@B1/1"
        assert await link.sequences(2) == [2, 3]
        await link.answer_flush()

    nursery.start_soon(broker.serve, first, second)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE)
        await publisher.publish(TRADE)
        await wait_all_tasks_blocked()
        assert client.state == "reconnecting"
        assert await publisher.publish(TRADE) == 3
        mock_clock.autojump_threshold = 0


async def test_a_slow_publishers_window_empties_by_itself(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)
        await link.answer_flush()
        flushed.set()

    flushed = trio.Event()
    nursery.start_soon(broker.serve, script)
    async with broker.client(flushes=True) as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE)
        await flushed.wait()
