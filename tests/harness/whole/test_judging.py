"""What whole worlds judge is what the pages promise, neither more nor less."""

import pytest

from harness.whole.outcomes import of_seed
from harness.whole.world import WholeWorld
from ordering.pairwise import Pairwise

FORGETFUL = 66
"""A schedule in which a broker forgets what it had taken, and clients publish it again."""

FAR_APART = 505
"""A schedule in which a client reads at one broker, and another one publishes later at a second one."""


def test_calls_that_become_second_events_are_behind_gaps() -> None:
    outcome = of_seed(FORGETFUL, "crash", (2, 6), Pairwise, nested=False, watches=False)
    history = outcome.world.history
    repeated = [
        seen
        for seen in history.subscriptions.values()
        if len({history.publications[each].published_ns for each in seen.stream.delivered})
        < len(seen.stream.delivered)
    ]
    assert repeated
    assert all(seen.stream.gaps for seen in repeated)
    assert outcome.faults == ()


def test_causes_are_of_one_broker_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_seed(FAR_APART, "none", (2, 6), Pairwise, nested=False, watches=False).faults == ()
    monkeypatch.setattr(WholeWorld, "known_at", lambda *_: ("everywhere", 0))
    assert {
        kind for kind, _ in of_seed(FAR_APART, "none", (2, 6), Pairwise, nested=False, watches=False).faults
    } == {"causal"}
