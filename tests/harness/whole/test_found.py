"""Schedules that once broke a promise of whole brokers and clients, or were misjudged; none is any more."""

import pytest

from harness.whole.outcomes import of_seed
from ordering.pairwise import Pairwise

FOUND = {
    "a client that confirms too rarely for a small limit is sent nothing more": ("hostile", 1_001_104),
    "positions begin anew behind a gap that does not say so": ("crash", 1_200_025),
    "rest does not wait for a broker that is about to end": ("crash", 1_200_339),
    "a call that is published again is replayed where its time stands": ("crash", 1_200_450),
    "a replay ends with a gap when a neighbour is lost that had to answer": ("loss", 3_000_302),
    "what a resumed client has received is kept, and charged to nobody": ("churn", 7_000_011),
    "renewals on slow disks leave no moment of rest, and last for none": ("restart", 9_000_452),
    "a queue that is made again keeps what came behind a gap": ("churn", 57),
    "what is dropped is not the gap behind it": ("churn", 40),
    "an event counts as missing only if its publisher knew under which id it came": ("crash", 20_345),
    "the name of an earlier run is known for longer where links are broken": ("crash", 70_134),
    "a client that is lost while its broker shuts down publishes again behind a gap": ("crash", 301_003),
    "a program that did not read a gap leaves it to nobody": ("crash", 302_297),
    "a publisher that came and went while trees were apart leaves no gap": ("crash", 401_514),
    "credit on its way to a client is not lost": ("hostile", 1_035_417),
    "a publisher that was away when the trees became one leaves no gap": ("churn", 40_658),
    "pongs cost next to nothing, so a slow broker gets through them": ("none", 801_139),
    "room is made when every queue has what was emitted to it": ("hostile", 5071),
    "a durable subscription that nobody reads may wait with its replay": ("hostile", 1_000_960),
    "two processes of one name do not read one subscription at two brokers": ("loss", 149),
    "a call that was published again elsewhere may come again where its client returns": ("roam", 40_261),
    "credit that was due before the broker had answered is given then": ("crash", 40_273),
    "what a lost connection asked for late takes nothing from a newer one": ("roam", 3_000_283),
    "the name of an earlier run of a child may be taken for a while": ("roam", 4_001_019),
    "what is published again after too long an absence leaves no gap": ("roam", 3_000_568),
    "a greeting over a line that is too slow is repeated": ("roam", 3_000_513),
    "a greeting that comes in pieces over a slow line is repeated": ("roam", 6_039_936),
    "a subscription that went on at another broker is another one": ("loss", 1_200_261),
}

FOUND_WITH_ALL_DRAWN = {
    "what a lost connection follows late is overlooked": ("churn", 7069),
    "what an older connection asks for late takes nothing, also before it is known to be lost": (
        "loss",
        76_002_571,
    ),
    "the replay of a durable subscription that nobody reads waits as long as that": ("hostile", 73_029_985),
    "what another process reads does not begin anew where nobody reads it": ("loss", 72_026_128),
    "rest waits for what is on offer to come over a slow line": ("loss", 72_012_890),
    "rest waits for a broker that does not know yet that a client has gone": ("move", 164_000_048),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_once_is_not_found_again(what: str) -> None:
    faults, seed = FOUND[what]
    assert of_seed(seed, faults, (2, 6), Pairwise, nested=False, watches=False).faults == ()


@pytest.mark.parametrize("what", FOUND_WITH_ALL_DRAWN)
def test_what_was_found_with_watches_is_not_found_again(what: str) -> None:
    faults, seed = FOUND_WITH_ALL_DRAWN[what]
    assert of_seed(seed, faults, (2, 6), Pairwise).faults == ()
