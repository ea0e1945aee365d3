"""What a client does, whatever drives it: the same tests under Trio, under asyncio, and without a loop."""

import ssl
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest
import trustme

from broker import (
    ClosedError,
    ConnectionFailedError,
    ConnectionLostError,
    Delivery,
    FilterError,
    Gap,
    GapError,
    InvalidPublicationError,
    Limits,
    NotAdvertisedError,
    RefusedError,
    SlowSubscriberError,
    StateChange,
)
from broker.client.client import Client
from broker.client.deliveries import Deliveries
from broker.server.settings import Tls
from tests.broker.client.shells import SHELLS, ShellUnderTest
from tests.broker.client.stage import Stage, stage
from tests.broker.server.overlay import settings

TRADES = "kind == 'trade' and price > 0"

pytestmark = pytest.mark.parametrize("shell", SHELLS, ids=repr)


async def sequences(deliveries: Deliveries, count: int) -> list[int]:
    return [(await anext(deliveries)).sequence for _ in range(count)]


async def fail_behind(client: Client, count: int) -> None:
    """Read so many, and fail before it is known what became of the last one."""
    async with client.subscribe("True", durable="mine") as deliveries:
        assert deliveries.is_resumed
        await sequences(deliveries, count)
        raise KeyError


async def fail_in_the_second_batch(client: Client, sizes: list[int]) -> None:
    async with client.subscribe("True", durable="mine") as deliveries:
        batches = deliveries.batches(max_count=4)
        sizes.append(len(await anext(batches)))
        assert 1 <= len(await anext(batches)) <= 4
        raise KeyError


def test_events_go_where_their_content_is_wanted(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(broker.address, name="alice") as alice,
            shell.connect(broker.address, name="bob") as bob,
            alice.advertise(TRADES) as publisher,
            bob.subscribe("price > 5") as dear,
            bob.subscribe("kind == 'trade'") as every,
        ):
            assert (alice.state, alice.broker) == ("connected", "B1")
            for price in range(1, 11):
                assert (
                    await publisher.publish({"kind": "trade", "price": price}, f"{price}".encode()) == price
                )
            assert await sequences(every, 10) == list(range(1, 11))
            assert await sequences(dear, 4) == [6, 7, 8, 9]
            last = await anext(dear)
            assert (last.publisher, last.payload, last.position) == (publisher.id, b"10", 5)

    with stage() as broker:
        shell.run(test)


def test_what_is_wrong_is_said_in_the_same_words(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address) as client:
            with pytest.raises(FilterError, match="column"):
                async with client.subscribe("price >"):
                    pass
            async with client.advertise(TRADES) as publisher:
                with pytest.raises(NotAdvertisedError, match="price > 0"):
                    await publisher.publish({"kind": "trade", "price": 0})
                with pytest.raises(InvalidPublicationError, match="expected bytes, got str"):
                    await publisher.publish({"kind": "trade", "price": 1}, "text")  # type: ignore[arg-type]  # that is wrong
            with pytest.raises(ClosedError, match="after its advertise block had been left"):
                await publisher.publish({"kind": "trade", "price": 1})
            with pytest.raises(RefusedError, match="cannot forget 'nothing'"):
                await client.forget("nothing")
            with pytest.raises(ValueError, match="policy: expected"):
                async with client.subscribe("True", policy="other"):  # type: ignore[call-overload]  # that is wrong
                    pass
        with pytest.raises(ClosedError, match="after its connect block had been left"):
            await client.explain()

    with stage() as broker:
        shell.run(test)


def test_a_user_sees_its_own_error_as_it_was_raised(shell: ShellUnderTest) -> None:
    async def test() -> None:
        with pytest.raises(KeyError, match="mine"):
            async with shell.connect(broker.address) as client, client.subscribe("True"):
                raise KeyError("mine")

    with stage() as broker:
        shell.run(test)


@pytest.mark.parametrize("address", ["", "host", "host:x", ":7411"])
def test_what_is_no_address_is_said_to_be_none(shell: ShellUnderTest, address: str) -> None:
    async def test() -> None:
        with pytest.raises(ConnectionFailedError, match="HOST:PORT") as caught:
            async with shell.connect(address):
                pass
        assert caught.value.address == address

    shell.run(test)


def test_a_refused_connection_is_reported_in_the_words_of_the_system(shell: ShellUnderTest) -> None:
    async def test() -> None:
        with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1:1: connection refused") as caught:
            async with shell.connect("127.0.0.1:1"):
                pass
        assert isinstance(caught.value.__cause__, OSError)

    shell.run(test)


def test_a_cut_connection_loses_and_repeats_nothing(shell: ShellUnderTest) -> None:
    async def test() -> None:
        count = 3000
        async with (
            shell.connect(broker.address, name="alice") as alice,
            shell.connect(broker.address, name="bob") as bob,
            bob.subscribe("True") as deliveries,
            alice.advertise("True") as publisher,
        ):
            identity = publisher.id
            for number in range(1, count + 1):
                await publisher.publish({"number": number}, bytes(100))
                if number % 1000 == 0:
                    broker.cut()
                    await publisher.flush()
            assert publisher.id == identity
            assert await sequences(deliveries, count) == list(range(1, count + 1))

    with stage() as broker:
        shell.run(test)


def test_a_broker_restarted_without_memory_is_a_gap_and_a_change_of_state(
    shell: ShellUnderTest,
) -> None:
    async def test() -> None:
        states: list[StateChange] = []
        async with (
            shell.connect(broker.address, on_state=states.append) as client,
            client.subscribe("True") as deliveries,
            client.advertise("True") as publisher,
        ):
            await publisher.publish({"run": 1}, confirm=True)
            assert (await anext(deliveries)).attributes == {"run": 1}
            broker.restart()
            await publisher.publish({"run": 2}, confirm=True)
            items = deliveries.with_gaps()
            assert await anext(items) == Gap(None)
            second = await anext(items)
            assert isinstance(second, Delivery)
            assert second.attributes == {"run": 2}
        assert [change.state for change in states] == ["connected", "reconnecting", "connected"]

    with stage() as broker:
        shell.run(test)


def test_a_client_goes_to_another_broker_when_its_own_is_lost_for_good(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(["127.0.0.1:1", one.address, two.address], learn=True) as client,
            client.subscribe("True", durable="mine") as deliveries,
            client.advertise("True") as publisher,
        ):
            identity = publisher.id
            await publisher.publish({"number": 1}, confirm=True)
            assert await sequences(deliveries, 1) == [1]
            assert [each["name"] for each in await client.brokers()] == ["B1"]
            one.stop()
            await publisher.publish({"number": 2}, confirm=True)
            items = deliveries.with_gaps()
            assert await anext(items) == Gap(None)
            again = await anext(items)
            assert isinstance(again, Delivery)
            assert (again.attributes, client.broker, again.publisher) == ({"number": 2}, "B2", publisher.id)
            assert publisher.id != identity

    with stage() as one, stage(settings("B2")) as two:
        shell.run(test)


def test_a_client_that_stops_waiting_for_a_broker_raises_an_error(shell: ShellUnderTest) -> None:
    async def test() -> None:
        limits = Limits(reconnect_timeout_s=0.05)
        async with (
            shell.connect(broker.address, limits=limits) as client,
            client.subscribe("True") as deliveries,
        ):
            broker.stop()
            broker.cut()
            with pytest.raises(ConnectionLostError, match=r"no connection to .* for 0.05 s; gave up"):
                await anext(deliveries)

    with stage() as broker:
        shell.run(test)


def test_a_subscriber_that_does_not_read_is_ended_with_a_reason(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(broker.address, name="bob") as bob,
            bob.subscribe("True", bound_bytes=65_536) as deliveries,
        ):
            async with (
                shell.connect(broker.address, name="alice") as alice,
                alice.advertise("True") as publisher,
            ):
                for number in range(3000):
                    await publisher.publish({"number": number}, bytes(5000))
            with pytest.raises(SlowSubscriberError, match="bound"):
                await sequences(deliveries, 3000)

    with stage() as broker:
        shell.run(test)


def test_a_full_window_makes_the_publisher_wait(shell: ShellUnderTest) -> None:
    async def test() -> None:
        limits = Limits(window_bytes=2000, checkpoint_bytes=500)
        async with (
            shell.connect(broker.address, limits=limits) as client,
            client.subscribe("True") as deliveries,
            client.advertise("True") as publisher,
        ):
            for number in range(200):
                await publisher.publish({"number": number}, bytes(100))
            assert await sequences(deliveries, 200) == list(range(1, 201))

    with stage() as broker:
        shell.run(test)


def test_a_durable_subscription_goes_on_behind_what_was_had(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address, name="alice") as alice, alice.advertise("True") as publisher:
            async with shell.connect(broker.address, name="bob") as bob:
                async with bob.subscribe("True", durable="mine") as deliveries:
                    for number in range(6):
                        await publisher.publish({"number": number}, confirm=True)
                    assert await sequences(deliveries, 2) == [1, 2]
                with pytest.raises(KeyError):
                    await fail_behind(bob, 2)  # The program does not know what became of 4.
                assert [each["durable"] for each in await bob.durable_subscriptions()] == ["mine"]
            async with shell.connect(broker.address, name="bob") as bob:
                async with bob.subscribe("True", durable="mine") as deliveries:
                    assert await sequences(deliveries, 3) == [4, 5, 6]
                await bob.forget("mine")
                assert await bob.durable_subscriptions() == []

    with stage() as broker:
        shell.run(test)


async def leave_waiting(shell: ShellUnderTest, address: str, client: Client, count: int) -> None:
    """So many events wait for the client's durable subscription."""
    async with (
        shell.connect(address, name="alice") as alice,
        alice.advertise("True") as publisher,
        client.subscribe("True", durable="mine"),
    ):
        for number in range(count):
            await publisher.publish({"number": number}, confirm=True)


def test_a_batch_is_had_as_a_whole(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address, name="bob") as bob:
            await leave_waiting(shell, broker.address, bob, 10)
            sizes: list[int] = []
            with pytest.raises(KeyError):
                await fail_in_the_second_batch(bob, sizes)  # What became of it is not known.
            assert 1 <= sizes[0] <= 4
            async with bob.subscribe("True", durable="mine") as deliveries:
                after = sizes[0]
                assert await sequences(deliveries, 10 - after) == list(range(after + 1, 11))
                with pytest.raises(ValueError, match="max_count: expected 1 or more"):
                    await anext(deliveries.batches(0))

    with stage() as broker:
        shell.run(test)


async def acknowledge(deliveries: Any, position: int) -> None:
    called = deliveries.ack(position)
    if called is not None:  # The blocking client is wrapped, so that calls can be awaited.
        await called


async def fail_behind_the_acknowledged(client: Client) -> list[Delivery]:
    async with client.subscribe("True", durable="mine", ack="manual", max_open=4) as deliveries:
        open_ones = [await anext(deliveries) for _ in range(4)]
        open_ones[1].ack()
        open_ones[0].ack()  # It is acknowledged with the other one.
        open_ones += [await anext(deliveries) for _ in range(2)]
        await acknowledge(deliveries, 3)
        with pytest.raises(ValueError, match="ack: position 7 has not been delivered; 6 is the last"):
            await acknowledge(deliveries, 7)
        assert [each.sequence for each in open_ones] == list(range(1, 7))
        return open_ones


def test_what_is_not_acknowledged_comes_again(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address, name="bob") as bob:
            await leave_waiting(shell, broker.address, bob, 8)
            open_ones = await fail_behind_the_acknowledged(bob)
            with pytest.raises(ClosedError, match="it comes again"):
                open_ones[4].ack()
            async with bob.subscribe("True", durable="mine") as deliveries:
                fourth = await anext(deliveries)
                assert [fourth.sequence, *await sequences(deliveries, 4)] == [4, 5, 6, 7, 8]
                with pytest.raises(ValueError, match="ack='manual'"):
                    fourth.ack()
            with pytest.raises(ValueError, match="durable name"):
                async with bob.subscribe("True", ack="manual"):
                    pass

    with stage() as broker:
        shell.run(test)


def test_a_program_that_stored_positions_and_numbers_goes_on_where_it_was(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(broker.address, name="etl") as client,
            client.subscribe("True", durable="stored", ack="manual") as deliveries,
            client.advertise("True") as publisher,
        ):
            await publisher.publish({}, confirm=True)
            await sequences(deliveries, 1)
            position, number = (deliveries.id, deliveries.position), (publisher.id, publisher.sequence)
            assert (position[1], number[1]) == (1, 1)
        async with shell.connect(broker.address, name="etl") as client:
            known = client.subscribe("True", durable="stored", ack="manual", after=1, resume=position[0])
            async with known as deliveries, client.advertise("True", resume=number[0]) as publisher:
                assert (deliveries.id, deliveries.position) == position
                assert (publisher.id, publisher.sequence) == number
                assert await publisher.publish({}, confirm=True) == 2
                assert await sequences(deliveries, 1) == [2]
            with pytest.raises(ValueError, match="give both"):
                async with client.subscribe("True", durable="stored", resume=position[0]):
                    pass

    with stage() as broker:
        shell.run(test)


def test_a_batch_waits_for_more_as_long_as_it_may(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(broker.address) as client,
            client.advertise("True") as publisher,
            client.subscribe("True") as deliveries,
        ):
            for number in range(3):
                await publisher.publish({"number": number})
            batches = deliveries.batches(max_count=3, max_s=3600)
            assert [each.sequence for each in await anext(batches)] == [1, 2, 3]
            await publisher.publish({"number": 3}, confirm=True)
            assert [each.sequence for each in await anext(deliveries.batches(100, max_s=0.01))] == [4]
            with pytest.raises(ValueError, match="max_s: expected 0 or more"):
                await anext(deliveries.batches(max_s=-1))

    with stage() as broker:
        shell.run(test)


def test_gaps_are_raised_between_batches(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with (
            shell.connect(broker.address) as client,
            client.advertise("True") as publisher,
            client.subscribe("True") as deliveries,
        ):
            await publisher.publish({}, confirm=True)
            batches = deliveries.batches()
            assert [each.sequence for each in await anext(batches)] == [1]
            broker.restart()
            with pytest.raises(GapError, match="does not know any more"):
                await anext(batches)
            await publisher.publish({}, confirm=True)
            assert [each.sequence for each in await anext(deliveries.batches())] == [1]

    with stage() as broker:
        shell.run(test)


def test_a_publisher_learns_of_interest(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address) as client, client.advertise("True") as publisher:
            seen = [publisher.is_wanted]
            async with client.subscribe("True"):
                await publisher.wanted()
                seen.append(publisher.is_wanted)
            await publisher.unwanted()
            assert [*seen, publisher.is_wanted] == [False, True, False]

    with stage() as broker:
        shell.run(test)


def test_production_is_cancelled_when_no_subscription_wants_it(shell: ShellUnderTest) -> None:
    async def test() -> None:
        begun: list[str] = []
        async with (
            shell.connect(broker.address) as client,
            client.subscribe("kind == 'other'") as nothing,
            client.advertise("kind == 'this'") as publisher,
        ):
            subscription = client.subscribe("kind == 'this'")

            async def produce() -> None:
                begun.append("begun")
                await subscription.__aexit__(None, None, None)
                try:
                    await anext(nothing)
                finally:
                    publisher.close()

            await subscription.__aenter__()
            with pytest.raises(ClosedError):
                await publisher.while_wanted(produce)
        assert begun == ["begun"]

    if not shell.has_tasks:
        return
    with stage() as broker:
        shell.run(test)


def test_producers_run_for_the_values_that_subscriptions_name(shell: ShellUnderTest) -> None:
    async def test() -> None:
        made: list[object] = []
        async with (
            shell.connect(broker.address) as client,
            client.subscribe("room in (1, 'a')"),
            client.advertise("exists(room)") as publisher,
        ):

            async def produce(value: object) -> None:
                made.append(value)
                if len(made) == 2:
                    publisher.close()
                    raise KeyError(value)
                await publisher.unwanted()

            with pytest.raises(KeyError):
                await publisher.serve_on_demand("room", produce)
            assert set(made) == {1, "a"}

    if not shell.has_tasks:
        return
    with stage() as broker:
        shell.run(test)


def test_leaving_sends_what_is_still_in_the_window(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address, name="bob") as bob, bob.subscribe("True") as deliveries:
            async with (
                shell.connect(broker.address, name="alice") as alice,
                alice.advertise("True") as publisher,
            ):
                for number in range(1000):
                    await publisher.publish({"number": number}, bytes(1000))
            assert alice.state == "closed"
            assert await sequences(deliveries, 1000) == list(range(1, 1001))

    with stage() as broker:
        shell.run(test)


def test_leaving_a_broker_that_hangs_takes_no_longer_than_it_may(shell: ShellUnderTest) -> None:
    async def test() -> None:
        limits = Limits(close_timeout_s=0.05)
        async with shell.connect(broker.address, limits=limits) as client:
            broker.hang()
        assert client.state == "closed"

    with stage() as broker:
        shell.run(test)


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    made = trustme.CA()
    made.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = made.issue_cert("127.0.0.1")
    server.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    server.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    return made


@pytest.mark.usefixtures("authority")
def test_a_client_connects_with_tls_and_checks_the_certificate(shell: ShellUnderTest, tmp_path: Path) -> None:
    async def test() -> None:
        trusting = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        async with (
            shell.connect(broker.address, tls=trusting) as client,
            client.subscribe("True") as deliveries,
            client.advertise("True") as publisher,
        ):
            for number in range(500):
                await publisher.publish({"number": number}, bytes(1000))
            assert await sequences(deliveries, 500) == list(range(1, 501))
        with pytest.raises(ConnectionFailedError, match="certificate verify failed"):
            async with shell.connect(broker.address, tls=ssl.create_default_context()):
                pass

    tls = Tls(tmp_path / "cert.pem", tmp_path / "key.pem")
    with stage(attrs.evolve(settings("B1"), tls=tls)) as broker:
        shell.run(test)


def test_no_thread_and_no_task_is_left(shell: ShellUnderTest) -> None:
    async def test() -> None:
        async with shell.connect(broker.address):
            pass

    with stage() as broker:
        before = _threads()
        shell.run(test)
        assert _threads() == before
    assert isinstance(broker, Stage)


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("concord")}
