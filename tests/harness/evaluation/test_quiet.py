from pathlib import Path

import pytest

from harness.evaluation.quiet import Moment, others, read, watched


def test_what_is_not_our_own_is_the_others() -> None:
    before, after = Moment(100.0, 1_000.0, 5.0), Moment(110.0, 1_016.0, 17.0)
    assert others(before, after, 2) == pytest.approx(0.2)


def test_counts_that_are_a_little_off_are_no_part_below_nothing_and_none_above_all() -> None:
    start = Moment(0.0, 0.0, 0.0)
    assert others(start, Moment(1.0, 1.0, 1.02), 2) == 0
    assert others(start, Moment(1.0, 2.5, 0.0), 2) == 1


def test_a_run_is_told_with_what_others_took_and_an_unfinished_one_is_not(tmp_path: Path) -> None:
    for name in ("pairwise", ".fifo"):
        run = tmp_path / "quick" / name
        run.mkdir(parents=True)
        with watched(run):
            pass
    assert all(0 <= part <= 1 for part in read(tmp_path))
    assert len(read(tmp_path)) == (1 if Moment.now() else 0)
