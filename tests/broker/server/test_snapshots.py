"""When snapshots are taken, and how room is asked for."""

from collections.abc import Callable

import structlog
import trio
import trio.testing
from attrs import define, field

from broker.server.apart import ApartError
from broker.server.snapshots import AGE_S, GROWTH_BYTES, REPLAY_S, ROOM_LOOK_S, SnapshotKeeper


@define(eq=False)
class Shelf:
    """A journal that remembers what it was asked."""

    appended: int = 0
    written_bytes: int = 0
    wants_room: bool = False
    is_full: bool = False
    has_disk: bool = True
    asked: int = 0
    kept: list[tuple[bytes, int]] = field(factory=list)

    def make_room(self) -> bool:
        self.asked += 1
        self.is_full = self.wants_room = not self.has_disk
        return self.has_disk

    def snapshot(self, content: bytes, upto: int) -> bool:
        if not self.is_full:
            self.kept.append((content, upto))
        return not self.is_full


async def at_once(call: Callable[..., bool], *arguments: object) -> bool:
    """No thread: the mock clock would not wait for it."""
    return call(*arguments)


@define(eq=False)
class Case:
    shelf: Shelf = field(factory=Shelf)
    applied_s: float = 0
    replay_s: float = 0
    changes: list[bool] = field(factory=list)
    snapshots: SnapshotKeeper = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.snapshots = SnapshotKeeper(
            self.shelf,
            lambda: b"state",
            lambda: self.applied_s,
            lambda: self.changes.append(not self.shelf.is_full),
            self.replay_s,
            blocking=at_once,
        )


async def test_a_snapshot_is_due_by_time_to_replay_by_size_and_by_age(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001 - its being there is what counts
) -> None:
    case = Case()
    case.applied_s, case.shelf.written_bytes = REPLAY_S, GROWTH_BYTES
    due = [case.snapshots.is_due]
    case.shelf.appended = 1
    due.append(case.snapshots.is_due)
    assert due == [False, True]
    await case.snapshots.take()
    assert case.shelf.kept == [(b"state", 1)]
    case.shelf.appended = 2
    case.snapshots.last_stall_s = 0
    due = [case.snapshots.is_due]
    case.applied_s += REPLAY_S
    due.append(case.snapshots.is_due)
    case.applied_s -= REPLAY_S
    case.shelf.written_bytes += GROWTH_BYTES
    due.append(case.snapshots.is_due)
    case.shelf.written_bytes -= GROWTH_BYTES
    await trio.sleep(AGE_S)
    due.append(case.snapshots.is_due)
    case.snapshots.last_stall_s = AGE_S
    due.append(case.snapshots.is_due)
    assert due == [False, True, True, True, False]


async def test_what_took_long_to_replay_is_not_replayed_twice() -> None:
    assert not Case(Shelf(appended=7), replay_s=REPLAY_S / 2).snapshots.is_due
    case = Case(Shelf(appended=7), replay_s=REPLAY_S)
    due = [case.snapshots.is_due]
    await case.snapshots.take()
    due.append(case.snapshots.is_due)
    assert due == [True, False]
    assert case.shelf.kept == [(b"state", 7)]


async def test_the_next_segment_is_asked_for_as_soon_as_one_is_begun(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001 - its being there is what counts
) -> None:
    case = Case()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(case.snapshots.run)
        await trio.testing.wait_all_tasks_blocked()
        case.snapshots.hurry()
        await trio.testing.wait_all_tasks_blocked()
        assert case.shelf.asked == 0
        case.shelf.wants_room = True
        case.snapshots.hurry()
        await trio.testing.wait_all_tasks_blocked()
        assert case.shelf.asked == 1
        nursery.cancel_scope.cancel()


async def test_nothing_new_needs_no_snapshot() -> None:
    case = Case()
    await case.snapshots.take()
    assert case.shelf.kept == []


async def test_without_room_it_asks_until_there_is_some_and_reports_both(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001 - its being there is what counts
) -> None:
    case = Case()
    shelf = case.shelf
    shelf.wants_room = True
    shelf.has_disk = False
    shelf.appended = 1
    with structlog.testing.capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(case.snapshots.run)
            await trio.sleep(ROOM_LOOK_S * 3.5)
            assert case.changes == [False] * 4
            assert shelf.asked == 4
            shelf.has_disk = True
            await trio.sleep(ROOM_LOOK_S)
            assert case.changes[:5] == [False] * 4 + [True]
            nursery.cancel_scope.cancel()
    assert [log["event"] for log in logs if "room left" in log["event"] or "room again" in log["event"]] == [
        "journal has no room left: publications are refused until there is some",
        "journal has room again: publications are taken",
    ]
    assert [log["log_level"] for log in logs if "room for a snapshot" in log["event"]][:1] == ["warning"]


@define(eq=False)
class Elsewhere:
    """Another process that takes what the snapshot was when it was asked; `gate` is when it is done."""

    last_stall_s: float = 0.001
    gate: trio.Event = field(factory=trio.Event)
    is_broken: bool = False
    asked: int = 0

    async def __call__(self, call: Callable[[], bytes]) -> bytes:
        self.asked += 1
        if self.is_broken:
            raise ApartError
        content = call()
        await self.gate.wait()
        return content + b" apart"


def with_another_process(case: Case, *, is_broken: bool = False) -> Elsewhere:
    elsewhere = case.snapshots._elsewhere = Elsewhere(is_broken=is_broken)
    case.shelf.appended = 1
    return elsewhere


async def test_a_snapshot_from_another_process_has_the_state_of_its_beginning() -> None:
    case = Case()
    elsewhere = with_another_process(case)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(case.snapshots.take)
        await trio.testing.wait_all_tasks_blocked()
        case.shelf.appended = 5
        elsewhere.gate.set()
    assert case.shelf.kept == [(b"state apart", 1)]
    assert case.snapshots.last_stall_s == elsewhere.last_stall_s


async def test_where_there_is_no_other_process_snapshots_are_taken_here() -> None:
    case = Case()
    elsewhere = with_another_process(case, is_broken=True)
    for appended in (1, 2):
        case.shelf.appended = appended
        await case.snapshots.take()
    assert case.shelf.kept == [(b"state", 1), (b"state", 2)]
    assert elsewhere.asked == 1


async def test_a_broker_that_ends_does_not_wait_for_a_snapshot_of_a_moment_that_is_over() -> None:
    case = Case()
    with_another_process(case)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(case.snapshots.take)
        await trio.testing.wait_all_tasks_blocked()
        case.shelf.appended = 5
        case.snapshots.stay()
        await case.snapshots.take()
    assert case.shelf.kept == [(b"state", 5)]
