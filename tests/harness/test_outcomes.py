import os
import signal

import click
import pytest
import trio

from harness import outcomes
from harness.processes import ProcessError, ServerProcess, start_server


async def fail(*errors: BaseException) -> None:
    async with trio.open_nursery():
        raise BaseExceptionGroup("all at once", list(errors))


def test_what_a_program_returns_is_returned() -> None:
    async def add(left: int, right: int) -> int:
        await trio.lowlevel.checkpoint()
        return left + right

    assert outcomes.run(add, 1, 2) == 3


def test_a_failed_process_is_reported_in_one_line() -> None:
    with pytest.raises(click.ClickException, match="broker B1 ended too early"):
        outcomes.run(fail, ProcessError("broker B1 ended too early"))


def test_an_interrupt_counts_more_than_what_it_broke() -> None:
    with pytest.raises(click.Abort):
        outcomes.run(fail, ProcessError("a worker ended"), KeyboardInterrupt())


def test_a_defect_is_seen_whole() -> None:
    with pytest.RaisesGroup(ProcessError, LookupError, flatten_subgroups=True):
        outcomes.run(fail, ProcessError("a worker ended"), LookupError("defect"))


def test_a_terminated_program_ends_what_it_has_started() -> None:
    started: list[ServerProcess] = []

    async def terminate() -> None:
        async with trio.open_nursery() as nursery:
            started.append(await start_server(nursery, "relay", "harness.benchmarks.relay", []))
            os.kill(os.getpid(), signal.SIGTERM)
            await trio.sleep_forever()

    with pytest.raises(click.Abort):
        outcomes.run(terminate)
    assert started[0].program.process.returncode is not None
