"""Running a command until it is done or interrupted.

Ctrl-C reaches a program between any two of its steps, also where Python cannot raise anything and only says
so. Here it cancels the command, which then leaves its broker in good order. A second one ends the process.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final

import trio

__all__ = ["run_until_interrupted"]

STATUS_INTERRUPTED: Final = 130


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
