"""Whatever a crash leaves, the journal opens, with all confirmed records and only appended ones."""

from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.journal import JournalError
from broker.journal.layout import PAGE_BYTES
from harness.journals import CrashError, Keeper, SimulatedDisk

SEGMENT_BYTES = 6 * PAGE_BYTES

Step = tuple[str, int]

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from([1, 50, 600, 5000, 9000])),
        st.tuples(st.just("append"), st.sampled_from([1, 50, 600, 5000, 9000])),
        st.tuples(st.sampled_from(["flush", "flush", "room", "snapshot", "reopen"]), st.just(0)),
    ),
    min_size=1,
    max_size=25,
)


def act(keeper: Keeper, step: Step) -> None:
    match step:
        case ("append", size_bytes):
            keeper.append(size_bytes)
        case ("flush", _):
            keeper.flush()
        case ("room", _):
            keeper.journal.make_room()
        case ("snapshot", _):
            keeper.snapshot()
        case ("reopen", _):
            keeper.reopen()


def live(keeper: Keeper, steps: list[Step]) -> bool:
    """Open and take the steps; return whether that went without a crash."""
    try:
        keeper.open()
        for step in steps:
            act(keeper, step)
    except CrashError:
        # Taken but not confirmed: may be there or not. The keeper's list has everything that was appended.
        return False
    return True


def after(keeper: Keeper, disk: SimulatedDisk, random: Random, *, is_kill: bool) -> Keeper:
    left = disk.after_kill() if is_kill else disk.after_power_loss(random)
    return Keeper(left, keeper.random, SEGMENT_BYTES, keeper.records, keeper.acknowledged)


@given(
    lives=st.lists(st.tuples(STEPS, st.integers(0, 120), st.booleans()), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=250, deadline=None)
def test_nothing_confirmed_is_lost_in_any_row_of_crashes(
    lives: list[tuple[list[Step], int, bool]], seed: int
) -> None:
    random = Random(seed)
    disk = SimulatedDisk(random=random)
    keeper = Keeper(disk, random, SEGMENT_BYTES)
    for steps, stop_after, is_kill in lives:
        disk.stop_after = stop_after
        if live(keeper, steps):
            continue
        keeper = after(keeper, disk, random, is_kill=is_kill)
        assert isinstance(keeper.files, SimulatedDisk)
        disk = keeper.files
    disk.stop_after = None
    assert live(keeper, [("append", 10), ("flush", 0), ("reopen", 0)])


LIFE: list[Step] = [
    ("append", 50),
    ("flush", 0),
    ("append", 9000),
    ("append", 5000),
    ("flush", 0),
    ("snapshot", 0),
    ("room", 0),
    ("append", 9000),
    ("flush", 0),
    ("append", 600),
    ("append", 5000),
    ("flush", 0),
    ("snapshot", 0),
    ("append", 9000),
    ("flush", 0),
    ("snapshot", 0),
    ("append", 1),
    ("flush", 0),
    ("reopen", 0),
    ("append", 9000),
    ("flush", 0),
]


@pytest.mark.parametrize("is_kill", [False, True])
def test_nothing_confirmed_is_lost_wherever_it_stops(is_kill: bool) -> None:  # noqa: FBT001 - a parameter of the test
    length = 0
    while True:
        for seed in range(6):
            random = Random(seed)
            disk = SimulatedDisk(stop_after=length, random=random)
            keeper = Keeper(disk, Random(1), SEGMENT_BYTES)
            if live(keeper, LIFE):
                assert length > 60
                return
            restarted = after(keeper, disk, random, is_kill=is_kill)
            assert live(restarted, [])
            assert isinstance(restarted.files, SimulatedDisk)
            # What was recovered may be confirmed at once: a loss of power must not lose it.
            restarted = after(restarted, restarted.files, random, is_kill=False)
            assert live(restarted, [("append", 10), ("flush", 0), ("reopen", 0)])
        length += 1


def test_a_crash_while_the_journal_repairs_itself_changes_nothing() -> None:
    random = Random(5)
    disk = SimulatedDisk(random=random)
    keeper = Keeper(disk, random, SEGMENT_BYTES)
    assert live(keeper, [("append", 50), ("flush", 0)])
    act(keeper, ("append", 9000))
    disk.stop_after = disk.steps
    with pytest.raises(CrashError):
        keeper.flush()
    for stop_after in range(12):
        torn = evolve(disk.after_power_loss(Random(stop_after)), stop_after=stop_after)
        repairing = Keeper(torn, random, SEGMENT_BYTES, list(keeper.records), keeper.acknowledged)
        is_whole = live(repairing, [])
        torn.stop_after = None
        again = repairing if is_whole else after(repairing, torn, random, is_kill=False)
        assert live(again, [("append", 10), ("flush", 0), ("reopen", 0)])


@pytest.mark.parametrize("kind", ["sync", "write"])
def test_after_a_failed_write_or_sync_nothing_more_is_confirmed(kind: str) -> None:
    disk = SimulatedDisk()
    keeper = Keeper(disk, Random(1), SEGMENT_BYTES)
    assert live(keeper, [("append", 50), ("flush", 0), ("append", 50)])
    disk.errors[kind] = 5
    with pytest.raises(JournalError, match=r"segment: cannot be written: .*; the disk does not work"):
        keeper.flush()
    for _ in range(2):
        with pytest.raises(JournalError, match="the disk does not work"):
            keeper.flush()
    with pytest.raises(JournalError):
        keeper.snapshot()
    keeper.journal.close()
    assert keeper.journal.synced == 1
    restarted = after(keeper, disk, Random(1), is_kill=True)
    assert live(restarted, [("append", 10), ("flush", 0), ("reopen", 0)])


def test_what_is_read_after_a_failed_sync_is_written_again_before_it_is_confirmed() -> None:
    disk = SimulatedDisk()
    keeper = Keeper(disk, Random(1), SEGMENT_BYTES)
    assert live(keeper, [("append", 50), ("flush", 0), ("append", 50)])
    disk.errors["sync"] = 5
    with pytest.raises(JournalError):
        keeper.flush()
    restarted = after(keeper, disk, Random(1), is_kill=True)
    assert live(restarted, [])
    assert restarted.acknowledged == 2
    assert isinstance(restarted.files, SimulatedDisk)
    for seed in range(5):
        assert live(after(restarted, restarted.files, Random(seed), is_kill=False), [])
