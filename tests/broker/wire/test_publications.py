"""Publications in frames: whole, marked, and everything that makes one be refused."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.messages import Publication
from broker.wire import (
    DEFAULT_LIMITS,
    WireError,
    WireLimits,
    decode_delivery,
    encode_publication,
    marked,
    origin_of,
    plain,
    publication_prefix,
    read_publications,
)
from broker.wire.cbor import SEPARATOR
from broker.wire.kinds import DecoderStage
from tests.broker.wire.strategies import Published, decoder_at, frame_of, publications

GOOD = Published("alice@B1.k3f9/1", 1, 5, {"kind": "trade", "price": 101.5}, b"payload", ordered=True)


@given(publications)
def test_a_publication_survives_its_frame(published: Published) -> None:
    assert decode_delivery(published.frame) == (
        published.publisher,
        published.sequence,
        published.published_ns,
        published.attributes,
        published.payload,
        published.ordered,
    )


@given(publications)
def test_where_an_event_comes_from_is_read_without_decoding_it(published: Published) -> None:
    frame, publisher, sequence = published.frame, published.publisher, published.sequence
    origin = publisher.encode(), published.ordered, sequence
    assert origin_of(frame) == origin
    short = cbor2.dumps([publisher, sequence, 1, {}, b""])  # As other encoders would write it.
    assert origin_of(frame[:6] + short) == origin


@given(st.lists(publications, max_size=5))
def test_publications_decoded_together_are_what_each_is_alone(several: list[Published]) -> None:
    frames = [each.frame for each in several]
    together = [
        (each.publisher, each.sequence, each.published_ns, each.attributes, each.ordered)
        for each in read_publications(frames, DEFAULT_LIMITS)
    ]
    alone = [decode_delivery(frame) for frame in frames]
    assert together == [(*each[:4], each[5]) for each in alone]


@given(publications, st.integers(0, 15))
def test_a_link_reads_the_mark_and_keeps_the_plain_frame(published: Published, mark: int) -> None:
    [read] = decoder_at(DecoderStage.LINK).feed(marked(published.frame, mark))
    assert isinstance(read, Publication)
    assert (read.publisher, read.sequence) == (published.publisher, published.sequence)
    assert (read.attributes, read.ordered) == (published.attributes, published.ordered)
    assert (read.frame, read.mark) == (published.frame, mark)


@given(publications, st.integers(0, 15), st.integers(0, 15))
def test_a_mark_replaces_the_one_before(published: Published, first: int, second: int) -> None:
    frame = marked(published.frame, first)
    assert marked(frame, second) == marked(published.frame, second)
    assert plain(frame) == marked(frame, 0) == published.frame


@pytest.mark.parametrize("mark", [-1, 16])
def test_a_mark_has_four_bits(mark: int) -> None:
    with pytest.raises(ValueError, match="a mark is 0 to 15"):
        marked(GOOD.frame, mark)


def _body(**changes: object) -> bytes:
    fields = {
        "publisher": "alice",
        "sequence": 1,
        "published_ns": 5,
        "attributes": {"kind": "trade"},
        "payload": b"",
    }
    return cbor2.dumps(list((fields | changes).values()))


REFUSED = [
    (cbor2.dumps("text"), "malformed: Publication: expected an array of fields, got text"),
    (cbor2.dumps("texts"), "malformed: Publication: expected an array of fields, got text"),
    (cbor2.dumps({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}), "expected an array of fields, got a map"),
    (cbor2.dumps(1), "expected an array of fields, got a number"),
    (cbor2.dumps(["a", 1, 1, {}]), "expected 5 fields, got 4"),
    (_body(more=1), "expected 5 fields, got 6"),
    (_body(publisher=b"alice"), "Publication.publisher: expected text, got bytes"),
    (_body(publisher="x" * 1025), "oversize: Publication.publisher: at most 1024 bytes of text"),
    (_body(sequence=True), "Publication.sequence: expected a whole number of 0 or more, got a truth value"),
    (_body(sequence=1.0), "Publication.sequence: expected a whole number of 0 or more, got a floating"),
    (_body(sequence=-1), "Publication.sequence: expected a whole number of 0 or more, got a negative number"),
    (_body(sequence=0), "Publication.sequence: expected a number of 1 or more, got 0"),
    (_body(sequence=2**63), "oversize: Publication.sequence: expected a number of at most"),
    (_body(published_ns=False), "Publication.published_ns: expected a whole number"),
    (_body(published_ns=-1), "Publication.published_ns: expected a whole number"),
    (_body(published_ns=2**63), "oversize: Publication.published_ns"),
    (_body(attributes=[]), "Publication.attributes: expected a map, got an array"),
    (_body(attributes={b"kind": 1}), "Publication.attributes: name: expected text, got bytes"),
    (_body(attributes={"a b": 1}), "joined by dots, got 'a b'"),
    (_body(attributes={"kind": b""}), r"got bytes"),
    (_body(attributes={"kind": cbor2.undefined}), r"got UndefinedType"),
    (_body(attributes={"kind": cbor2.CBORSimpleValue(99)}), r"got CBORSimpleValue"),
    (_body(attributes={"kind": [[b""]]}), "Publication.attributes[kind][0][0]: expected text"),
    (_body(attributes={"kind": {"a": 2**63}}), "oversize: Publication.attributes[kind][a]"),
    (_body(attributes={"kind": {"": 1}}), "expected keys of 1 to 255 bytes, got an empty one"),
    (_body(attributes={"kind": {1: 1}}), "key"),
    (_body(attributes={"kind": [[[[[[[[[]]]]]]]]]}), "at most 8 levels of lists and maps are taken, got 9"),
    (_body(attributes={"kind": [0] * 1025}), "at most 1024 values in lists and maps are taken, got 1025"),
    (b"\x85\x61a\x01\x01\xa1\x61a" + b"\x81" * 1000 + b"\x00\x40", "the body is not plain CBOR"),
    (b"\x85\x61a\x01\x01\xa1\x61a\xa2\x61a\x01\x61a\x02\x40", "Duplicate map key: 'a'"),
    (_body(attributes={"kind": 2**63}), "oversize: Publication.attributes[kind]: expected a whole number"),
    (_body(attributes={"kind": -(2**63) - 1}), "oversize: Publication.attributes[kind]"),
    (_body(attributes={"kind": 2**64}), "tags are not used in frames"),
    (_body(attributes={"kind": "x" * 65537}), "at most 65536 bytes of text are taken, got 65537"),
    (_body(attributes={f"a{n}": n for n in range(257)}), "at most 256 attributes are taken, got 257"),
    (_body(payload="text"), "Publication.payload: expected bytes, got text"),
    (_body(payload=bytes((1 << 20) + 1)), "Publication.payload: at most 1048576 bytes are taken"),
    (
        _body(attributes={f"a{n}": "x" * 65000 for n in range(5)}),
        "oversize: Publication without its payload: at most 263232 bytes",
    ),
    (_body() + b"\x00", "more bytes after it"),
    (_body() + SEPARATOR, "more bytes after it"),
    (_body()[:-1], "ends within an item"),
    (b"", "ends within an item"),
    (b"\x85\x61a\x01\x01\xa2\x61a\x01\x61a\x02\x40", "Duplicate map key: 'a'"),
    (b"\x85\x61a\x01\x01\xa1\x01\x02\x40", "map key"),
    (b"\x9f\x61a\x01\x01\xa0\x40\xff", "indefinite length"),
    (b"\x85\x61a\x01\x01\xa1\x61a\xc1\x00\x40", "tags are not used in frames"),
    (b"\x85\x61a\x01\x01\xa1\x61a\xd8\x1c\x61b\x40", "tags are not used in frames"),
    (b"\x85\x61a\xc2\x41\x01\x01\xa0\x40", "tags are not used in frames"),
    (b"\x85\x61\xff\x01\x01\xa0\x40", "utf-8"),
]


@pytest.mark.parametrize(("body", "text"), REFUSED)
def test_what_is_no_publication_is_refused_with_a_reason(body: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        decode_delivery(frame_of(body))
    assert text in str(caught.value)


@pytest.mark.parametrize("body", [body for body, _ in REFUSED])
def test_a_bad_publication_stops_nothing_before_it_and_everything_behind_it(body: bytes) -> None:
    with pytest.raises(WireError) as caught:
        read_publications([GOOD.frame, GOOD.frame, frame_of(body), GOOD.frame], DEFAULT_LIMITS)
    assert [each.frame for each in caught.value.messages if isinstance(each, Publication)] == [GOOD.frame] * 2


def test_a_body_that_is_alone_or_among_others_is_judged_alike() -> None:
    # Cut off here and continued there, two wrong bodies would read as two right ones if they were joined.
    whole = _body(payload=bytes(40))
    frames = [frame_of(whole[:-20]), frame_of(whole[-20:] + _body())]
    with pytest.raises(WireError):
        read_publications(frames, DEFAULT_LIMITS)


@pytest.mark.parametrize("payload", [SEPARATOR, SEPARATOR * 20, b"\xff" * 600, SEPARATOR[:-1]])
def test_a_payload_may_be_anything(payload: bytes) -> None:
    frame = encode_publication(publication_prefix("a"), 1, 0, {"x": 2**62}, payload, ordered=False)
    read = read_publications([GOOD.frame, frame, GOOD.frame], DEFAULT_LIMITS)
    assert decode_delivery(read[1].frame)[4] == payload


@pytest.mark.parametrize("size", [0, 1, 23, 24, 255, 256, 65535, 65536, 1 << 20])
def test_a_payload_may_have_up_to_1_mib(size: int) -> None:
    frame = encode_publication(publication_prefix("a"), 1, 0, {"x": "y" * 300}, bytes(size), ordered=False)
    assert decode_delivery(frame)[4] == bytes(size)
    assert decoder_at(DecoderStage.CLIENT).feed(frame) != []


def test_the_largest_publication_that_can_be_made_is_read() -> None:
    attributes = {f"a{n}": "x" * 65000 for n in range(4)} | {"rest": "x" * (262144 - 260_033)}
    prefix = publication_prefix("x" * 1024)
    frame = encode_publication(prefix, 2**63 - 1, 2**63 - 1, attributes, bytes(1 << 20), ordered=True)
    assert len(decode_delivery(frame)[3]) == 5
    with pytest.raises(
        WireError, match=r"Publication\.attributes: at most 262144 bytes are taken, got 262147"
    ):
        encode_publication(prefix, 1, 0, attributes | {"b": 1}, bytes(1 << 20), ordered=True)


def test_publishers_learn_what_no_broker_would_take() -> None:
    prefix = publication_prefix("a")
    with pytest.raises(WireError, match="at most 1048576 bytes are taken, got 1048577"):
        encode_publication(prefix, 1, 0, {}, bytes((1 << 20) + 1), ordered=False)
    with pytest.raises(WireError, match=r"Publication\.payload: expected bytes, got text"):
        encode_publication(prefix, 1, 0, {}, "text", ordered=False)  # type: ignore[arg-type]  # the point
    with pytest.raises(WireError, match=r"attributes\[x\]: expected text, a truth value, a number"):
        encode_publication(prefix, 1, 0, {"x": b""}, b"", ordered=False)
    with pytest.raises(WireError, match=r"Publication\.publisher: at most 1024 bytes"):
        publication_prefix("x" * 1025)


def test_a_broker_may_set_smaller_limits() -> None:
    frame = encode_publication(publication_prefix("a"), 1, 0, {"x": 1}, bytes(600), ordered=False)
    with pytest.raises(WireError, match=r"Publication\.payload: at most 599 bytes are taken, got 600"):
        decode_delivery(frame, WireLimits(payload_bytes=599))


@pytest.mark.parametrize("part", ["payload_bytes", "attributes_bytes", "text_bytes", "id_bytes"])
def test_no_limit_of_a_part_is_below_what_nobody_counts(part: str) -> None:
    assert getattr(WireLimits(**{part: 512}), part) == 512
    with pytest.raises(ValueError, match=part):
        WireLimits(**{part: 511})
