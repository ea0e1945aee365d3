"""The signals that ask a program which serves to end in good order: SIGTERM, SIGINT, and SIGHUP.

A closed terminal sends SIGHUP, from the shell and from the system both: it asks once, and never for a hurry.
Under `nohup` SIGHUP is ignored, and stays so.
"""

import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

__all__ = ["asking_to_end"]

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
