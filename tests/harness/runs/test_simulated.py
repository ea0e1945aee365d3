"""A scenario in the simulator: the same faults, judged at once, and a schedule to keep."""

from pathlib import Path

import pytest

from harness.faults import FaultError
from harness.runs.simulated import simulate
from harness.scenarios import Scenario, ScenarioError, from_content
from harness.whole.scenario import perform
from ordering import plugins

FAULTS = ["restart core-1 at 300ms after 200ms", "cut link edge-3 at 500ms for 100ms"]


def scenario(**changes: object) -> Scenario:
    content = {
        "duration_s": 1,
        "overlay": {"cores": 2, "edges_per_core": 2},
        "publishers": {"count": 4, "rate": "random", "per_second": 20},
        "subscribers": {"count": 4},
        **changes,
    }
    return from_content("x", content, "x").first


@pytest.mark.parametrize("journal", [False, True])
def test_every_promise_is_kept_through_faults(tmp_path: Path, *, journal: bool) -> None:
    found = simulate(scenario(faults=FAULTS, journal=journal), "pairwise", tmp_path)
    assert found.violations == ()
    assert found.faults == 2
    assert found.publications > 40
    assert found.deliveries > 100


def test_what_order_prevents_is_found_without_it(tmp_path: Path) -> None:
    found = simulate(scenario(), "fifo", tmp_path)
    assert {kind for kind, _ in found.violations} == {"pairwise"}


def test_the_same_seed_gives_the_same_schedule_and_the_schedule_can_be_performed_again(
    tmp_path: Path,
) -> None:
    schedules = [
        simulate(scenario(faults=FAULTS), "pairwise", tmp_path).schedule.read_text() for _ in range(2)
    ]
    assert schedules[0] == schedules[1]
    again = perform(schedules[0] + "rest\n", plugins.load("pairwise"))
    assert again.endswith("= every promise was kept\n")


@pytest.mark.parametrize(
    ("changes", "error", "complaint"),
    [
        (
            {"faults": ["pause core-1 at 1s"]},
            FaultError,
            "the simulator knows crash, restart, kill, cut link",
        ),
        ({"filters": {"kind": "market"}}, ScenarioError, "the simulator takes"),
    ],
)
def test_what_has_no_meaning_there_is_refused(
    tmp_path: Path, changes: dict[str, object], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        simulate(scenario(**changes), "pairwise", tmp_path)
