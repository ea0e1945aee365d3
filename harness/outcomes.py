"""Runs the harness's programs, and ends them: one line for an error that a user can act on.

Nurseries wrap what they raise into groups, which a command line shows as a traceback over several screens.
`run` unwraps what is no defect: a process that failed, an interrupt.
"""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import click
import trio

from broker import ConcordError
from broker.exception_groups import leaves
from harness.processes import ProcessError

_Given = TypeVarTuple("_Given")
_Result = TypeVar("_Result")


async def _interrupt(signals: AsyncIterator[int]) -> None:
    async for _ in signals:
        raise KeyboardInterrupt


async def _attended(function: Callable[[*_Given], Awaitable[_Result]], *arguments: *_Given) -> _Result:
    """Let SIGTERM end a program as Ctrl-C does: with everything it has started."""
    with trio.open_signal_receiver(signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_interrupt, signals)
            result = await function(*arguments)
            nursery.cancel_scope.cancel()
    return result


def run(function: Callable[[*_Given], Awaitable[_Result]], *arguments: *_Given) -> _Result:
    """Run a Trio program to its end.

    Raises:
        click.ClickException: a broker, worker or client could not do its part; says which and why.
        click.Abort: the user interrupted the program.
    """
    try:
        return trio.run(_attended, function, *arguments)
    except BaseException as error:
        causes = list(leaves(error))
        if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
            raise click.Abort from error
        if all(isinstance(cause, ProcessError | ConcordError) for cause in causes):
            raise click.ClickException(str(causes[0])) from error
        raise
