import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordering.interface import ForeignNoteError
from ordering.published.metadata import ids_of, notes_of

IDS = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1))
NUMBERS_MAX = 1_024
NUMBER_MAX = 2**63 - 1


@given(IDS)
def test_ids_arrive_as_they_left(ids: list[str]) -> None:
    notes = list(notes_of(ids))
    assert [each for note in notes for each in ids_of(note.content)] == ids
    assert all(0 <= number <= NUMBER_MAX for note in notes for number in note.content)


def test_no_note_is_larger_than_a_note_may_be() -> None:
    ids = [f"{number:01000}" for number in range(50)]
    notes = list(notes_of(ids))
    assert [each for note in notes for each in ids_of(note.content)] == ids
    assert len(notes) > 1
    assert all(len(note.content) <= NUMBERS_MAX for note in notes)


@pytest.mark.parametrize("content", [(3,), (3, 8, 1), (3, 1, 256), (3, 1, 255), (3, 10**15), (3, 1, -1)])
def test_what_carries_no_ids_is_foreign(content: tuple[int, ...]) -> None:
    with pytest.raises(ForeignNoteError, match="carries no ids"):
        ids_of(content)
