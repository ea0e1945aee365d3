"""A torn end is cut and reported; damage anywhere else stops the start, and the message says where."""

from random import Random

import pytest

from broker.journal import JournalError
from broker.journal.layout import PAGE_BYTES, SEGMENT, SNAPSHOT, name_of, numbers
from broker.journal.recovery import MARK
from harness.journals import Keeper, SimulatedDisk

SEGMENT_BYTES = 8 * PAGE_BYTES


def kept(count: int, *, snapshots: tuple[int, ...] = (), size_bytes: int = 100) -> Keeper:
    """A journal of so many batches of one page, closed by nobody."""
    keeper = Keeper(SimulatedDisk(), Random(1), SEGMENT_BYTES)
    keeper.open()
    for number in range(1, count + 1):
        keeper.append(size_bytes)
        keeper.flush()
        if number in snapshots:
            keeper.snapshot()
    return keeper


def disk_of(keeper: Keeper) -> SimulatedDisk:
    assert isinstance(keeper.files, SimulatedDisk)
    return keeper.files


def spoil(keeper: Keeper, name: str, start: int, content: bytes = b"spoilt") -> None:
    disk_of(keeper).content(name)[start : start + len(content)] = content


def first_segment() -> str:
    return name_of(1, SEGMENT)


def unmarked(keeper: Keeper) -> Keeper:
    """The power went, and the system had not yet written the mark."""
    disk_of(keeper).remove(MARK)
    keeper.acknowledged -= 1
    return keeper


def test_a_torn_batch_at_the_end_is_cut_once_and_reported() -> None:
    keeper = unmarked(kept(3, size_bytes=9000))
    keeper.segment_bytes = SEGMENT_BYTES
    disk = disk_of(keeper)
    last = name_of(numbers(disk.names(), SEGMENT)[-1], SEGMENT)
    start = len(disk.content(last).rstrip(b"\0"))
    spoil(keeper, last, start // PAGE_BYTES * PAGE_BYTES, bytes(PAGE_BYTES))
    keeper.open()
    assert len(keeper.records) == 2
    assert any(f"{last} was cut at offset" in note for note in keeper.journal.recovered.notes)
    keeper.open()
    assert keeper.journal.recovered.notes == []


def test_a_batch_that_was_acknowledged_is_never_cut() -> None:
    keeper = kept(3)
    spoil(keeper, first_segment(), 3 * PAGE_BYTES + 50)
    with pytest.raises(
        JournalError, match=rf"damaged at offset {3 * PAGE_BYTES}: records 3 to 3 were on disk"
    ):
        keeper.open()


def test_damage_with_a_batch_behind_it_is_no_torn_write() -> None:
    keeper = unmarked(kept(4))
    spoil(keeper, first_segment(), 2 * PAGE_BYTES + 50)
    with pytest.raises(
        JournalError, match=rf"damaged at offset {2 * PAGE_BYTES}: .* at offset {3 * PAGE_BYTES}"
    ):
        keeper.open()


def test_damage_before_another_segment_is_no_torn_write() -> None:
    keeper = unmarked(kept(9))
    assert len(numbers(disk_of(keeper).names(), SEGMENT)) == 2
    spoil(keeper, first_segment(), 7 * PAGE_BYTES + 50)
    with pytest.raises(JournalError, match=r"records 7 to 7 should be there, and those from 8 on are in"):
        keeper.open()


def test_what_was_published_cannot_pass_for_a_batch() -> None:
    keeper = kept(1)
    page = bytes(disk_of(keeper).content(first_segment())[PAGE_BYTES : 2 * PAGE_BYTES])
    # A torn batch whose second page is, byte for byte, a batch of this very segment from another place.
    spoil(keeper, first_segment(), 2 * PAGE_BYTES, b"torn" + bytes(PAGE_BYTES - 4) + page)
    keeper.open()
    assert len(keeper.records) == 1
    assert len(keeper.journal.recovered.notes) == 1


def test_a_damaged_snapshot_falls_back_to_the_one_before_it() -> None:
    keeper = kept(20, snapshots=(5, 15))
    spoil(keeper, name_of(15, SNAPSHOT), 80)
    keeper.open()
    assert len(keeper.records) == 20
    assert keeper.journal.recovered.upto == 5
    assert "is damaged" in keeper.journal.recovered.notes[0]
    assert name_of(15, SNAPSHOT) + ".damaged" in disk_of(keeper).names()
    keeper.reopen()
    assert keeper.journal.recovered.notes == []


def test_without_a_sound_snapshot_the_records_from_the_first_on_are_needed() -> None:
    keeper = kept(20, snapshots=(9, 15))
    assert 1 not in numbers(disk_of(keeper).names(), SEGMENT)
    spoil(keeper, name_of(9, SNAPSHOT), 80)
    spoil(keeper, name_of(15, SNAPSHOT), 80)
    with pytest.raises(
        JournalError, match=r"begins with record 8, and nothing sound .* record 1 \(.*snapshot"
    ):
        keeper.open()


def test_damage_to_what_a_snapshot_covers_harms_nobody() -> None:
    keeper = kept(4, snapshots=(4,))
    spoil(keeper, first_segment(), 2 * PAGE_BYTES, bytes(10_000))
    keeper.open()
    assert len(keeper.records) == 4
    assert "the snapshot covers everything" in keeper.journal.recovered.notes[0]
    keeper.append(10)
    keeper.flush()
    keeper.reopen()


def test_snapshots_keep_the_directory_bounded() -> None:
    keeper = kept(0)
    sizes = []
    for number in range(1, 200):
        keeper.append(100)
        keeper.flush()
        if number % 10 == 0:
            keeper.snapshot()
            sizes.append(keeper.journal.size_bytes)
    assert len(numbers(disk_of(keeper).names(), SNAPSHOT)) == 2
    assert max(sizes[3:]) < 6 * SEGMENT_BYTES


@pytest.mark.parametrize(
    ("name", "note"), [(MARK, "synced is damaged"), (name_of(2, SEGMENT), ""), ("spare.new", "")]
)
def test_what_does_not_matter_is_no_reason_to_stop(name: str, note: str) -> None:
    keeper = kept(3)
    disk = disk_of(keeper)
    if name == MARK:
        disk.content(name)[12] ^= 1
    elif name == "spare.new":
        keeper.journal.make_room()
        disk.content(name)[:] = b"left over"
    keeper.open()
    assert len(keeper.records) == 3
    assert note in " ".join(keeper.journal.recovered.notes)


def test_a_segment_of_another_journal_is_refused() -> None:
    keeper = kept(3)
    disk = disk_of(keeper)
    other = SimulatedDisk()
    stranger = Keeper(other, Random(2), SEGMENT_BYTES)
    stranger.open()
    disk.content(first_segment())[:PAGE_BYTES] = bytes(PAGE_BYTES)
    with pytest.raises(JournalError, match="is damaged at offset 0"):
        keeper.open()
