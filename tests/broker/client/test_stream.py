import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import messages as m
from broker.client.stream import Run, Stream
from broker.wire import DEFAULT_LIMITS, WireError, encode
from tests.broker.client.scripted import frame, welcome

MESSAGES = [m.Grant(5), m.Deliver(1, 2), m.Flushed(3), m.Ping(1)]


@st.composite
def conversations(draw: st.DrawFn) -> list[object]:
    """Publications and other messages in any order."""
    items = st.one_of(st.sampled_from(MESSAGES), st.integers(0, 300).map(lambda size: frame(1, bytes(size))))
    return draw(st.lists(items, max_size=30))


def flat(found: list[object]) -> list[object]:
    """Runs taken apart: how a stream was cut decides where they end."""
    return [each for item in found for each in (item.frames if isinstance(item, Run) else [item])]


@given(conversations(), st.lists(st.integers(1, 400), min_size=1, max_size=20))
def test_what_comes_out_does_not_depend_on_how_the_stream_was_cut(
    said: list[object], sizes: list[int]
) -> None:
    sent = b"".join(each if isinstance(each, bytes) else encode(each) for each in [welcome(), *said])  # type: ignore[arg-type]  # all of them are messages
    stream = Stream()
    found: list[object] = []
    position = turn = 0
    while position < len(sent):
        size = sizes[turn % len(sizes)]
        found += stream.feed(sent[position : position + size])
        position += size
        turn += 1
    assert flat(found) == [welcome(), *said]


def test_publications_that_arrive_together_are_one_run() -> None:
    stream = Stream()
    first, second = frame(1), frame(2, b"payload")
    found = list(stream.feed(encode(welcome()) + first + second + encode(m.Ping(1))))
    assert found == [welcome(), Run([first, second], len(first) + len(second)), m.Ping(1)]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"\0\0\0\2\x77\0", "unknown"),
        (b"\0\0\0\1\x05", "malformed"),
        (b"\0\0\0\3\x05\1\x80", "malformed"),
        (b"\0\0\0\3\x05\0\x80", "malformed"),
        (encode(m.Flush(1)), "unexpected"),
        (encode(welcome()), "unexpected"),
        ((DEFAULT_LIMITS.publication_frame_bytes + 1).to_bytes(4), "oversize"),
        ((DEFAULT_LIMITS.control_frame_bytes + 1).to_bytes(4) + b"\x05\0" + bytes(20_000), "oversize"),
    ],
)
def test_what_a_broker_must_not_send_is_refused(sent: bytes, code: str) -> None:
    stream = Stream()
    list(stream.feed(encode(welcome())))
    with pytest.raises(WireError) as caught:
        list(stream.feed(sent))
    assert caught.value.code == code


def test_nothing_but_an_answer_may_come_before_the_welcome() -> None:
    with pytest.raises(WireError, match="Grant"):
        list(Stream().feed(encode(m.Grant(1))))
