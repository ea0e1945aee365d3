"""A journal whose directory is moved or deleted ends with an error before it confirms anything more."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from broker.journal import Journal, JournalError, open_journal
from broker.journal import journal as module
from broker.journal.files import SystemFiles
from broker.journal.identity import LOCK
from broker.journal.opening import SEGMENT_BYTES_MIN
from broker.journal.recovery import MARK


@pytest.fixture(autouse=True)
def _looks_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECK_S", 0.0)


def journal_in(path: Path) -> Journal:
    journal = open_journal(path, "B1")
    journal.append(b"1")
    journal.flush()
    return journal


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def exchanged(path: Path) -> None:
    moved(path)
    path.mkdir()


def hidden(path: Path) -> None:
    moved(path)
    path.write_text("a file")


def deleted(path: Path) -> None:
    shutil.rmtree(path)


def emptied(path: Path) -> None:
    for each in path.iterdir():
        each.unlink()


def without_mark(path: Path) -> None:
    (path / MARK).unlink()


@pytest.mark.parametrize(
    ("displace", "what"),
    [
        (moved, "was moved or deleted while"),
        (exchanged, "was moved or deleted, and another is in its place"),
        (hidden, "was moved or deleted"),
        (deleted, "was deleted"),
        (emptied, "files in it were deleted"),
        (without_mark, "files in it were deleted"),
    ],
)
def test_nothing_is_confirmed_after_the_directory_is_gone(
    tmp_path: Path, displace: Callable[[Path], None], what: str
) -> None:
    path = tmp_path / "B1"
    journal = journal_in(path)
    displace(path)
    journal.append(b"2")
    for _ in range(2):
        with pytest.raises(JournalError, match=what) as raised:
            journal.flush()
        assert raised.value.path == str(path)
        assert "put it back" in str(raised.value)
    assert journal.synced == 1
    journal.close()


def test_a_snapshot_looks_too_and_removes_nothing_then(tmp_path: Path) -> None:
    path = tmp_path / "B1"
    journal = journal_in(path)
    moved(path)
    with pytest.raises(JournalError, match="was moved or deleted"):
        journal.snapshot(b"all", 1)
    with pytest.raises(JournalError, match="was moved or deleted"):
        journal.make_room()
    journal.close()


@pytest.mark.parametrize("displace", [moved, deleted])
def test_a_later_error_is_reported_with_its_cause(tmp_path: Path, displace: Callable[[Path], None]) -> None:
    path = tmp_path / "B1"
    journal = journal_in(path)
    displace(path)
    with pytest.raises(JournalError, match=r"was (moved or )?deleted"):
        journal.check()
    journal.close()


def test_a_segment_is_begun_only_where_it_will_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECK_S", 10.0**6)
    path = tmp_path / "B1"
    journal = journal_in(path)
    assert journal.make_room()
    moved(path)
    journal.append(b"2")
    journal.flush()
    while journal.room_bytes > SEGMENT_BYTES_MIN:
        journal.append(bytes(SEGMENT_BYTES_MIN))
        try:
            journal.flush()
        except JournalError:
            break
    else:
        pytest.fail("no segment was begun")
    journal.close()


def test_what_is_moved_and_put_back_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "B1"
    journal = journal_in(path)
    moved(path)
    path.with_name("elsewhere").rename(path)
    journal.append(b"2")
    journal.flush()
    journal.close()


def test_two_brokers_of_one_name_never_both_go_on(tmp_path: Path) -> None:
    path = tmp_path / "B1"
    first = journal_in(path)
    moved(path)
    second = journal_in(path)
    first.append(b"2")
    with pytest.raises(JournalError, match="another is in its place"):
        first.flush()
    second.append(b"2")
    second.flush()
    first.close()
    second.close()


def test_a_directory_stays_locked_when_the_file_that_says_so_is_deleted(tmp_path: Path) -> None:
    first = journal_in(tmp_path)
    (tmp_path / LOCK).unlink()
    with pytest.raises(JournalError, match="another process uses this journal: stop it first"):
        open_journal(tmp_path, "B1")
    first.close()
    open_journal(tmp_path, "B1").close()


def test_a_directory_that_is_exchanged_while_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "B1"
    of = SystemFiles.of.__func__  # type: ignore[attr-defined]  # a class method

    def slow(cls: type[SystemFiles], path: Path) -> SystemFiles:
        files: SystemFiles = of(cls, path)
        exchanged(path)
        return files

    path.mkdir()
    monkeypatch.setattr(SystemFiles, "of", classmethod(slow))
    with pytest.raises(JournalError, match="was exchanged for another directory"):
        open_journal(path, "B1")
