"""Every message but publications: there and back, and what makes a frame be refused."""

import inspect
import math

import attrs
import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker import discovery_messages, interest_messages, messages, move_messages, replay_messages
from broker.messages import (
    Advertise,
    AdvertisementAdded,
    Deliver,
    Fault,
    Hello,
    OrderingMessage,
    Ping,
    Publication,
    RouteIds,
    SubscriptionAdded,
    Synchronise,
)
from broker.wire import DEFAULT_LIMITS, VERSION, WireError, WireLimits, encode
from broker.wire.control import decode
from broker.wire.header import HEADER
from broker.wire.kinds import BY_MESSAGE, ROWS, DecoderStage, KindRow
from tests.broker.wire.strategies import CONTROL_ROWS, frame_of, messages_of

MODULES = (discovery_messages, interest_messages, messages, move_messages, replay_messages)

each_row = pytest.mark.parametrize("row", CONTROL_ROWS, ids=lambda row: row.name)


NEVER_SENT = set(messages.Notice.__args__)
"""Notices of the core to a local subscription; the client gets a `Gap`."""


def test_every_message_has_a_row() -> None:
    classes = {
        each
        for module in MODULES
        for _, each in inspect.getmembers(module, inspect.isclass)
        if attrs.has(each) and each.__module__ == module.__name__
    }
    assert (classes - NEVER_SENT) | {messages.Publication} == set(BY_MESSAGE)


def test_every_message_between_brokers_may_be_sent_on_a_link() -> None:
    on_links = {row.message for row in ROWS if DecoderStage.LINK in row.stages}
    assert set(messages.LinkMessage.__args__) - NEVER_SENT <= on_links


@each_row
@given(drawn=st.data())
def test_a_message_survives_its_frame(row: KindRow, drawn: st.DataObject) -> None:
    message = drawn.draw(messages_of(row))
    frame = encode(message)
    length, kind, flags = HEADER.unpack_from(frame)
    assert (length, kind, flags) == (len(frame) - 4, row.kind, 0)
    assert decode(kind, frame[HEADER.size :], DEFAULT_LIMITS) == message


@each_row
@settings(max_examples=20)  # The number of fields is all that counts.
@given(drawn=st.data())
def test_a_field_too_few_or_too_many_is_refused(row: KindRow, drawn: st.DataObject) -> None:
    items = cbor2.loads(encode(drawn.draw(messages_of(row)))[HEADER.size :])
    for wrong in (items[:-1], [*items, 1]):
        with pytest.raises(WireError, match=f"^malformed: {row.name}: expected {len(items)} fields, got"):
            decode(row.kind, cbor2.dumps(wrong), DEFAULT_LIMITS)


@each_row
@given(drawn=st.data())
def test_a_field_of_another_type_is_refused_by_name(row: KindRow, drawn: st.DataObject) -> None:
    items = cbor2.loads(encode(drawn.draw(messages_of(row)))[HEADER.size :])
    place = drawn.draw(st.integers(0, len(items) - 1))
    items[place] = drawn.draw(st.sampled_from([None, b"x", 1.0, {}, -1, math.nan, [[None]], cbor2.undefined]))
    name = attrs.fields(row.message)[place].name
    with pytest.raises(WireError, match=rf"{row.name}\.{name}"):
        decode(row.kind, cbor2.dumps(items), DEFAULT_LIMITS)


def _kind(message: type[attrs.AttrsInstance]) -> int:
    return BY_MESSAGE[message].kind


LONG = "x" * 1025
HUGE = "x" * 8193


@pytest.mark.parametrize(
    ("message", "items", "text"),
    [
        (Ping, 1, "malformed: Ping: expected an array of fields, got a number"),
        (Ping, {"number": 1}, "malformed: Ping: expected an array of fields, got a map"),
        (Ping, [True], "malformed: Ping.number: expected a whole number of 0 or more, got a truth value"),
        (Ping, [-1], "malformed: Ping.number: expected a whole number of 0 or more, got a negative number"),
        (Ping, [2**63], "oversize: Ping.number: expected a number of at most 2**63 - 1"),
        (Ping, [2**64], "malformed: Ping: the body is not plain CBOR"),
        (Ping, ["1"], "malformed: Ping.number: expected a whole number of 0 or more, got text"),
        (Hello, [1], f"version: Hello.version: this end speaks version {VERSION}, the other 1"),
        (
            Hello,
            [1, {"another": "layout"}],
            f"version: Hello.version: this end speaks version {VERSION}, the other 1",
        ),
        (
            Hello,
            [True, "client", "a", "b", "", "", "", 0],
            "malformed: Hello.version: expected a whole number",
        ),
        (Hello, [], "malformed: Hello: expected 8 fields, got 0"),
        (
            Hello,
            [VERSION, "admin", "a", "b", "", "", "", 0],
            "malformed: Hello.role: expected 'client' or 'broker', got text",
        ),
        (
            Hello,
            [VERSION, "client", LONG, "b", "", "", "", 0],
            "oversize: Hello.name: at most 1024 bytes of text",
        ),
        (Hello, [VERSION, "client", "ü" * 513, "b", "", "", "", 0], "bytes of text are taken, got 1026"),
        (
            Hello,
            [VERSION, "client", "a", "b", "", HUGE, "", 0],
            "oversize: Hello.token: at most 8192 bytes of text",
        ),
        (Advertise, [1, HUGE, ""], "oversize: Advertise.filter: at most 8192 bytes of text are taken, got"),
        (
            AdvertisementAdded,
            ["a", "x =="],
            "malformed: AdvertisementAdded.filter: expected a filter: column",
        ),
        (AdvertisementAdded, ["a", 1], "malformed: AdvertisementAdded.filter: expected text, got a number"),
        (
            SubscriptionAdded,
            ["a", "True", 1, 1, False],
            "malformed: SubscriptionAdded.ordered: expected a truth",
        ),
        (RouteIds, [["a", "a"], [], False], "malformed: RouteIds.advertisements: expected every id once"),
        (
            RouteIds,
            [[], ["a", 1], False],
            "malformed: RouteIds.subscriptions[1]: expected text, got a number",
        ),
        (RouteIds, [[], {}, False], "malformed: RouteIds.subscriptions: expected an array, got a map"),
        (
            Synchronise,
            [[["a"]], False],
            "malformed: Synchronise.advertisements[0]: expected an id and a filter",
        ),
        (
            Synchronise,
            [[["a", "True"], ["b", "x"]], False],
            "malformed: Synchronise.advertisements[1]: expected a",
        ),
        (Synchronise, [[], 1], "malformed: Synchronise.more: expected a truth value, got a number"),
        (OrderingMessage, [[1, -1]], "malformed: OrderingMessage.content[1]: expected a whole number"),
        (OrderingMessage, [[0] * 1025], "oversize: OrderingMessage.content: at most 1024 numbers are taken"),
    ],
)
def test_what_is_no_message_is_refused_with_a_reason(
    message: type[attrs.AttrsInstance], items: object, text: str
) -> None:
    with pytest.raises(WireError) as caught:
        decode(_kind(message), cbor2.dumps(items), DEFAULT_LIMITS)
    assert text in str(caught.value)


def test_no_error_repeats_a_token() -> None:
    for items in (
        [VERSION, "client", "a", "b", "", "s3cret" * 2000, "", 0],
        [VERSION, "s3cret", "a", "b", "", "s3cret", "", 0],
    ):
        with pytest.raises(WireError) as caught:
            decode(_kind(Hello), cbor2.dumps(items), DEFAULT_LIMITS)
        assert "s3cret" not in str(caught.value)


def test_a_message_larger_than_its_frame_may_be_is_not_made() -> None:
    with pytest.raises(WireError, match=r"^oversize: Fault: at most 16384 bytes are taken, got 16394"):
        encode(Fault("closing", "x" * 16380))
    assert encode(Deliver(1, 2), WireLimits(control_frame_bytes=5)) == frame_of(b"\x82\x01\x02", 0x33)


def test_pages_have_more_room_than_other_messages_and_no_more_than_a_page() -> None:
    ids = frozenset(f"alice@B1.k3f9/{n}" for n in range(3000))
    frame = encode(RouteIds(ids, frozenset()))
    assert len(frame) > DEFAULT_LIMITS.control_frame_bytes
    with pytest.raises(WireError, match=r"^oversize: RouteIds: at most 65536 bytes are taken, got"):
        encode(RouteIds(frozenset(f"{each}{n}" for each in ids for n in range(2)), frozenset()))
    assert decode(_kind(RouteIds), frame[HEADER.size :], DEFAULT_LIMITS) == RouteIds(ids, frozenset())


def test_sets_are_written_in_order() -> None:
    assert encode(RouteIds(frozenset("cab"), frozenset())) == encode(RouteIds(frozenset("bca"), frozenset()))
    assert cbor2.loads(encode(RouteIds(frozenset("cab"), frozenset()))[6:]) == [["a", "b", "c"], [], False]


def test_what_is_no_message_is_not_encoded() -> None:
    with pytest.raises(TypeError, match="Publication is not encoded here"):
        encode(Publication("a", 1, {}, ordered=True, frame=b""))  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match="Limits is not encoded here"):
        encode(DEFAULT_LIMITS)
