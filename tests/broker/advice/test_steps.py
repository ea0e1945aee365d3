"""The steps from one tree to another: each is allowed when it is taken, and together they lead there."""

from random import Random

import pytest

from broker.advice import AdvisedStep, steps_to


def tree(random: Random, root: str) -> dict[str, str]:
    names = [f"B{number}" for number in range(1, 8)]
    names.remove(root)
    random.shuffle(names)
    placed = [root]
    uplinks = {root: ""}
    for name in names:
        uplinks[name] = random.choice(placed)
        placed.append(name)
    return uplinks


def take(step: AdvisedStep, uplinks: dict[str, str]) -> None:
    """Take a step as brokers do, and refuse what they refuse."""
    if step.verb == "drain":
        (heir,) = [name for name, uplink in uplinks.items() if uplink == step.broker]
        assert uplinks.pop(step.broker) == ""
        uplinks[heir] = ""
        return
    above = step.uplink
    while above:
        assert above != step.broker, f"{step.uplink} is below {step.broker}"
        above = uplinks[above]
    assert (step.broker in uplinks) is (step.verb == "move")
    assert uplinks.get(step.broker) != "", "a root does not move"
    uplinks[step.broker] = step.uplink


@pytest.mark.parametrize("roots", [("B1", "B1"), ("B1", "B5")])
def test_every_step_is_allowed_and_the_last_one_ends_in_the_tree(roots: tuple[str, str]) -> None:
    random = Random(1)
    for _ in range(100):
        before, after = (tree(random, root) for root in roots)
        uplinks = dict(before)
        for step in steps_to(before, after):
            take(step, uplinks)
        assert uplinks == after


def test_a_broker_that_is_where_it_is_to_be_does_not_move() -> None:
    before = {"B1": "", "B2": "B1", "B3": "B2"}
    assert steps_to(before, before) == []
    assert steps_to(before, {**before, "B3": "B1"}) == [AdvisedStep("move", "B3", "B1")]
