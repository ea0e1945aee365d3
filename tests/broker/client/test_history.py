"""Answers of histories, as clients put them together, without a broker."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker import history_events as h
from broker.client.delivery import Delivery, Gap
from broker.client.history import HistoryAnswer
from broker.client.replay import Replay
from broker.errors import BrokerFaultError
from broker.filters.constraints import Value
from broker.history.component import answer_parts
from broker.history.rows import StoredEvent
from broker.history.store import HistoryPage
from broker.wire import encode_publication, publication_prefix

PREFIX = publication_prefix("ada@B1/1")


def answer(attributes: dict[str, Value], payload: bytes = b"", name: str = "one") -> Delivery:
    head: dict[str, Value] = {h.NUMBER: 7, h.NAME: name}
    return Delivery(encode_publication(PREFIX, 1, 0, {**head, **attributes}, payload, False))


gaps = st.builds(Gap, st.one_of(st.none(), st.integers(1, 9)), st.sampled_from(["lost", "bound"]))
sizes = st.sampled_from([0, 100, 300_000, 900_000])


@settings(max_examples=25)
@given(st.lists(st.one_of(gaps, sizes), max_size=8))
def test_a_page_comes_out_as_it_was_sent_whatever_else_comes_between(contents: list[Gap | int]) -> None:
    events = tuple(
        StoredEvent(
            number,
            0,
            each if isinstance(each, Gap) else encode_publication(PREFIX, number, 0, {}, bytes(each), True),
            {},
        )
        for number, each in enumerate(contents, 1)
    )
    asked = HistoryAnswer(7, "")
    for attributes, payload in answer_parts(HistoryPage(events, 99, is_last=True)):
        assert not asked.is_whole
        for _ in range(2):
            asked.take(answer(attributes, payload))
            asked.take(answer({**attributes, h.NEXT: 5}, b"x", name="two"))
            asked.take(answer({**attributes, h.NUMBER: 6}, b"x"))
    assert asked.is_whole
    assert (asked.name, asked.next, asked.is_last) == ("one", 99, True)
    found: list[object] = []
    for item in asked.items():
        found += [item] if isinstance(item, Gap) else item
    assert found == [each.content for each in events]


@pytest.mark.parametrize("wrong", [{h.PARTS: "2"}, {h.PART: 0}, {h.GAPS: 1}])
def test_what_is_no_answer_is_named(wrong: dict[str, Value]) -> None:
    with pytest.raises(BrokerFaultError, match="no answer"):
        HistoryAnswer(7, "").take(answer(wrong))


@pytest.mark.parametrize(
    ("publisher", "user"),
    [("desk/alice@B1.k3/7", "desk"), ("alice@B1.k3/7", ""), ("desk/a@b/c@B1.k3/7", "desk")],
)
def test_a_user_is_known_by_the_id_of_a_publisher(publisher: str, user: str) -> None:
    assert h.user_of(publisher) == user


@pytest.mark.parametrize(
    ("asked", "asks"),
    [
        ("30d", True),
        ("1h", False),
        ("now", False),
        (1000, False),
        (Replay(10, 1e6), False),
        (Replay(age_s=1e6, history=False), False),
        (Replay(age_s=1, history=True), True),
    ],
)
def test_a_history_is_asked_for_more_than_caches_have(asked: Replay | str | int, asks: bool) -> None:  # noqa: FBT001 - drawn from the table
    assert Replay.of(asked).asks_history is asks


def test_a_history_is_not_asked_for_a_count() -> None:
    with pytest.raises(ValueError, match="for an age"):
        Replay(count=5, history=True)
