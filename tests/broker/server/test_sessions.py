"""Any number of cuts, at any byte: every subscriber's stream is exactly as without them."""

from random import Random

import pytest
import trio
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import Client, Deliveries, Gap, GapError, RefusedError, SubscriptionEndedError, connect
from broker.backoff import TRIES_WHILE_KEPT
from tests.broker.server.overlay import WAIT_S, running, settings, until
from tests.broker.server.proxy import proxied

COUNT = 1500
RATE = 5
"""Time goes so much faster where a link timeout has to pass, and slow enough for real sockets."""

CUTS = st.lists(st.tuples(st.integers(200, 60_000), st.just(value=False)), max_size=5)


async def publish(client: Client, count: int, first: int = 1) -> str:
    async with client.advertise("True") as publisher:
        for number in range(first, first + count):
            await publisher.publish({"number": number}, bytes(number % 90))
        return publisher.id


async def numbers(deliveries: Deliveries, count: int, within_s: float = WAIT_S) -> list[object]:
    """The next so many; a gap would raise."""
    found: list[object] = []
    with trio.fail_after(within_s):
        for _ in range(count):
            delivery = await anext(deliveries)
            found.append(delivery.attributes["number"])
    return found


@given(publisher_cuts=CUTS, link_cuts=CUTS, subscriber_cuts=CUTS)
@budget(max_examples=12, deadline=None)
async def test_cuts_at_any_byte_change_nothing(
    publisher_cuts: list[tuple[int, bool]],
    link_cuts: list[tuple[int, bool]],
    subscriber_cuts: list[tuple[int, bool]],
) -> None:
    async with (
        running(settings("B1")) as top,
        proxied(top.endpoint, *publisher_cuts) as to_top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint)) as leaf,
        proxied(leaf.endpoint, *subscriber_cuts) as to_leaf,
        connect(to_leaf.address, name="bob", retry=True) as bob,
        bob.subscribe("True") as far,
        connect(to_top.address, name="alice", retry=True) as alice,
        alice.subscribe("True") as near,
    ):
        await until(lambda: leaf.is_attached)
        between.doom(link_cuts)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(publish, alice, COUNT)
            assert await numbers(far, COUNT) == list(range(1, COUNT + 1))
            assert await numbers(near, COUNT) == list(range(1, COUNT + 1))
        assert top.server.exchange.totals.lost_links == 0
        assert leaf.server.exchange.totals.lost_links == 0


async def test_a_link_that_is_cut_again_and_again_under_load_loses_nothing() -> None:
    async with (
        running(settings("B1")) as top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint)) as leaf,
        connect(top.address, name="alice") as alice,
        connect(leaf.address, name="bob") as bob,
        bob.subscribe("True") as deliveries,
    ):
        await until(lambda: leaf.is_attached)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(publish, alice, 20_000)
            for part in range(20):
                first = part * 1000 + 1
                assert await numbers(deliveries, 1000) == list(range(first, first + 1000))
                between.cut()
        assert between.count > 5
        assert leaf.server.exchange.totals.lost_links == 0
        (above,), (below,) = top.server.exchange.links.values(), leaf.server.exchange.links.values()
        await until(lambda: above.state.received == below.state.sent)


async def test_a_half_open_connection_is_noticed_and_the_link_goes_on(mock_clock: MockClock) -> None:
    async with (
        running(settings("B1", link_timeout_s=8)) as top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint, link_timeout_s=8)) as leaf,
        connect(leaf.address, name="bob") as bob,
        connect(top.address, name="alice") as alice,
    ):
        await until(lambda: leaf.is_attached)
        async with bob.subscribe("True") as deliveries, alice.advertise("True") as publisher:
            await publisher.publish({"number": 1}, confirm=True)
            assert await numbers(deliveries, 1) == [1]
            between.hang()
            await publisher.publish({"number": 2}, confirm=True)
            mock_clock.rate = RATE
            assert await numbers(deliveries, 1) == [2]
        assert top.server.exchange.totals.lost_links == leaf.server.exchange.totals.lost_links == 0
        assert between.count == 2


@pytest.mark.parametrize("seed", range(4))
async def test_connections_that_hang_or_break_at_any_byte_change_nothing(
    seed: int, mock_clock: MockClock
) -> None:
    """Half-open ones are found by silence; those cut meanwhile are found at once."""
    random = Random(seed)
    plans = [
        [(random.randint(200, 40_000), random.random() < 0.7) for _ in range(random.randint(0, 2))]
        for _ in range(3)
    ]
    async with (
        running(settings("B1", link_timeout_s=20)) as top,
        proxied(top.endpoint) as to_top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint, link_timeout_s=20)) as leaf,
        proxied(leaf.endpoint) as to_leaf,
        connect(to_leaf.address, name="bob", retry=True) as bob,
        bob.subscribe("True") as far,
        connect(to_top.address, name="alice", retry=True) as alice,
    ):
        await until(lambda: leaf.is_attached)
        for proxy, plan in zip((to_top, between, to_leaf), plans, strict=True):
            proxy.doom(plan)
        mock_clock.rate = RATE
        async with trio.open_nursery() as nursery:
            nursery.start_soon(publish, alice, COUNT)
            assert await numbers(far, COUNT, within_s=40 * WAIT_S) == list(range(1, COUNT + 1))
        assert top.server.exchange.totals.lost_links == leaf.server.exchange.totals.lost_links == 0


async def test_a_peer_that_stays_away_is_lost(mock_clock: MockClock) -> None:
    async with (
        running(settings("B1", link_timeout_s=8)) as top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint, link_timeout_s=8)) as leaf,
    ):
        await until(lambda: leaf.is_attached)
        between.is_down = True
        between.cut()
        await until(lambda: len(top.server.exchange.reconnect_timeouts) == 1)
        assert top.links() == {"B2"}
        mock_clock.rate = RATE
        await until(lambda: top.links() == set() and not leaf.is_attached)


async def test_an_uplink_that_is_away_is_dialled_often_until_it_is_given_up(mock_clock: MockClock) -> None:
    """One that is up for moments only is found in one of them."""
    async with (
        running(settings("B1", link_timeout_s=8)) as top,
        proxied(top.endpoint) as between,
        running(settings("B2", between.endpoint, link_timeout_s=8)) as leaf,
    ):
        await until(lambda: leaf.is_attached)
        between.is_down = True
        between.cut()
        mock_clock.rate = RATE
        await until(lambda: not leaf.is_attached)
        assert between.count > TRIES_WHILE_KEPT / 2


async def test_a_client_that_does_not_resume_is_forgotten_and_gets_a_gap(mock_clock: MockClock) -> None:
    async with (
        running(settings("B1", link_timeout_s=8)) as one,
        proxied(one.endpoint) as to_one,
        connect(to_one.address, name="bob") as bob,
        bob.subscribe("True") as deliveries,
    ):
        to_one.is_down = True
        to_one.cut()
        await until(lambda: len(one.server.exchange.reconnect_timeouts) == 1)
        mock_clock.rate = RATE
        await until(lambda: not one.server.exchange.subscribers)
        to_one.is_down = False
        with pytest.raises(GapError, match="does not know any more") as caught:
            await anext(deliveries)
        assert (caught.value.count, caught.value.reason) == (None, "forgotten")


async def test_a_client_that_leaves_leaves_nothing_behind() -> None:
    # So long is a publisher kept for a client that is gone.
    async with running(settings("B1", link_timeout_s=3)) as one:
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True"),
            bob.advertise("True"),
        ):
            pass
        await until(lambda: not one.server.exchange.subscribers and not one.server.exchange.publishers)
        with trio.CancelScope() as scope:
            async with (
                connect(one.address, name="bob") as bob,
                bob.subscribe("True"),
                bob.advertise("True"),
            ):
                scope.cancel()
                await trio.lowlevel.checkpoint()
        await until(lambda: not one.server.exchange.subscribers and not one.server.exchange.publishers)
        assert len(one.server.exchange.reconnect_timeouts) == 0


async def test_subscribers_to_publishers_behind_a_lost_link_get_one_gap() -> None:
    async with running(settings("B1")) as top, running(settings("B2", top.endpoint)) as leaf:
        await until(lambda: leaf.is_attached)
        async with (
            connect(leaf.address, name="bob") as bob,
            bob.subscribe("x > 0") as concerned,
            bob.subscribe("x < 3") as other,
            connect(top.address, name="alice") as alice,
            alice.advertise("x > 5") as publisher,
            alice.advertise("x > 6"),
            bob.advertise("x > 0") as own,
        ):
            await publisher.publish({"x": 7}, confirm=True)
            assert (await anext(concerned)).attributes == {"x": 7}
            top.server.stop()
            with trio.fail_after(WAIT_S), pytest.raises(GapError, match="link on their way was lost"):
                await anext(concerned)
            await own.publish({"x": 1}, confirm=True)
            assert (await anext(concerned)).attributes == (await anext(other)).attributes
            assert leaf.server.exchange.totals.gaps == 1


# --- durable subscriptions ---


async def test_a_durable_subscription_goes_on_behind_what_its_program_had() -> None:
    async with running(settings("B1")) as one, connect(one.address, name="alice") as alice:
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit") as deliveries,
        ):
            assert not deliveries.is_resumed
            await publish(alice, 10)
            assert await numbers(deliveries, 4) == [1, 2, 3, 4]
        await publish(alice, 5, first=11)
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit") as deliveries,
        ):
            assert deliveries.is_resumed
            assert await numbers(deliveries, 11) == list(range(5, 16))


async def test_a_program_that_fails_gets_the_delivery_in_use_again() -> None:
    async def use() -> None:
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit") as deliveries,
        ):
            async for delivery in deliveries:
                seen.append((delivery.position, delivery.attributes["number"]))
                if delivery.position in fail_at:
                    fail_at.remove(delivery.position)
                    raise KeyError(delivery.position)
                if delivery.position == 6:
                    break

    seen: list[tuple[int, object]] = []
    fail_at = {3, 5}
    async with running(settings("B1")) as one, connect(one.address, name="alice") as alice:
        async with connect(one.address, name="bob") as bob, bob.subscribe("True", durable="audit"):
            await publish(alice, 6)
        for _ in range(2):
            with pytest.raises(KeyError):
                await use()
        await use()
    assert seen == [(each, each) for each in (1, 2, 3, 3, 4, 5, 5, 6)]


async def test_a_place_that_the_program_kept_is_where_it_goes_on() -> None:
    async with running(settings("B1")) as one, connect(one.address, name="alice") as alice:
        async with connect(one.address, name="bob") as bob, bob.subscribe("True", durable="audit"):
            await publish(alice, 10)
        for after, expected in ((4, [5, 6]), (6, [7])):
            async with (
                connect(one.address, name="bob") as bob,
                bob.subscribe("True", durable="audit", after=after) as deliveries,
            ):
                assert await numbers(deliveries, len(expected)) == expected
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit", after=2) as deliveries,
        ):
            items = deliveries.with_gaps()
            gap = await anext(items)
            assert isinstance(gap, Gap)
            assert gap.count == 5
            assert await numbers(deliveries, 1) == [8]
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit", after=99) as deliveries,
        ):
            with pytest.raises(GapError, match="unknown number"):
                await anext(deliveries)
            assert await numbers(deliveries, 2) == [9, 10]


async def test_a_second_connection_takes_a_durable_subscription_over() -> None:
    async with (
        running(settings("B1")) as one,
        connect(one.address, name="alice") as alice,
        connect(one.address, name="bob") as first,
        connect(one.address, name="bob") as second,
        first.subscribe("True", durable="audit") as old,
    ):
        await publish(alice, 2)
        assert await numbers(old, 1) == [1]
        async with second.subscribe("True", durable="audit") as new:
            await numbers(old, 1)
            with pytest.raises(SubscriptionEndedError) as caught:
                await anext(old)
            assert caught.value.code == "taken-over"
            await publish(alice, 1, first=3)
            assert (await numbers(new, 3))[-1] == 3


async def test_durable_subscriptions_are_listed_and_forgotten() -> None:
    async with running(settings("B1")) as one, connect(one.address, name="bob") as bob:
        async with bob.subscribe("x > 1", durable="audit"):
            with pytest.raises(RefusedError) as caught:
                async with bob.subscribe("x > 2", durable="audit"):
                    pass
            assert caught.value.code == "another-filter"
        (kept,) = await bob.durable_subscriptions()
        assert (kept["durable"], kept["filter"], kept["connected"]) == ("audit", "x > 1", False)
        async with connect(one.address, name="carol") as carol:
            assert await carol.durable_subscriptions() == []
        await bob.forget("audit")
        assert await bob.durable_subscriptions() == []
        with pytest.raises(RefusedError) as caught:
            await bob.forget("audit")
        assert caught.value.code == "unknown"


async def test_a_list_of_durable_subscriptions_comes_in_pages() -> None:
    async with running(settings("B1")) as one, connect(one.address, name="bob") as bob:
        for number in range(30):
            async with bob.subscribe(f"x == {number} and text == '{'a' * 8000}'", durable=f"audit-{number}"):
                pass
        kept = await bob.durable_subscriptions()
        assert [each["durable"] for each in kept] == [f"audit-{number}" for number in range(30)]
        assert all(len(str(each["filter"])) < 8192 for each in kept)


async def test_a_durable_subscription_over_its_bound_drops_behind_a_gap() -> None:
    count = 4000
    async with running(settings("B1")) as one, connect(one.address, name="alice") as alice:
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit", bound_bytes=65_536),
        ):
            pass
        await publish(alice, count)
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit", bound_bytes=65_536) as deliveries,
        ):
            position = 0
            gaps = 0
            async for item in deliveries.with_gaps():
                if isinstance(item, Gap):
                    assert item.count is not None
                    position += item.count
                    gaps += 1
                else:
                    position += 1
                    assert (item.position, item.attributes["number"]) == (position, position)
                if position == count:
                    break
            assert gaps
    assert one.server.exchange.totals.dropped


async def test_a_durable_subscription_that_is_too_old_is_forgotten(mock_clock: MockClock) -> None:
    async with running(settings("B1")) as one:
        async with (
            connect(one.address, name="bob") as bob,
            bob.subscribe("True", durable="audit", age_s=60),
        ):
            pass
        await until(lambda: len(one.server.exchange.reconnect_timeouts) == 1)
        mock_clock.jump(59)
        await wait_all_tasks_blocked()
        assert one.server.exchange.subscribers
        mock_clock.jump(2)
        await until(lambda: not one.server.exchange.subscribers)
