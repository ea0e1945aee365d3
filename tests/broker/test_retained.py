"""A sequence survives every connection: once, in order, from wherever the other end says it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.sessions import Missing, Retained, SessionError

Batches = list[list[int]]

sizes = st.lists(st.integers(0, 4), max_size=20)


def batches_of(given_sizes: list[int]) -> Batches:
    """Batches of these sizes whose frames are 1, 2, 3 and so on."""
    batches: Batches = []
    number = 0
    for size in given_sizes:
        batches.append(list(range(number + 1, number + size + 1)))
        number += size
    return batches


def frames_after(retained: Retained[int], count: int) -> list[int]:
    frames: list[int] = []
    for batch in retained.after(count):
        assert not isinstance(batch, Missing)
        frames += batch
    return frames


@given(sizes, st.data())
def test_what_is_kept_is_what_was_sent_and_not_acknowledged(
    given_sizes: list[int], data: st.DataObject
) -> None:
    retained: Retained[int] = Retained()
    for batch in batches_of(given_sizes):
        retained.add(batch)
        retained.acknowledge(data.draw(st.integers(0, retained.sent)))
    count = data.draw(st.integers(retained.acknowledged, retained.sent))
    assert frames_after(retained, count) == list(range(count + 1, retained.sent + 1))
    assert len(retained) == retained.sent - retained.acknowledged


@given(sizes, st.data())
def test_what_is_dropped_leaves_its_numbers(given_sizes: list[int], data: st.DataObject) -> None:
    retained: Retained[int] = Retained()
    dropped: set[int] = set()
    for batch in batches_of(given_sizes):
        retained.add(batch)
        retained.acknowledge(data.draw(st.integers(retained.acknowledged, retained.sent)))
        if len(retained) and data.draw(st.booleans()):
            count = data.draw(st.integers(1, len(retained)))
            retained.drop_newest(count)
            dropped.update(range(retained.sent - count + 1, retained.sent + 1))
    at = data.draw(st.integers(retained.acknowledged, retained.sent))
    was_missing = False
    for left in retained.after(at):
        if isinstance(left, Missing):
            assert not was_missing, "two gaps in a row are one"
            assert set(range(at + 1, at + len(left) + 1)) <= dropped
        else:
            assert left == list(range(at + 1, at + len(left) + 1))
            assert dropped.isdisjoint(left)
        was_missing = isinstance(left, Missing)
        at += len(left)
    assert at == retained.sent


@pytest.mark.parametrize("count", [4, 1_000])
def test_more_than_was_sent_cannot_be_acknowledged(count: int) -> None:
    retained: Retained[int] = Retained()
    retained.add([1, 2, 3])
    with pytest.raises(SessionError, match="only 3 were sent"):
        retained.acknowledge(count)
    assert retained.acknowledged == 0


def test_a_session_cannot_resume_before_what_is_kept() -> None:
    retained: Retained[int] = Retained()
    retained.add([1, 2, 3])
    retained.acknowledge(2)
    for count in (1, 4):
        with pytest.raises(SessionError, match=f"after {count} frames"):
            retained.after(count)
    with pytest.raises(SessionError, match="cannot drop 2 frames: 1 are kept"):
        retained.drop_newest(2)


def test_a_neighbour_that_never_acknowledges_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.sessions.RETAINED_COUNT_MAX", 3)
    retained: Retained[int] = Retained()
    retained.add([1, 2, 3])
    assert not retained.is_overfull
    retained.add([4])
    assert retained.is_overfull
