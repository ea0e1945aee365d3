"""What a soak reads out of a run."""

from pathlib import Path

from harness.soak import waits_s
from harness.traces import DELIVERIES, FAULTS


def test_for_each_kill_the_longest_wait_counts(tmp_path: Path) -> None:
    second = 10**9
    faults = FAULTS.writer(tmp_path, "part")
    for at_s, detail in ((10, "SIGKILL, again after 0.5 s"), (11, "started again"), (20, "SIGKILL")):
        faults.append(at_s * second, "kill", "core-1", detail)
    faults.flush()
    deliveries = DELIVERIES.writer(tmp_path, "part")
    for subscriber, times in (("sub-1", (9, 11, 22)), ("sub-2", (13,)), ("sub-2#2", (21,))):
        for position, at_s in enumerate(times):
            deliveries.append(subscriber, "edge-1", position, "pub", position + 1, at_s * second)
    deliveries.flush()
    assert waits_s(tmp_path) == [2.0, 3.0]
