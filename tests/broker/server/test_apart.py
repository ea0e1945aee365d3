"""Work in a process of its own: it sees the state of the moment, and keeps nothing of its parent's."""

import os
import socket
import threading

import pytest
import trio

from broker.server.apart import Apart, ApartError


async def test_it_sees_the_state_of_the_moment_in_which_it_was_asked() -> None:
    state = bytearray(b"then")
    async with trio.open_nursery() as nursery:
        results: list[bytes] = []

        async def take() -> None:
            results.append(await Apart()(lambda: bytes(state) * 1_000_000))

        nursery.start_soon(take)
        await trio.testing.wait_all_tasks_blocked()
        state[:] = b"later"
    assert results == [b"then" * 1_000_000]


async def test_nothing_comes_of_one_that_fails_or_is_killed() -> None:
    def fails() -> bytes:
        os.kill(os.getpid(), 9)
        return b""

    with pytest.raises(ApartError, match="ended early"):
        await Apart()(fails)


async def test_it_keeps_nothing_open_of_its_parents() -> None:
    ours, theirs = socket.socketpair()

    def open_descriptors() -> bytes:
        return b" ".join(str(number).encode() for number in range(256) if _is_open(number))

    assert len((await Apart()(open_descriptors)).split()) == 1
    ours.close()
    theirs.close()


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


async def test_a_lock_that_another_thread_holds_does_not_hold_it_up() -> None:
    lock, release = threading.Lock(), threading.Event()

    def hold() -> None:
        with lock:
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert await Apart()(lambda: b"done") == b"done"
    finally:
        release.set()
        thread.join()


async def test_one_that_is_not_waited_for_any_more_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[int] = []
    fork = os.fork

    def remembered() -> int:
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", remembered)

    def endless() -> bytes:
        while True:
            pass

    with trio.move_on_after(0.05) as scope:
        await Apart()(endless)
    assert scope.cancelled_caught
    (child,) = children
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)  # noqa: ASYNC222 - it does not wait
