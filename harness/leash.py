"""Runs a module as a program, and ends it when its starter is gone, however that happened.

A killed program closes its pipes and nothing else. So a second process, forked here, reads from the
standard input until it ends and then terminates the first, which has become the program: its number is the
one that the starter knows, and its standard input is empty.

Run as `python -m harness.leash MODULE ARGUMENTS`.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Final, NoReturn

_STANDARD_INPUT: Final = 0
_STANDARD_OUTPUTS: Final = (1, 2)
_CHUNK_BYTES: Final = 64


def _watch(program: int) -> NoReturn:
    """Wait for the end of the input, and end the program if it is still there."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for output in _STANDARD_OUTPUTS:
        os.close(output)
    while os.read(_STANDARD_INPUT, _CHUNK_BYTES):
        pass
    # The parent of an orphan is another process, and its old parent's number may be a stranger's by now.
    if os.getppid() == program:
        with suppress(ProcessLookupError):
            os.kill(program, signal.SIGTERM)
    os._exit(0)


def main() -> NoReturn:
    """Become the program named on the command line, with a watcher beside it."""
    program = os.getpid()
    if os.fork() == 0:
        _watch(program)
    os.dup2(os.open(os.devnull, os.O_RDONLY), _STANDARD_INPUT)
    os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])  # noqa: S606 - what our own caller names


if __name__ == "__main__":
    main()
