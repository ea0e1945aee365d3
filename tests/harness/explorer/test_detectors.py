"""Two detectors with different filters agree under pairwise, and not under fifo."""

from harness.explorer.detectors import DetectorPair, comparisons
from harness.simulator.outcome import of_seed
from ordering.plugins import load

SEEDS = range(40, 70)


def compared(ordering: str) -> dict[int, list[DetectorPair]]:
    return {seed: list(comparisons(of_seed(seed, "none", (2, 6), load(ordering)))) for seed in SEEDS}


def test_two_detectors_with_different_filters_agree_under_pairwise() -> None:
    found = [each for some in compared("pairwise").values() for each in some]
    assert all(each.agrees for each in found)
    assert sum(len(each.found[0]) > 0 for each in found) > 10


def test_under_fifo_there_is_a_schedule_in_which_they_do_not() -> None:
    differing = {
        seed: [str(each) for each in some if not each.agrees] for seed, some in compared("fifo").items()
    }
    assert differing[46][0] == (
        "kind == 'b' as one then kind == 'c' as other within 1s: S1 finds [(6, 2), (7, 2)], S2 finds []"
    )
