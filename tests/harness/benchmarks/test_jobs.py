from pathlib import Path

import pytest

from harness.benchmarks.jobs import opened


def test_what_one_process_counts_another_reads(tmp_path: Path) -> None:
    with opened(tmp_path / "board", 2, 3) as here, opened(tmp_path / "board", 2, 3) as there:
        here.published[1] = 7
        there.delivered[2] = 5
        assert list(there.published) == [0, 7]
        assert list(here.delivered) == [0, 0, 5]


@pytest.mark.parametrize(("delivered", "backlog"), [((0, 0), 10), ((10, 4), 6), ((10, 10), 0)])
def test_the_backlog_is_that_of_the_slowest_subscriber(
    tmp_path: Path, delivered: tuple[int, int], backlog: int
) -> None:
    with opened(tmp_path / "board", 2, 2) as board:
        board.published[0], board.published[1] = 3, 7
        board.delivered[0], board.delivered[1] = delivered
        assert board.backlog() == backlog
