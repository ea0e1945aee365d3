"""How the whole suite is run: which examples Hypothesis looks at, which tests never run side by side, and who
gives way to whom.

`make test` looks at the same examples every time and on every machine, so that it fails because of what was
changed and not because of what was drawn or how busy the machine is. `make search` draws others each time.
"""

import os
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.timeouts import (
    pytest_configure,
    pytest_runtest_call,
    pytest_runtest_setup,
    pytest_runtest_teardown,
    pytest_timeout_cancel_timer,
    pytest_timeout_set_timer,
)

__all__ = [
    "TakingTurns",
    "pytest_configure",
    "pytest_runtest_call",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "pytest_timeout_cancel_timer",
    "pytest_timeout_set_timer",
    "pytest_xdist_make_scheduler",
]

ONE_BY_ONE: Final = tuple(
    f"tests/{place}"
    for place in (
        "broker/client/test_javascript.py",
        "broker/client/test_real_broker.py",
        "broker/commands",
        "broker/history/test_component.py",
        "broker/journal/test_real_broker.py",
        "broker/node/test_weaknesses.py",
        "broker/server",
        "concord/test_testing.py",
        "concord/test_wheel.py",
        "examples",
        "harness/benchmarks",
        "harness/commands/test_running.py",
        "harness/report",
        "harness/runs",
        "harness/test_attacks.py",
        "harness/test_leash.py",
        "harness/test_overlay.py",
        "harness/test_processes.py",
        "test_readme.py",
        "test_site.py",
        "test_snippets.py",
        "test_tried.py",
    )
)
"""Tests that start processes and browsers, or wait for sockets. They take turns in one worker, as each needs
much of the machine; what only computes shares the other workers."""

WITH_SPARK: Final = (
    "tests/broker/spark",
    "tests/harness/analysis",
    "tests/harness/peers",
    "tests/harness/watch",
    "tests/test_timeouts.py",
)
"""Tests that mostly wait, for Spark or for a time that has to pass. They take turns with each other, beside
all others."""

settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    deadline=None,
    # It measures the machine, and a busy one is no error.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("steady")


MACHINE: Final = "machine"
SPARK: Final = "spark"

NICENESS: Final = 10


def _scope_of(nodeid: str) -> str:
    if nodeid.startswith(WITH_SPARK):
        return SPARK
    return MACHINE if nodeid.startswith(ONE_BY_ONE) else nodeid


class TakingTurns(LoadScopeScheduling):  # type: ignore[misc]  # its module has no types
    """What has the same scope goes to the same worker; a test that only computes is a scope of its own."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope_of(nodeid)


# The mark `xdist_group` works by renaming tests, which pytest 9.2 does not let it do: it is ignored there.
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> TakingTurns:
    return TakingTurns(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Let a worker give way to the one that takes turns with the machine: that one is the last to be done.

    It is given all of those at once, before anything else, so no other worker ever has to be that fast.
    """
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    if is_worker and _scope_of(item.nodeid) != MACHINE and os.nice(0) < NICENESS:
        os.nice(NICENESS)
