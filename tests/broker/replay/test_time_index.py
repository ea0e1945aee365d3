"""The index against a sorted list, with blocks so small that they are halved and emptied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.replay import Cache, time_index
from broker.replay.kept import CachedRun
from broker.replay.time_index import Key, TimeIndex, key_of
from tests.broker.replay.past import Run, kept, published

RUNS = st.lists(
    st.tuples(
        st.sampled_from("PQR"),
        st.lists(st.tuples(st.integers(0, 9), st.just("a")), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=20,
)


def runs_of(runs: list[Run]) -> tuple[list[CachedRun], list[list[Key]]]:
    cache = Cache(10**6, 10**6)
    keys = [[item[:3] for item in items] for items in kept(cache, runs)]
    return list(cache.runs), keys


@given(RUNS, st.data())
def test_what_was_added_and_not_removed_is_found_in_order(runs: list[Run], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_index, "BLOCK_COUNT_MAX", 3)
        added, keys = runs_of(runs)
        index = TimeIndex()
        places = data.draw(st.permutations(range(len(added))))
        for place in places:
            index.add(added[place])
        gone = data.draw(st.sets(st.sampled_from(places)))
        for place in gone:
            index.remove(added[place])
        left = sorted(key for place in range(len(added)) if place not in gone for key in keys[place])
        assert len(index) == len(left)
        pivots = [key for each in keys for key in each] + [(0, "", 0), (4, "Q", 0), (2**64 - 1, "", 0)]
        for pivot in pivots:
            assert list(map(key_of, index.after(pivot))) == [key for key in left if key > pivot]
            before = [key for key in reversed(left) if key < pivot]
            assert list(map(key_of, index.before(pivot))) == before
            found = index.find(pivot)
            assert (pivot in left) == (found is not None)
            assert found is None or key_of(found) == pivot


def test_frames_of_other_clients_are_read_too() -> None:
    usual = published("P", 7, 5, "a").frame
    # The same event with its numbers in a single byte each, as the format allows.
    body = usual[6:].replace(b"\x1b" + bytes(7) + b"\x07\x1b" + bytes(7) + b"\x05", b"\x07\x05")
    short = (len(body) + 2).to_bytes(4, "big") + usual[4:6] + body
    for frames in (short, usual, short + usual, usual + short):
        run = CachedRun(0, "P", 1, 0, 5, frames)
        assert {each[:2] for each in run.events()} == {(5, 7)}
