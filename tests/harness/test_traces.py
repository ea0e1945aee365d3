"""Many small files become few, and nothing is lost or there twice."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.trace import counters, rows
from harness import datasets, traces
from harness.traces import FAULTS, merge


@given(st.lists(st.integers(0, 5), max_size=8))
@settings(deadline=None, max_examples=20)
def test_all_rows_are_there_once_in_one_file(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    run = tmp_path_factory.mktemp("run")
    written = []
    for part, size in enumerate(sizes):
        rows = FAULTS.writer(run, f"part-{part}")
        for number in range(size):
            rows.append(number, "kill", f"core-{part}", "")
            written.append((number, "kill", f"core-{part}", ""))
        rows.flush()
    assert merge(FAULTS, run) == len(written)
    assert [path.name for path in FAULTS.folder(run).iterdir()] == ["part-0.parquet"]
    table = pq.read_table(FAULTS.folder(run))
    assert table.column_names == ["at_ns", "kind", "target", "detail"]
    assert [tuple(row.values()) for row in table.to_pylist()] == written


def test_a_large_dataset_stays_in_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "GROUP_ROWS", 10)
    monkeypatch.setattr(traces, "FILE_ROWS", 20)
    for part in range(9):
        rows = FAULTS.writer(tmp_path, f"part-{part}")
        for number in range(5):
            rows.append(number, "kill", "core-1", "")
        rows.flush()
    assert merge(FAULTS, tmp_path) == 45
    assert len(list(FAULTS.folder(tmp_path).iterdir())) == 3


def test_rows_that_were_merged_can_be_merged_again_with_new_ones(tmp_path: Path) -> None:
    for at_ns in (1, 2):
        rows = FAULTS.writer(tmp_path, f"run-{at_ns}")
        rows.append(at_ns, "kill", "core-1", "")
        rows.flush()
        assert merge(FAULTS, tmp_path) == at_ns


def test_brokers_write_the_columns_that_the_analysis_reads() -> None:
    assert datasets.RUN[counters.FOLDER] == counters.COLUMNS
    assert (datasets.TEXT, datasets.WHOLE) == (rows.TEXT, rows.WHOLE)
    assert (datasets.FLOAT, datasets.TRUTH) == (rows.FLOAT, rows.TRUTH)


def test_what_a_killed_writer_has_left_unfinished_is_left_alone(tmp_path: Path) -> None:
    writer = FAULTS.writer(tmp_path, "part")
    writer.append(1, "kill", "B1", "")
    writer.flush()
    unfinished = FAULTS.folder(tmp_path) / ".other-000001.parquet"
    unfinished.write_bytes(b"PAR1")
    assert merge(FAULTS, tmp_path) == 1
    assert unfinished.exists()
