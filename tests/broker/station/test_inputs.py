"""Records are read as they were written, and what is no record is refused with a message."""

import attrs
import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import StationError
from broker.filters import Filter, parse
from broker.messages import LinkMessage, OrderingMessage, Publication, SubscriptionWithdrawn
from broker.station import SubscriptionTerms
from broker.station import inputs as i
from tests.broker.station.stations import publication

_FIELDS: dict[object, st.SearchStrategy[object]] = {
    str: st.text(max_size=20),
    int: st.integers(0, 2**40),
    bool: st.booleans(),
    tuple[int, ...]: st.lists(st.integers(0, 2**40), max_size=3).map(tuple),
    Filter: st.sampled_from(("True", "x == 1 or y.startswith('a')")).map(parse),
}

_FIELDS[SubscriptionTerms] = st.builds(
    SubscriptionTerms, **{each.name: _FIELDS[each.type] for each in attrs.fields(SubscriptionTerms)}
)

contents = st.sampled_from([owner for kind, owner in i.KINDS.items() if kind != i.BEGUN]).flatmap(
    lambda owner: st.builds(owner, **{each.name: _FIELDS[each.type] for each in attrs.fields(owner)})
)


@given(contents, st.booleans())
def test_an_input_that_is_its_fields_is_read_as_it_was_written(content: i.Input, is_taken: bool) -> None:  # noqa: FBT001 - drawn
    assert i.read_record(i.record_of(content, i.TAKEN * is_taken)) == (content, is_taken)


def test_the_terms_of_a_subscription_lie_flat_in_its_record() -> None:
    terms = SubscriptionTerms(
        parse("x == 1"), ordered=True, client="carol", user="u", durable="audit", bound_bytes=65536,
        policy="drop", age_s=60,
    )  # fmt: skip
    flat = ["s", "x == 1", True, "carol", "u", "audit", 65536, "drop", 60, 7, [5, 0]]
    assert i.record_of(i.SubscribedInput("s", terms, 7, (5, 0)), 0) == b"\x22" + cbor2.dumps(flat)


def test_frames_are_written_untouched_and_keep_their_marks() -> None:
    marked = publication("p", 1, "a").with_mark(1)
    messages: list[LinkMessage] = [marked, OrderingMessage((3,)), SubscriptionWithdrawn("s")]
    record = i.record_of_received(7, messages, 0)
    assert marked.frame[6:] in record
    content, _ = i.read_record(record)
    assert isinstance(content, i.ReceivedInput)
    assert content.hop == 7
    again = content.messages[0]
    assert isinstance(again, Publication)
    assert (repr(again), again.frame) == (repr(marked), marked.frame)
    assert content.messages[1:] == messages[1:]


def test_records_of_another_format_are_refused_with_what_to_do() -> None:
    with pytest.raises(StationError, match=r"format 0\.1 .* start the version that wrote them"):
        i.read_record(i.record_of(i.Begun("0.1", "B1", "i", "fifo"), 0))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(record: bytes) -> None:
    try:
        content, _ = i.read_record(record)
    except StationError as error:
        assert "record" in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert isinstance(content, i.Input)
