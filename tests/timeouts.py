"""How a test that hangs is ended, so that it is red, says where it hung, and the rest of the run goes on.

An exception that a signal raises in the middle of Trio's loop leaves the loop half alive: every later test of
the process would fail too. So, when the time of a test is over:

1. Where a Trio run is under way, its tasks and their stacks are recorded, and the run is cancelled. It
   ends as any run does: nurseries are left, processes end. Then the test fails with that record.
2. Anywhere else the test fails on the spot.
3. A run that does not end by being cancelled (a shield, a loop without a checkpoint) fails on the spot after
   `GRACE_S` if one of its tasks is running. If none is, or nothing in Python runs at all, the process ends
   with the stacks of its threads: xdist starts another worker and goes on.
"""

import faulthandler
import os
import signal
import threading
import traceback
from collections.abc import Generator, Iterator
from types import FrameType
from typing import Final, Protocol

import pytest
import pytest_timeout
import trio

__all__ = [
    "pytest_configure",
    "pytest_runtest_call",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "pytest_timeout_cancel_timer",
    "pytest_timeout_set_timer",
]

GRACE_S: float = 10
"""For what a cancelled run still does: brokers that shut down in order take five seconds."""

TASKS_MAX: Final = 60
FRAMES_MAX: Final = 12
"""Of each task, the innermost."""

_EXPIRED: Final = pytest.StashKey[str]()
_ERROR_OUTPUT: Final = pytest.StashKey[int]()
"""Standard error as it is while pytest captures nothing."""


class OverdueError(BaseException):
    """The time of a test is over. This is no `Exception`: Hypothesis would look for a smaller example."""


class Settings(Protocol):
    """What pytest-timeout has read from marks and options."""

    timeout: float
    method: str
    disable_debugger_detection: bool


def pytest_configure(config: pytest.Config) -> None:
    """Keep standard error."""
    config.stash[_ERROR_OUTPUT] = os.dup(2)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> bool | None:
    """Begin to measure the time of a test, unless signals cannot be used, or another way is asked for."""
    if settings.method != "signal" or threading.current_thread() is not threading.main_thread():
        return None
    signal.signal(signal.SIGALRM, lambda _, frame: _expire(item, settings, frame))
    _begin(item, settings.timeout)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool | None:
    """Stop measuring."""
    del item
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()
    return None


def _begin(item: pytest.Item, seconds: float) -> None:
    """Let the alarm ring after so many seconds, and end the process if nobody heeds it."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(seconds + GRACE_S, exit=True, file=item.config.stash[_ERROR_OUTPUT])


def _expire(item: pytest.Item, settings: Settings, frame: FrameType | None) -> None:
    __tracebackhide__ = True
    if not settings.disable_debugger_detection and pytest_timeout.is_debugging():
        return
    reason = f"Timeout: {item.nodeid} took longer than {settings.timeout:g} s"
    is_in_trio = trio.lowlevel.in_trio_run()
    if is_in_trio and _EXPIRED not in item.stash:
        item.stash[_EXPIRED] = "\n".join([f"{reason}. Its Trio tasks:", *_tasks()])
        _cancel_run()
        _begin(item, GRACE_S)
    elif not is_in_trio or trio.lowlevel.in_trio_task():
        # On the spot: in a task, or where no Trio runs. What is caught there is known all the same.
        stack = "".join(traceback.format_stack(frame)[-FRAMES_MAX:])
        item.stash[_EXPIRED] = item.stash.get(_EXPIRED, f"{reason}. Its stack:\n{stack}")
        raise OverdueError(reason)
    else:
        # The run is cancelled and waits for ever, shielded. The process ends in a moment; this is its report.
        os.write(item.config.stash[_ERROR_OUTPUT], item.stash[_EXPIRED].encode())


def _cancel_run() -> None:
    root = trio.lowlevel.current_root_task()
    assert root is not None
    *_, nursery_of_main = root.child_nurseries
    trio.lowlevel.current_trio_token().run_sync_soon(nursery_of_main.cancel_scope.cancel)


def _tasks() -> Iterator[str]:
    """The tasks of the Trio run, each below its parent, with their stacks."""
    root = trio.lowlevel.current_root_task()
    assert root is not None
    waiting = [(0, task) for nursery in root.child_nurseries[-1:] for task in nursery.child_tasks]
    for _ in range(TASKS_MAX):
        if not waiting:
            return
        depth, task = waiting.pop()
        frames = traceback.StackSummary.extract(task.iter_await_frames())[-FRAMES_MAX:]
        lines = "".join(traceback.format_list(frames)).splitlines()
        yield from (f"{'  ' * depth}{line}" for line in (task.name, *lines))
        waiting += [(depth + 1, child) for nursery in task.child_nurseries for child in nursery.child_tasks]
    yield f"and more than these {TASKS_MAX} tasks"


def _judged(item: pytest.Item) -> Generator[None, object, object]:
    """Let a phase of a test fail if its time was over meanwhile, however it ended."""
    result: object = None
    error: BaseException | None = None
    try:
        result = yield
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # noqa: BLE001 - raised again below, or explained
        error = raised
    if (text := item.stash.get(_EXPIRED, None)) is not None:
        del item.stash[_EXPIRED]
        raise pytest.fail.Exception(text, pytrace=False) from None
    if error is not None:
        raise error
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Fail if the time is over."""
    return (yield from _judged(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail if the time is over."""
    return (yield from _judged(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail if the time is over."""
    return (yield from _judged(item))
