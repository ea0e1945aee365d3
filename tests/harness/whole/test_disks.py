from random import Random

from harness.whole.disks import Disk

RECORDS = [bytes([number]) for number in range(5)]


def test_what_is_synced_survives_every_crash() -> None:
    for seed in range(20):
        disk = Disk("x")
        disk.append(RECORDS)
        disk.sync(3)
        disk.crash(Random(seed))
        snapshot, records = disk.recovered()
        assert snapshot is None
        assert records == RECORDS[: len(records)]
        assert len(records) >= 3


def test_a_snapshot_counts_once_everything_in_it_is_synced() -> None:
    disk = Disk("x")
    disk.append(RECORDS)
    disk.keep_snapshot(b"state")
    assert disk.recovered() == (None, RECORDS)
    disk.sync(5)
    disk.append([b"later"])
    assert disk.recovered() == (b"state", [b"later"])
