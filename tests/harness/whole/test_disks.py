from harness.whole.disks import Disk

RECORDS = [bytes([number]) for number in range(5)]


def test_a_crash_keeps_what_was_synced_and_as_much_of_the_rest_as_is_said() -> None:
    for surviving, kept in ((0, 3), (1, 4), (9, 5)):
        disk = Disk("x")
        disk.append(RECORDS)
        disk.sync(3)
        disk.crash(surviving)
        assert disk.recovered() == (None, RECORDS[:kept])


def test_a_snapshot_counts_once_everything_in_it_is_synced() -> None:
    disk = Disk("x")
    disk.append(RECORDS)
    disk.keep_snapshot(b"state")
    assert disk.recovered() == (None, RECORDS)
    disk.sync(5)
    disk.append([b"later"])
    assert disk.recovered() == (b"state", [b"later"])
