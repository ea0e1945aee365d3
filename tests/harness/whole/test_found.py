"""Schedules that once broke a promise of whole brokers and clients; none does any more."""

import pytest

from harness.whole.outcomes import of_seed
from ordering.pairwise import Pairwise

FOUND = {
    "a client that confirms too rarely for a small limit is sent nothing more": ("hostile", 1_001_104),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_once_is_not_found_again(what: str) -> None:
    faults, seed = FOUND[what]
    assert of_seed(seed, faults, (2, 6), Pairwise).faults == ()
