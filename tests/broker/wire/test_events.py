"""The compiled form's way to read events takes what the checks take, whether it is compiled here or not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.filters.constraints import Value
from broker.publication import Publication
from broker.wire import (
    DEFAULT_LIMITS,
    WireError,
    WireLimits,
    decoder,
    encode_publication,
    events,
    marked,
    publication_prefix,
    writing,
)
from broker.wire import publications as wire
from broker.wire.attributes import encoded_names
from broker.wire.limits import SMALL_BYTES
from tests.broker.wire.strategies import Published, frame_of, publications
from tests.broker.wire.test_publications import GOOD, REFUSED

VALUES: list[Value] = [
    *(0.0, -0.0, 1.5, -101.25, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308),
    *(float("inf"), float("nan"), 0, 23, 24, 2**63 - 1, -1, -(2**63)),
    *(True, False, "", "x" * 300, "\u00fc\U0001f600"),
]
NESTED: list[Value] = [None, [], {}, [1, None, "a"], {"a b": [{"c": 1.5}, {}]}, [[[[[[[[]]]]]]]], [0] * 1024]

Read = Callable[[list[bytes], WireLimits], list[Publication]]

damages = st.tuples(st.integers(0, 400), st.one_of(st.none(), st.integers(0, 255)))
"""A place in a body, and the byte that is put there; or the body ends there."""


def _outcome(read: Read, frames: list[bytes]) -> object:
    """Return what was read, exactly, and the words of the error."""
    try:
        return [(repr(each), each.frame) for each in read(frames, DEFAULT_LIMITS)], ""
    except WireError as error:
        return [(repr(each), getattr(each, "frame", None)) for each in error.messages], str(error)


def _agree(frames: list[bytes]) -> None:
    assert _outcome(wire._read_compiled, frames) == _outcome(wire._read_together, frames)


@given(st.lists(st.tuples(publications, st.integers(0, 15)), max_size=5))
def test_sound_events_are_read_alike(several: list[tuple[Published, int]]) -> None:
    _agree([marked(each.frame, mark) for each, mark in several])


@given(publications, st.lists(damages, min_size=1, max_size=3))
def test_damaged_events_are_read_alike(published: Published, damaged: list[tuple[int, int | None]]) -> None:
    body = bytearray(published.frame[6:])
    for place, octet in damaged:
        if octet is None:
            del body[place:]
        elif place < len(body):
            body[place] = octet
    _agree([GOOD.frame, frame_of(bytes(body)), GOOD.frame])


@pytest.mark.parametrize("body", [body for body, _ in REFUSED])
def test_what_is_refused_is_refused_alike(body: bytes) -> None:
    _agree([GOOD.frame, frame_of(body), GOOD.frame])


@pytest.mark.parametrize("value", VALUES + NESTED)
def test_every_value_is_read_exactly(value: Value) -> None:
    frame = encode_publication(publication_prefix("a"), 1, 0, {"x": value}, b"", ordered=True)
    [read] = wire._read_compiled([frame], DEFAULT_LIMITS)
    assert repr(read.attributes) == repr({"x": value})


def test_a_usual_event_is_left_to_nobody_else() -> None:
    reader = events.checking_reader()
    events.add_name("kind")
    events.add_name("price")
    for _ in range(2):
        assert reader.read(GOOD.frame)
        assert (reader.publisher, reader.sequence, reader.published_ns) == (GOOD.publisher, 1, 5)
        assert reader.attributes == GOOD.attributes
        assert GOOD.frame[reader.payload_at :] == GOOD.payload


def test_a_reader_is_not_misled_by_the_event_before() -> None:
    reader = events.checking_reader()
    events.add_name("a")
    events.add_name("b")
    prefix = publication_prefix("p")
    several: list[dict[str, Value]] = [
        {"a": 1, "b": 2},
        {"b": 1, "a": 2},
        {"b": 3},
        {},
        {"a": 4, "b": "a"},
        {"a": "b", "b": "a"},
        {"a": "b", "b": "ab"},
        {"b": "ab"},
        {"a": "ab"},
        {"a": 1.5},
        {"a": "ab"},
    ]
    for attributes in several:
        assert reader.read(encode_publication(prefix, 1, 0, attributes, b"", ordered=True))
        assert reader.attributes == attributes


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "a", "ab", "\u00fc", 1, 1.5, True])
        ),
        max_size=6,
    )
)
def test_events_that_repeat_something_are_read_alike(several: list[dict[str, Value]]) -> None:
    prefix = publication_prefix("p")
    _agree([encode_publication(prefix, 1, 0, attributes, b"", ordered=True) for attributes in several])


@pytest.mark.parametrize("size", range(len(GOOD.frame) - 6))
def test_an_event_that_ends_too_early_is_refused_alike(size: int) -> None:
    _agree([GOOD.frame, frame_of(GOOD.frame[6:][:size]), GOOD.frame])


@given(st.lists(publications, max_size=4), st.integers(0, 40), st.lists(damages, max_size=2))
def test_frames_are_cut_alike(
    several: list[Published], missing: int, damaged: list[tuple[int, int | None]]
) -> None:
    stream = bytearray(b"".join(each.frame for each in several))
    for place, octet in damaged:
        if octet is not None and place < len(stream):
            stream[place] = octet
    content = bytes(stream)
    ends = []
    for cut in (events.cut, decoder._cut_plainly):
        frames: list[bytes] = []
        ends.append((cut(content, 0, max(0, len(content) - missing), 0x0E, frames), frames))
    assert ends[0] == ends[1]


@given(publications)
def test_events_are_written_alike(published: Published) -> None:
    fields = published.sequence, published.published_ns, published.attributes, published.payload
    prefix = publication_prefix(published.publisher)
    joined = wire._joined(prefix, *fields, published.ordered)
    written = writing.write_usual(encoded_names, prefix, *fields, published.ordered)
    is_flat = not any(each is None or isinstance(each, list | dict) for each in published.attributes.values())
    is_small = len(joined) - len(published.payload) < SMALL_BYTES - 50
    is_usual = is_flat and is_small and len(published.attributes) < 24
    assert written == joined if is_usual else written in {joined, None}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("size", [0, 23, 24, 255, 256, 65535, 65536])
def test_every_value_and_size_is_written_alike(value: Value, size: int) -> None:
    fields = publication_prefix("a"), 2**63 - 1, 2**63 - 1, {"x": value}, bytes(size), False
    joined = wire._joined(*fields)
    assert writing.write_usual(encoded_names, *fields) == joined


def test_what_cannot_be_published_is_not_written() -> None:
    for name, value in (
        ("a b", 1),
        ("x", None),
        ("x", [1]),
        ("x", 2**63),
        ("x", -(2**63) - 1),
        ("x", "y" * 500),
        ("x", "\udc00"),
    ):
        fields = publication_prefix("a"), 1, 0, {name: value}, b"", False
        assert writing.write_usual(encoded_names, *fields) is None
