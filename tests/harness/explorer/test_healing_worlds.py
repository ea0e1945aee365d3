"""Small overlays heal in every interleaving, and would not if a law were broken."""

import pytest

from harness.explorer.healing_worlds import Loss, explore, losses
from harness.explorer.mutants import applied

ROOT_LOST = Loss((("B1", "B3"), ("B2", "B3"), ("B3", "")), ("B3",), is_configured=True, steps=3)
TWO_LOST = Loss((("B1", "B3"), ("B2", "B4"), ("B3", "B4"), ("B4", "")), ("B3", "B4"), is_configured=True)


def test_there_is_a_world_for_every_tree_and_loss() -> None:
    assert len(set(losses(3, 2))) == 9 * 3 * 2
    assert len(set(losses(4, 2))) == 64 * (4 + 6) * 2


@pytest.mark.parametrize("loss", [ROOT_LOST, TWO_LOST], ids=str)
def test_a_lost_root_leaves_one_tree_whatever_happens_when(loss: Loss) -> None:
    tally = explore(loss)
    assert tally.faults == ()
    assert tally.states > tally.rests > 5


@pytest.mark.parametrize(("mutant", "loss"), [("only-up", ROOT_LOST), ("only-fellows", TWO_LOST)])
def test_a_broken_law_is_found(mutant: str, loss: Loss) -> None:
    with applied(mutant):
        (fault,) = explore(loss).faults
    assert "do not become one tree" in fault
