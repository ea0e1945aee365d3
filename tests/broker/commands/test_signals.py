import signal

import trio
from trio.testing import wait_all_tasks_blocked

from broker.commands.signals import asking_to_end


async def test_a_hangup_that_comes_again_asks_for_no_hurry() -> None:
    asked_count = 0
    with asking_to_end() as asked:

        async def count() -> None:
            nonlocal asked_count
            while True:
                await asked()
                asked_count += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(count)
            for number, expected in [
                (signal.SIGHUP, 1),
                (signal.SIGHUP, 1),
                (signal.SIGTERM, 2),
                (signal.SIGINT, 3),
                (signal.SIGHUP, 3),
            ]:
                signal.raise_signal(number)
                await wait_all_tasks_blocked(0.01)
                assert asked_count == expected
            nursery.cancel_scope.cancel()


async def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with asking_to_end():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
