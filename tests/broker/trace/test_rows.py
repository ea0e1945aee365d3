"""Rows become files that are whole as soon as they have their name."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from broker.trace import FLOAT, TEXT, TRUTH, WHOLE, RowFiles, rows

FIRST_FILE = """
import sys
from pathlib import Path
from broker.trace import WHOLE, RowFiles, prepare

assert "pyarrow" not in sys.modules
prepare()
loaded = set(sys.modules)
written = RowFiles(Path(sys.argv[1]), "me", {"b": WHOLE})
written.append(1)
written.flush()
assert set(sys.modules) == loaded, set(sys.modules) - loaded
"""

COLUMNS = {"a": TEXT, "b": WHOLE, "c": FLOAT, "d": TRUTH}


def test_every_flush_is_a_file_of_its_own(tmp_path: Path) -> None:
    written = RowFiles(tmp_path / "things", "me", COLUMNS)
    for number in range(3):
        written.append("x", number, 0.5, True)
        written.flush()
    written.flush()
    names = sorted(path.name for path in (tmp_path / "things").iterdir())
    assert names == ["me-000001.parquet", "me-000002.parquet", "me-000003.parquet"]
    assert pq.read_table(tmp_path / "things").to_pylist()[2] == {"a": "x", "b": 2, "c": 0.5, "d": True}
    assert written.count == 3


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "ROWS_MAX", 10)
    written = RowFiles(tmp_path, "me", {"b": WHOLE})
    for number in range(25):
        written.append(number)
    assert len(list(tmp_path.iterdir())) == 2
    pending = written.take()
    assert pending is not None
    assert len(pending.rows) == 5


def test_a_wrong_type_is_noticed(tmp_path: Path) -> None:
    written = RowFiles(tmp_path, "me", {"b": WHOLE})
    written.append("text")
    with pytest.raises(Exception, match="int"):
        written.flush()


def test_once_prepared_the_first_file_loads_nothing_more(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FIRST_FILE, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - the interpreter of this test
    assert done.returncode == 0, done.stderr
