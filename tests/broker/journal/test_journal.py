"""Records go in and come out; room is known before it is used up; one broker at a time."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from broker.journal import JournalError, open_journal
from broker.journal.errors import explained
from broker.journal.identity import ABOUT
from broker.journal.layout import PAGE_BYTES
from harness.journals import Keeper, SimulatedDisk
from tests.sources import ROOT

SEGMENT_BYTES = 8 * PAGE_BYTES


def test_what_was_flushed_is_recovered_with_the_same_incarnation(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "B1", "B1")
    assert list(journal.recovered.records()) == []
    assert [journal.append(b"%d" % number) for number in range(1, 4)] == [1, 2, 3]
    assert journal.synced == 0
    journal.flush()
    assert journal.synced == 3
    journal.append(b"4")
    journal.close()
    again = open_journal(tmp_path / "B1", "B1")
    assert list(again.recovered.records()) == [b"1", b"2", b"3", b"4"]
    assert again.incarnation == journal.incarnation
    again.snapshot(b"all of it", 3)
    again.close()
    last = open_journal(tmp_path / "B1", "B1")
    assert (last.recovered.snapshot, list(last.recovered.records())) == (b"all of it", [b"4"])
    last.close()


def test_a_directory_is_used_by_one_broker_at_a_time_and_by_one_name(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, "B1")
    with pytest.raises(JournalError, match=rf"another process \(process {os.getpid()}\) uses this journal"):
        open_journal(tmp_path, "B1")
    journal.close()
    with pytest.raises(JournalError, match="is the journal of broker 'B1', not of 'B2'"):
        open_journal(tmp_path, "B2")
    open_journal(tmp_path, "B1").close()


def test_a_directory_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("all my work")
    with pytest.raises(JournalError, match=r"is no journal: it has thesis\.tex"):
        open_journal(tmp_path, "B1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "thesis.tex"]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b'"format": 1', b'"format": 2', "format 2, and this release reads and writes format 1"),
        (b'"broker"', b'"brok"', "is damaged"),
        (b"{", b"", "is damaged"),
        (b"\n}", b"}", "is damaged"),
    ],
)
def test_a_journal_that_says_something_else_of_itself_is_refused(
    tmp_path: Path, old: bytes, new: bytes, what: str
) -> None:
    open_journal(tmp_path, "B1").close()
    about = tmp_path / ABOUT
    about.write_bytes(about.read_bytes().replace(old, new))
    with pytest.raises(JournalError, match=what):
        open_journal(tmp_path, "B1")


def test_a_path_that_cannot_be_a_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, what in (
        (tmp_path / "file", "a journal is a directory"),
        (tmp_path / "a" / "b", "make it first"),
    ):
        with pytest.raises(JournalError, match=what) as raised:
            open_journal(path, "B1")
        assert raised.value.path == str(path)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "right to write"),
        (errno.EROFS, "mounted read-only"),
        (errno.ENOSPC, "free some space"),
        (errno.EIO, "the disk does not work"),
        (errno.EDEADLK, "see what the system says"),
    ],
)
def test_errors_of_the_system_say_what_to_do(number: int, advice: str) -> None:
    error = explained(OSError(number, os.strerror(number)), Path("B1"), "cannot be written")
    assert str(error).startswith("B1: cannot be written: ")
    assert advice in str(error)


def keeper(room_bytes: int | None = None) -> Keeper:
    made = Keeper(SimulatedDisk(room_bytes=room_bytes), Random(1), SEGMENT_BYTES)
    made.open()
    return made


def test_a_full_disk_is_known_while_there_is_room_for_what_was_promised() -> None:
    full = keeper(SEGMENT_BYTES + 4096)
    disk = full.files
    assert isinstance(disk, SimulatedDisk)
    assert full.journal.wants_room
    assert full.journal.has_room
    assert not full.journal.make_room()
    is_full = [full.journal.is_full]
    room = []
    for _ in range(4):
        full.append(100)
        full.flush()
        room.append(full.journal.has_room)
    assert room == [True, True, True, False]
    is_full.append(full.journal.is_full)
    assert not full.journal.snapshot(bytes(9000), 4)
    full.append(100)
    full.flush()
    disk.room_bytes = None
    assert full.journal.make_room()
    is_full.append(full.journal.is_full)
    assert is_full == [False, True, False]
    for _ in range(20):
        full.append(100)
        full.flush()
    assert full.snapshot()
    full.reopen()


def test_records_that_wait_in_memory_count_as_written() -> None:
    some = keeper()
    some.append(3 * PAGE_BYTES)
    assert not some.journal.has_room
    assert not some.journal.is_full, "nobody has said that the disk is"
    some.journal.make_room()
    assert some.journal.has_room


def test_with_no_room_at_all_the_journal_stops_and_keeps_what_was_confirmed() -> None:
    full = keeper(SEGMENT_BYTES + 4096)
    for _ in range(7):
        full.append(100)
        full.flush()
    full.append(100)
    with pytest.raises(JournalError, match="there is no room for it: free some space"):
        full.flush()
    full.journal.close()
    assert len(full.records) > full.acknowledged > 5
    full.open()
    assert isinstance(full.files, SimulatedDisk)
    full.files.room_bytes = None
    full.append(100)
    full.flush()
    full.reopen()


def test_a_record_larger_than_a_segment_gets_one_of_its_size() -> None:
    large = keeper()
    large.journal.make_room()
    large.append(5 * SEGMENT_BYTES)
    large.append(10)
    large.flush()
    large.reopen()
    assert len(large.records) == 2


WRITER = """
import sys
from pathlib import Path
from broker.journal import open_journal
journal = open_journal(Path(sys.argv[1]), "B1")
number = journal.appended
assert [int(record[:9]) for record in journal.recovered.records()] == list(range(1, number + 1))
while True:
    for _ in range(number % 7 + 1):
        number += 1
        journal.append(b"%09d" % number + bytes(number * 37 % 9000))
    journal.flush()
    print(number, flush=True)
"""


def test_a_killed_writer_has_confirmed_only_what_is_there(tmp_path: Path) -> None:
    random = Random(7)
    confirmed = 0
    for _ in range(8):
        with subprocess.Popen(  # noqa: S603 - the interpreter that runs this test, on a program written here
            [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            for _ in range(random.randrange(1, 60)):
                confirmed = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:
                # A line that the kill has cut short counts nothing.
                confirmed = int(line) if line.endswith(b"\n") else confirmed
        journal = open_journal(tmp_path, "B1")
        numbers = [int(record[:9]) for record in journal.recovered.records()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= confirmed
        journal.close()
