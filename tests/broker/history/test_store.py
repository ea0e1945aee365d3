"""The folder of a history: what is appended is there once, in order, whatever happens."""

import os
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings

from broker.client.delivery import Delivery, Gap
from broker.history import store as stores
from broker.history.rows import SCHEMA, Row, StoredEvent, gap_row, read_row, row_of
from broker.history.store import HistoryFolderError, HistoryStore
from broker.wire import encode_publication, publication_prefix
from tests.broker.wire.strategies import Published, publications

HOUR_NS = 3600 * 10**9
NOON_NS = 500_000 * HOUR_NS


PUBLISHER = "ada@B1/1"


def rows(first: int, count: int, at_ns: int = NOON_NS, payload: bytes = b"") -> list[Row]:
    prefix = publication_prefix(PUBLISHER)
    frames = [
        encode_publication(prefix, number + 1, at_ns, {"n": number}, payload, True)
        for number in range(first, first + count)
    ]
    return [row_of(Delivery(each)) for each in frames]


def everything(_: Mapping[str, object]) -> bool:
    return True


def shown(event: StoredEvent) -> object:
    return event.content.reason if isinstance(event.content, Gap) else event.attributes["n"]


def numbers(
    store: HistoryStore, since_ns: int = 0, matches: Callable[[Mapping[str, object]], bool] = everything
) -> list[object]:
    """Read all pages; return what the attribute `n` of each event is, and the reasons of gaps."""
    found: list[object] = []
    after, is_last = 0, False
    while not is_last:
        page = store.page(after, since_ns, matches)
        found += map(shown, page.events)
        assert page.is_last or page.next > after
        after, is_last = page.next, page.is_last
    return found


@settings(max_examples=30)
@given(publications)
def test_an_event_comes_out_as_it_went_in(published: Published) -> None:
    before = Delivery(published.frame)
    table = pa.Table.from_pylist([{**row_of(before), "number": 1}], SCHEMA)
    (stored,) = map(read_row, table.to_pylist())
    assert isinstance(stored.content, bytes)
    after = Delivery(stored.content)
    assert repr(after) == repr(before)
    assert (after.payload, after.published_ns) == (published.payload, published.published_ns)
    assert after.ordered is published.ordered
    assert after.replayed


def test_pages_give_everything_in_order_and_gaps_in_their_places(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    store.append(rows(1, 700, payload=bytes(1000)), NOON_NS)
    store.append([gap_row(Gap(3, "bound"), NOON_NS)], NOON_NS)
    store.append(rows(704, 2), NOON_NS)
    assert numbers(store) == [*range(1, 701), "bound", 704, 705]
    assert len(store.page(0, 0, everything).events) < 300
    assert numbers(HistoryStore.open(tmp_path)) == [*range(1, 701), "bound", 704, 705]


def test_a_page_has_what_matches_and_is_not_older(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    for hour in range(3):
        store.append(rows(10 * hour, 10, NOON_NS + hour * HOUR_NS), NOON_NS + hour * HOUR_NS)
    young = numbers(store, NOON_NS + HOUR_NS, lambda each: each["n"] != 15)
    assert young == [*range(10, 15), *range(16, 30)]
    assert numbers(store, NOON_NS + 5 * HOUR_NS) == []


def test_files_of_hours_that_are_over_become_one_and_old_hours_go(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    for number in range(12):
        at_ns = NOON_NS + number // 4 * HOUR_NS
        store.append(rows(number, 1, at_ns), at_ns)
    assert store.compact(NOON_NS + 2 * HOUR_NS) == 6
    assert [each.last - each.first + 1 for each in store.files] == [4, 4, 1, 1, 1, 1]
    assert numbers(store) == numbers(HistoryStore.open(tmp_path)) == list(range(12))
    assert store.expire(NOON_NS + HOUR_NS) == 1
    assert numbers(store) == numbers(HistoryStore.open(tmp_path)) == list(range(4, 12))
    assert store.expire(NOON_NS + 100 * HOUR_NS) == 4
    again = HistoryStore.open(tmp_path)
    again.append(rows(12, 1), NOON_NS)
    assert again.last == 13
    assert numbers(again) == [11, 12]


def in_a_child_that_dies(at: int, work: Callable[[], object]) -> bool:
    """Run it in a forked process that is gone at its operation `at` on files; false if it was done before."""
    child = os.fork()
    if child == 0:
        count = 0

        def die(event: str, _: Sequence[object]) -> None:
            nonlocal count
            count += event in {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}
            if count >= at:
                os._exit(9)

        sys.addaudithook(die)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_whatever_is_killed_when_every_event_is_there_once(tmp_path: Path) -> None:
    deaths = 0
    for at in range(1, 100, 2):
        folder = tmp_path / str(at)
        store = HistoryStore.open(folder)
        store.append(rows(1, 2), NOON_NS)
        store.append(rows(3, 2), NOON_NS)

        def work(store: HistoryStore = store) -> None:
            store.append(rows(5, 2), NOON_NS + HOUR_NS)
            store.compact(NOON_NS + HOUR_NS)
            store.expire(NOON_NS)

        has_died = in_a_child_that_dies(at, work)
        again = HistoryStore.open(folder)
        assert numbers(again) in ([1, 2, 3, 4], [1, 2, 3, 4, 5, 6])
        assert not list((folder / "partial").iterdir())
        again.append(rows(again.last + 1, 1), NOON_NS + HOUR_NS)
        assert numbers(again) == list(range(1, again.last + 1))
        deaths += has_died
        if not has_died:
            break
    assert deaths > 4


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """Let the system refuse larger files, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_the_disk_does_not_take_is_not_there_at_all(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    store.append(rows(1, 1), NOON_NS)
    with files_of_at_most(1000), pytest.raises(OSError, match="too large"):
        store.append(rows(2, 100, payload=bytes(200)), NOON_NS)
    assert numbers(store) == numbers(HistoryStore.open(tmp_path)) == [1]
    store.append(rows(2, 1), NOON_NS)
    assert numbers(store) == [1, 2]


def test_publishers_are_known_by_their_last_numbers(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    store.append([*rows(1, 3), gap_row(Gap(None, "lost"), NOON_NS)], NOON_NS)
    store.append(rows(4, 3), NOON_NS)
    assert (PUBLISHER, True, 7) in set(store.origins())


def test_a_file_that_is_none_of_a_history_is_named(tmp_path: Path) -> None:
    HistoryStore.open(tmp_path).append(rows(1, 1), NOON_NS)
    (path,) = tmp_path.rglob("*.parquet")
    path.write_bytes(b"PAR1")
    with pytest.raises(HistoryFolderError, match=path.name):
        HistoryStore.open(tmp_path)
    assert stores.READ_COUNT < stores.ROW_GROUP_COUNT
