"""Others use up the process's descriptors: the journal goes on with its own, or waits, and never ends."""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from structlog.testing import capture_logs

from broker.journal import Journal, JournalError, descriptors, open_journal
from broker.journal import journal as module
from broker.journal.descriptors import RESERVE, Descriptors
from broker.journal.files import SystemFiles
from broker.journal.identity import identify
from broker.journal.layout import PAGE_BYTES
from broker.journal.opening import opened_in
from harness.journals import Keeper, SimulatedDisk

SEGMENT_BYTES = 8 * PAGE_BYTES
SOME = 24


class Others:
    """Those that have descriptors open, like many connections; whatever is free they take."""

    def __init__(self) -> None:
        self._taken: list[int] = []

    def take_all(self) -> int:
        """Take what is free, and say how many that were."""
        before = len(self._taken)
        while True:
            try:
                self._taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                return len(self._taken) - before

    def let_go(self, count: int) -> None:
        for _ in range(min(count, len(self._taken))):
            os.close(self._taken.pop())


@pytest.fixture
def others() -> Iterator[Others]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [int(each.name) for each in Path("/proc/self/fd").iterdir()]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used) + SOME, hard))
    made = Others()
    try:
        yield made
    finally:
        made.let_go(10**6)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def opened(path: Path) -> Journal:
    """A journal with small segments."""
    files = SystemFiles.of(path)
    return opened_in(files, identify(files, "B1"), SEGMENT_BYTES, unlock=files.close)


def without_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process was always faster."""
    monkeypatch.setattr(descriptors, "RESERVE", 0)


def fill(journal: Journal) -> None:
    """Fill the segment that is written to, so that the next record needs another."""
    while journal.room_bytes >= PAGE_BYTES:
        journal.append(b"x")
        journal.flush()


def test_a_journal_goes_on_when_others_have_every_descriptor(tmp_path: Path, others: Others) -> None:
    journal = opened(tmp_path)
    assert others.take_all() > 0
    for number in range(1, 60):
        journal.append(b"%d" % number)
        journal.flush()
        assert journal.make_room()
        if number % 20 == 0:
            assert journal.snapshot(b"all of it", number)
        assert journal.size_bytes > 0
        others.take_all()
    journal.close()
    others.let_go(SOME)
    again = opened(tmp_path)
    assert again.appended == 59
    assert again.recovered.upto == 40
    assert (tmp_path / "00000000000000000001.segment").exists() is False
    again.close()


def test_a_descriptor_that_is_closed_goes_to_the_reserve_and_to_nobody_else(
    tmp_path: Path, others: Others
) -> None:
    kept = Descriptors.of(os.open(tmp_path, os.O_RDONLY))
    assert len(kept) == RESERVE
    others.take_all()
    file = kept.opening(lambda: os.open(os.devnull, os.O_RDONLY))
    assert len(kept) == RESERVE - 1
    kept.close(file)
    assert len(kept) == RESERVE
    assert others.take_all() == 0
    assert os.fstat(file).st_ino == tmp_path.stat().st_ino
    kept.close_all()
    assert others.take_all() == RESERVE + 1


def test_what_is_closed_when_the_directory_has_been_is_just_closed(tmp_path: Path, others: Others) -> None:
    kept = Descriptors.of(os.open(tmp_path, os.O_RDONLY))
    file = kept.opening(lambda: os.open(os.devnull, os.O_RDONLY))
    kept.close_all()
    others.take_all()
    kept.close(file)
    assert len(kept) == 0
    assert others.take_all() == 1


def test_without_a_descriptor_nothing_is_opened_until_there_is_one(
    tmp_path: Path, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_reserve(monkeypatch)
    journal = opened(tmp_path)
    others.take_all()
    with capture_logs() as logs:
        assert [journal.make_room() for _ in range(3)] == [False] * 3
        fill(journal)
        full = [journal.is_full]
        assert not journal.snapshot(b"all", journal.synced)
        assert journal.size_bytes > 0
        others.let_go(3)
        assert journal.make_room()
    full.append(journal.is_full)
    assert full == [True, False]
    assert [each["event"] for each in logs] == [
        "journal has no file descriptor for its next file, and asks again until it has",
        "journal has a file descriptor again",
    ]
    assert journal.snapshot(b"all", journal.synced)
    journal.append(b"goes on")
    journal.close()


def test_a_reserve_that_was_lost_is_filled_again_when_there_are_some(
    tmp_path: Path, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECK_S", 0.0)
    with monkeypatch.context() as patch:
        without_reserve(patch)
        journal = opened(tmp_path)
        files = journal._files
    assert isinstance(files, SystemFiles)
    files._descriptors._size = RESERVE
    assert len(files._descriptors) == 0
    journal.append(b"looks")
    journal.flush()
    others.take_all()
    assert journal.make_room()
    journal.close()


def test_what_is_asked_for_beyond_a_file_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"short")
    files = SystemFiles.of(tmp_path)
    file = files.open("file")
    assert [file.read(0, 2**62), file.read(3, 2**62), file.read(9, 2**62)] == [b"short", b"rt", b""]
    file.close()
    files.close()


def test_a_flush_that_needs_a_segment_waits_for_a_descriptor(
    tmp_path: Path, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_reserve(monkeypatch)
    journal = opened(tmp_path)
    fill(journal)
    others.take_all()
    waited: list[float] = []

    def sleep(delay_s: float) -> None:
        assert journal.synced < journal.appended
        waited.append(delay_s)
        if len(waited) == 3:
            others.let_go(1)

    monkeypatch.setattr(module, "sleep", sleep)
    number = journal.append(b"waits")
    journal.flush()
    assert journal.synced == number
    assert len(waited) == 3
    journal.close()
    others.let_go(SOME)
    again = opened(tmp_path)
    assert list(again.recovered.records())[-1] == b"waits"
    again.close()


def test_a_journal_that_is_closed_does_not_wait_for_ever(
    tmp_path: Path, others: Others, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_reserve(monkeypatch)
    monkeypatch.setattr(module, "CLOSING_S", 0.0)
    journal = opened(tmp_path)
    fill(journal)
    others.take_all()
    journal.append(b"nobody was told")
    with pytest.raises(JournalError, match=r"too many files and connections open: raise the limit"):
        journal.close()


def test_without_descriptors_nothing_that_was_opened_stays_open(tmp_path: Path, others: Others) -> None:
    others.take_all()
    outcomes = []
    for left in range(10):
        others.let_go(left)
        try:
            open_journal(tmp_path, "B1").close()
            outcomes.append("opened")
        except JournalError as error:
            outcomes.append(str(error).rpartition(": ")[0])
        assert others.take_all() == left
    assert outcomes[0].endswith("too many files and connections open")
    assert outcomes[-1] == "opened"


Starved = Callable[[Keeper, SimulatedDisk], None]


def _snapshots(keeper: Keeper, disk: SimulatedDisk) -> None:
    disk.errors["create"] = errno.ENFILE
    assert not keeper.snapshot()
    assert keeper.snapshot()


def _prunes(keeper: Keeper, disk: SimulatedDisk) -> None:
    assert keeper.snapshot()
    keeper.append(1)
    keeper.flush()
    assert keeper.snapshot()
    keeper.append(1)
    keeper.flush()
    before = len(disk.names())
    disk.errors["names"] = errno.EMFILE
    assert keeper.snapshot()
    assert len(disk.names()) == before + 1
    keeper.append(1)
    keeper.flush()
    assert keeper.snapshot()
    assert len(disk.names()) == before


def _reserves(keeper: Keeper, disk: SimulatedDisk) -> None:
    disk.errors["reserve"] = errno.ENFILE
    assert not keeper.journal.make_room()
    assert keeper.journal.make_room()


@pytest.mark.parametrize("act", [_snapshots, _prunes, _reserves])
def test_every_operation_is_tried_again(act: Starved) -> None:
    disk = SimulatedDisk()
    keeper = Keeper(disk, Random(1), SEGMENT_BYTES)
    keeper.open()
    keeper.append(1)
    keeper.flush()
    act(keeper, disk)
    keeper.append(1)
    keeper.flush()
    keeper.reopen()
