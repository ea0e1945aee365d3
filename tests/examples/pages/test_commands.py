import signal
import subprocess
import sys

import pytest

from tests.examples.pages.conftest import running


def processes() -> dict[int, int]:
    """Every process that is not over, and its parent."""
    listed = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {int(pid): int(parent) for pid, parent, state in rows if not state.startswith("Z")}


def descendants(pid: int) -> set[int]:
    parents, found = processes(), {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_ends_with_all_it_has_started(number: int) -> None:
    with running("game", "--players", "4") as demo:
        started = descendants(demo.process.pid)
        assert len(started) >= 6
        assert demo.end(number) == 0
    # What watches over a broker sees its end a moment later. If it does not, the test's time runs out.
    while started & processes().keys():
        continue


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with running("ticker") as demo:
        port = demo.address.rstrip("/").rpartition(":")[2]
        second = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "broker", "demo", "ticker", "--port", port],
            capture_output=True,
            text=True,
            check=False,
        )
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert f"--port {port}" in second.stderr
