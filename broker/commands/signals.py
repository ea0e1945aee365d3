"""The signals that ask a program to end in good order.

One that serves heeds SIGTERM, SIGINT and SIGHUP. A closed terminal sends SIGHUP, from the shell and from the
system both: it asks once, and never for a hurry. Under `nohup` SIGHUP is ignored, and stays so.

One that works until it is done heeds Ctrl-C, which reaches a program between any two of its steps, also where
Python cannot raise anything and only says so. Here it cancels the work, which then leaves its broker in good
order. A second one ends the process.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

STATUS_INTERRUPTED: Final = 130

_HANGUP: Final[int | None] = getattr(signal, "SIGHUP", None)


@contextmanager
def asking_to_end() -> Iterator[Callable[[], Awaitable[None]]]:
    """Give a function that waits until a signal asks for the end; called again, for the next signal."""
    has_asked = False
    with trio.open_signal_receiver(*_heeded()) as signals:

        async def asked() -> None:
            nonlocal has_asked
            async for number in signals:
                if number != _HANGUP or not has_asked:
                    has_asked = True
                    return

        yield asked


def _heeded() -> list[int]:
    is_ignored = _HANGUP is None or signal.getsignal(_HANGUP) is signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGINT, *([] if _HANGUP is None or is_ignored else [_HANGUP])]


def run_until_interrupted(work: Callable[[], Awaitable[None]]) -> None:
    """Run the work under Trio; raise `KeyboardInterrupt` if it was interrupted."""
    if trio.run(_is_interrupted, work):
        raise KeyboardInterrupt


async def _is_interrupted(work: Callable[[], Awaitable[None]]) -> bool:
    was_interrupted = False

    async def watch() -> None:
        nonlocal was_interrupted
        async for _ in signals:
            if was_interrupted:
                os._exit(STATUS_INTERRUPTED)
            was_interrupted = True
            scope.cancel()

    with trio.open_signal_receiver(signal.SIGINT) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            with trio.CancelScope() as scope:
                await work()
            nursery.cancel_scope.cancel()
    return was_interrupted
