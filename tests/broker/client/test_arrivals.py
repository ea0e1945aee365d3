import socket
from functools import partial

import pytest
import trio
import trio.testing

from broker.client.arrivals import READ_COUNT, arrivals


async def test_each_socket_is_read_when_something_has_arrived_there_and_not_after_unwatch() -> None:
    read: list[tuple[int, bytes]] = []
    pairs = [socket.socketpair() for _ in range(3 * READ_COUNT)]

    def take(number: int) -> None:
        read.append((number, pairs[number][1].recv(100)))

    for number, (ours, theirs) in enumerate(pairs):
        arrivals().watch(theirs.fileno(), partial(take, number))
        ours.send(b"one")
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(read) == [(number, b"one") for number in range(len(pairs))]
    arrivals().unwatch(pairs[0][1].fileno())
    for ours, _ in pairs[:2]:
        ours.send(b"two")
    await trio.testing.wait_all_tasks_blocked()
    assert read[len(pairs) :] == [(1, b"two")]
    for _, theirs in pairs[1:]:
        arrivals().unwatch(theirs.fileno())
    for pair in pairs:
        for each in pair:
            each.close()


async def test_those_who_got_something_go_on_before_all_are_read() -> None:
    order: list[str] = []
    pairs = [socket.socketpair() for _ in range(3 * READ_COUNT)]
    woken = trio.Event()

    async def go_on() -> None:
        await woken.wait()
        order.append("goes on")

    def read(theirs: socket.socket) -> None:
        theirs.recv(100)
        order.append("read")
        woken.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(go_on)
        for ours, theirs in pairs:
            ours.send(b"one")
            arrivals().watch(theirs.fileno(), partial(read, theirs))
    await trio.testing.wait_all_tasks_blocked()
    assert order.index("goes on") in {READ_COUNT, 2 * READ_COUNT}  # Trio wakes both in the same round.
    assert order.count("read") == len(pairs)
    for ours, theirs in pairs:
        arrivals().unwatch(theirs.fileno())
        ours.close()
        theirs.close()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_run_of_trio_begins_anew_when_nobody_waits_any_more(times: int) -> None:
    for _ in range(times):
        ours, theirs = socket.socketpair()
        read = trio.Event()
        before = arrivals()
        before.watch(theirs.fileno(), read.set)
        ours.send(b"one")
        await read.wait()
        before.unwatch(theirs.fileno())
        assert arrivals() is not before
        ours.close()
        theirs.close()
