"""A connection's incoming half: any cut of the stream, any order of frames."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.messages import (
    Advertise,
    Advertised,
    AdvertisementWithdrawn,
    Deliver,
    Fault,
    Flushed,
    Grant,
    Hello,
    Ping,
    Publication,
    Subscribe,
    Welcome,
)
from broker.wire import (
    DEFAULT_LIMITS,
    VERSION,
    Decoder,
    DeliveredBatch,
    Peer,
    WireError,
    WireLimits,
    encode,
    marked,
)
from broker.wire.kinds import ROWS, DecoderStage, KindRow
from tests.broker.wire.strategies import (
    CONTROL_ROWS,
    Published,
    decoder_at,
    frame_of,
    hello,
    messages_of,
    publications,
)

PUBLICATION = Published("alice@B1.k3f9/1", 1, 5, {"kind": "trade"}, b"payload", ordered=True).frame
WELCOME = encode(Welcome(VERSION, "B1", "k3f9", "fifo", 1 << 20, 5000))


def _decoder_of(peer: Peer) -> Decoder:
    """A decoder that has come to where its peer sends publications."""
    if peer is Peer.NEIGHBOUR:
        return Decoder(DEFAULT_LIMITS, peer)
    return decoder_at(
        {Peer.DIALLER: DecoderStage.CLIENT, Peer.UPLINK: DecoderStage.LINK, Peer.SERVER: DecoderStage.SERVER}[
            peer
        ]
    )


def _controls_of(peer: Peer) -> st.SearchStrategy[bytes]:
    """What such a peer may send, but publications, what announces them, and what ends everything."""
    stage = _decoder_of(peer).stage
    rows = [row for row in CONTROL_ROWS if stage in row.stages and row.message not in {Fault, Deliver}]
    return st.sampled_from(rows).flatmap(messages_of).map(encode)


def _flagged(published: Published, flags: int) -> bytes:
    """The publication's frame with other flags."""
    return published.frame[:5] + bytes([flags]) + published.frame[6:]


_FLAGS = {
    Peer.DIALLER: [0, 1],
    Peer.UPLINK: [0, 1, 0x10, 0xF1],
    Peer.SERVER: [0, 1, 2, 3],
    Peer.NEIGHBOUR: [0, 1, 2, 3, 0x10, 0xF1],
}


def _published_to(peer: Peer) -> st.SearchStrategy[bytes]:
    """Publications as such a peer may send them; to a client with what announces them."""
    frames = st.builds(_flagged, publications, st.sampled_from(_FLAGS[peer]))
    if peer is not Peer.SERVER:
        return frames
    several = st.lists(frames, min_size=1, max_size=4)
    return st.builds(
        lambda number, found: encode(Deliver(number, len(found))) + b"".join(found),
        st.integers(1, 3),
        several,
    )


def _frames_of(peer: Peer) -> st.SearchStrategy[bytes]:
    return st.one_of(_published_to(peer), _controls_of(peer))


conversations = st.sampled_from(Peer).flatmap(
    lambda peer: st.tuples(st.just(peer), st.lists(_frames_of(peer), min_size=1, max_size=5))
)
"""Who sends, and what."""


def _seen(messages: list[object]) -> list[object]:
    """What can be compared: publications have no equality of their own, and batches come in parts."""
    found: list[object] = []
    for each in messages:
        if isinstance(each, Publication):
            found.append(
                (each.publisher, each.sequence, each.attributes, each.ordered, each.frame, each.mark)
            )
        elif isinstance(each, DeliveredBatch):
            assert each.size_bytes == sum(map(len, each.frames))
            found += [(each.number, frame) for frame in each.frames]
        else:
            found.append(each)
    return found


def _chunks(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[a:b] for a, b in pairwise(places)]


def _fed(decoder: Decoder, chunks: list[bytes]) -> tuple[list[object], str | None]:
    """Everything that comes out of the chunks, and the error if there is one."""
    messages: list[object] = []
    for chunk in chunks:
        try:
            messages += decoder.feed(chunk)
        except WireError as error:
            return _seen(messages + error.messages), str(error)
    return _seen(messages), None


@given(conversations, st.lists(st.integers(0, 10_000), max_size=8))
def test_the_cut_of_the_stream_does_not_matter(sent: tuple[Peer, list[bytes]], cuts: list[int]) -> None:
    peer, frames = sent
    stream = b"".join(frames)
    whole, error = _fed(_decoder_of(peer), [stream])
    assert error is None
    assert len(whole) >= len(frames)
    assert _fed(_decoder_of(peer), _chunks(stream, cuts)) == (whole, None)
    assert _fed(_decoder_of(peer), [bytes([each]) for each in stream]) == (whole, None)


@given(conversations, st.data(), st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=300)
def test_a_damaged_stream_is_decoded_or_refused_wherever_it_is_cut(
    sent: tuple[Peer, list[bytes]], drawn: st.DataObject, cuts: list[int]
) -> None:
    peer, frames = sent
    stream = bytearray(b"".join(frames))
    for _ in range(drawn.draw(st.integers(1, 3))):
        place = drawn.draw(st.integers(0, len(stream) - 1))
        stream[place : place + drawn.draw(st.integers(0, 2))] = drawn.draw(st.binary(max_size=3))
        stream += b"\x00"
    whole = _fed(_decoder_of(peer), [bytes(stream)])
    parts = _fed(_decoder_of(peer), _chunks(bytes(stream), cuts))
    assert repr(parts[0]) == repr(whole[0]), "a number that is none equals nothing, not even itself"
    assert (parts[1] is None) == (whole[1] is None)


@given(st.lists(publications, min_size=1, max_size=6), st.lists(st.integers(0, 10_000), max_size=6))
def test_a_client_gets_a_batch_in_as_many_parts_as_it_arrives_in(
    several: list[Published], cuts: list[int]
) -> None:
    frames = [each.frame for each in several]
    stream = b"".join([encode(Deliver(7, len(frames))), *frames, encode(Flushed(1))])
    decoder = decoder_at(DecoderStage.SERVER)
    seen = [message for chunk in _chunks(stream, cuts) for message in decoder.feed(chunk)]
    assert seen.pop() == Flushed(1)
    batches = [each for each in seen if isinstance(each, DeliveredBatch)]
    assert len(batches) == len(seen)
    assert {each.number for each in batches} == {7}
    assert [frame for each in batches for frame in each.frames] == frames


def test_batches_of_several_subscriptions_stay_apart() -> None:
    stream = encode(Deliver(1, 2)) + PUBLICATION * 2 + encode(Deliver(2, 1)) + PUBLICATION + encode(Ping(1))
    assert decoder_at(DecoderStage.SERVER).feed(stream) == [
        DeliveredBatch(1, [PUBLICATION] * 2, 2 * len(PUBLICATION)),
        DeliveredBatch(2, [PUBLICATION], len(PUBLICATION)),
        Ping(1),
    ]


def test_publications_that_arrive_together_are_one_batch() -> None:
    decoder = decoder_at(DecoderStage.SERVER)
    stream = encode(Deliver(1, 5)) + PUBLICATION * 5 + encode(Ping(1))
    (batch,) = decoder.feed(stream[: -len(encode(Ping(1)))])
    assert batch == DeliveredBatch(1, [PUBLICATION] * 5, 5 * len(PUBLICATION))


@pytest.mark.parametrize("stage", [DecoderStage.CLIENT, DecoderStage.LINK, DecoderStage.SERVER])
def test_a_publication_that_is_too_large_is_refused_within_a_run(stage: DecoderStage) -> None:
    """It is whole, and those before and behind it are right."""
    limits = WireLimits(payload_bytes=1000, attributes_bytes=512, id_bytes=512)
    most = limits.publication_frame_bytes
    fits, large = frame_of(bytes(most - 2)), frame_of(bytes(most - 1))
    stream = PUBLICATION * 20 + (fits if stage is DecoderStage.SERVER else PUBLICATION) + large + PUBLICATION
    announced = encode(Deliver(1, 23)) if stage is DecoderStage.SERVER else b""
    for size in (len(stream), 100):
        decoder = decoder_at(stage, limits)
        decoder.feed(announced)
        chunks = [stream[place : place + size] for place in range(0, len(stream), size)]
        seen, error = _fed(decoder, chunks)
        assert len(seen) == 21
        assert error == f"oversize: Publication: at most {most} bytes are taken, got {most + 1}"


@pytest.mark.parametrize(
    ("stage", "flags"), [(DecoderStage.CLIENT, 2), (DecoderStage.LINK, 2), (DecoderStage.SERVER, 0x10)]
)
def test_a_publication_with_flags_that_are_not_used_is_refused_within_a_run(
    stage: DecoderStage, flags: int
) -> None:
    decoder = decoder_at(stage)
    if stage is DecoderStage.SERVER:
        decoder.feed(encode(Deliver(1, 5)))
    seen, error = _fed(decoder, [PUBLICATION * 3 + PUBLICATION[:5] + bytes([flags]) + PUBLICATION[6:]])
    assert len(seen) == 3
    assert error == f"malformed: Publication: flags 0x{flags:02x} are not used here"


def test_more_publications_than_were_announced_are_refused_behind_those_that_were() -> None:
    decoder = decoder_at(DecoderStage.SERVER)
    with pytest.raises(WireError, match="no Deliver announced it") as caught:
        decoder.feed(encode(Deliver(1, 2)) + PUBLICATION * 2 + PUBLICATION * 3)
    assert caught.value.messages == [DeliveredBatch(1, [PUBLICATION] * 2, 2 * len(PUBLICATION))]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_chunk_may_be_used_again_after_it_was_read(kind: type) -> None:
    buffer = bytearray(PUBLICATION + PUBLICATION[:20])
    decoder = decoder_at(DecoderStage.CLIENT)
    first = decoder.feed(kind(buffer))
    buffer[:] = bytes(len(buffer))
    second = decoder.feed(PUBLICATION[20:])
    assert [each.frame for each in first + second if isinstance(each, Publication)] == [PUBLICATION] * 2


def test_a_dialler_sends_hello_and_waits_for_the_answer() -> None:
    for role, stage in (("client", DecoderStage.CLIENT), ("broker", DecoderStage.LINK)):
        decoder = Decoder(DEFAULT_LIMITS, Peer.DIALLER)
        assert decoder.feed(encode(hello(role))) == [hello(role)]
        decoder.welcomed()
        assert decoder.stage is stage


def test_an_uplink_and_a_clients_broker_answer() -> None:
    for peer, stage in ((Peer.UPLINK, DecoderStage.LINK), (Peer.SERVER, DecoderStage.SERVER)):
        decoder = Decoder(DEFAULT_LIMITS, peer)
        assert len(decoder.feed(WELCOME)) == 1
        assert decoder.stage is stage


UNEXPECTED = [
    (DecoderStage.HELLO, encode(Ping(1)), "Ping: this end expects the first frame of whoever dialled here"),
    (
        DecoderStage.HELLO,
        PUBLICATION,
        "Publication: this end expects the first frame of whoever dialled here",
    ),
    (DecoderStage.HELLO, WELCOME, "Welcome: this end expects the first frame"),
    (DecoderStage.GREETED, PUBLICATION, "Publication: this end expects nothing before the answer to Hello"),
    (DecoderStage.GREETED, encode(hello()), "Hello: this end expects nothing before the answer to Hello"),
    (DecoderStage.WELCOME, PUBLICATION, "Publication: this end expects the answer to Hello"),
    (DecoderStage.WELCOME, encode(hello()), "Hello: this end expects the answer to Hello"),
    (DecoderStage.CLIENT, encode(hello()), "Hello: this end expects a client's frames here"),
    (DecoderStage.CLIENT, encode(Grant(1)), "Grant: this end expects a client's frames here"),
    (
        DecoderStage.CLIENT,
        encode(AdvertisementWithdrawn("a")),
        "AdvertisementWithdrawn: this end expects a client's",
    ),
    (DecoderStage.CLIENT, encode(Advertised(1, "a", 0)), "Advertised: this end expects a client's frames"),
    (DecoderStage.LINK, WELCOME, "Welcome: this end expects a broker's frames on a link"),
    (
        DecoderStage.LINK,
        encode(Advertise(1, "True", "")),
        "Advertise: this end expects a broker's frames on a link",
    ),
    (DecoderStage.SERVER, WELCOME, "Welcome: this end expects a broker's frames to its client"),
    (
        DecoderStage.SERVER,
        encode(Advertise(1, "True", "")),
        "Advertise: this end expects a broker's frames to its",
    ),
    (DecoderStage.SERVER, PUBLICATION, "Publication: no Deliver announced it here"),
    (
        DecoderStage.SERVER,
        encode(Deliver(1, 1)) + PUBLICATION * 2,
        "Publication: no Deliver announced it here",
    ),
    (
        DecoderStage.SERVER,
        encode(Deliver(1, 2)) + PUBLICATION + encode(Ping(1)),
        "Ping: 1 publications are due here",
    ),
    (
        DecoderStage.SERVER,
        encode(Deliver(1, 2)) + encode(Deliver(1, 2)),
        "Deliver: 2 publications are due here",
    ),
    (
        DecoderStage.CLIENT,
        encode(Fault("a", "b")) + encode(Ping(1)),
        "Ping: this end expects nothing after Fault",
    ),
]


@pytest.mark.parametrize(("stage", "stream", "text"), UNEXPECTED)
def test_frames_out_of_order_are_refused(stage: DecoderStage, stream: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        decoder_at(stage).feed(stream)
    assert caught.value.code == "unexpected"
    assert text in caught.value.text


@pytest.mark.parametrize("row", CONTROL_ROWS, ids=lambda row: row.name)
@given(drawn=st.data())
@settings(max_examples=5)
def test_a_frame_is_taken_exactly_where_the_table_allows_it(row: KindRow, drawn: st.DataObject) -> None:
    frame = encode(drawn.draw(messages_of(row)))
    for stage in set(DecoderStage) - {DecoderStage.OVER}:
        decoder = decoder_at(stage)
        if stage in row.stages:
            decoder.feed(frame)
        else:
            with pytest.raises(WireError, match=r"^unexpected"):
                decoder.feed(frame)


def test_a_hello_and_what_follows_it_too_soon_are_distinguished() -> None:
    with pytest.raises(WireError, match=r"^unexpected") as caught:
        Decoder(DEFAULT_LIMITS, Peer.DIALLER).feed(encode(hello()) + encode(Ping(1)))
    assert caught.value.messages == [hello()]


@pytest.mark.parametrize(
    ("stage", "frame", "text"),
    [
        (DecoderStage.CLIENT, frame_of(b"", 0x7F), "unknown: kind 0x7f: this end knows no such frame"),
        (DecoderStage.CLIENT, frame_of(b"", 0x00), "unknown: kind 0x00: this end knows no such frame"),
        (DecoderStage.CLIENT, b"\x00\x00\x00\x01\x10\x00", "expected a length of 2 or more, got 1"),
        (DecoderStage.CLIENT, bytes(6), "malformed: frame: expected a length of 2 or more, got 0"),
        (DecoderStage.CLIENT, marked(PUBLICATION, 1), "malformed: Publication: flags 0x11 are not used here"),
        (
            DecoderStage.LINK,
            frame_of(b"", 0x10, 0x02),
            "malformed: Publication: flags 0x02 are not used here",
        ),
        (
            DecoderStage.CLIENT,
            frame_of(b"\x81\x01", 0x05, 0x01),
            "malformed: Ping: flags 0x01 are not used here",
        ),
        (
            DecoderStage.CLIENT,
            frame_of(b"\x81\x01\x00", 0x05),
            "malformed: Ping: expected one item, got more bytes",
        ),
        (
            DecoderStage.SERVER,
            frame_of(b"\x82\x01\x00", 0x33),
            "malformed: Deliver.count: expected 1 or more, got 0",
        ),
    ],
)
def test_a_header_that_is_wrong_is_refused(stage: DecoderStage, frame: bytes, text: str) -> None:
    with pytest.raises(WireError) as caught:
        decoder_at(stage).feed(frame)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("stage", "header", "text"),
    [
        (DecoderStage.CLIENT, (1 << 20) + (1 << 19), "oversize: frame: at most 1311808 bytes are taken, got"),
        (DecoderStage.HELLO, 16385, "oversize: frame: at most 16384 bytes are taken, got 16385"),
        (DecoderStage.LINK, 1442881, "oversize: frame: at most 1442880 bytes are taken, got 1442881"),
        (DecoderStage.SERVER, 1311809, "oversize: frame: at most 1311808 bytes are taken, got 1311809"),
        (DecoderStage.CLIENT, 1, "malformed: frame: expected a length of 2 or more, got 1"),
    ],
)
def test_a_length_is_judged_before_anything_else_is_there(
    stage: DecoderStage, header: int, text: str
) -> None:
    decoder = decoder_at(stage)
    assert decoder.feed(header.to_bytes(4)[:3]) == []
    with pytest.raises(WireError) as caught:
        decoder.feed(header.to_bytes(4)[3:])
    assert text in str(caught.value)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_kind_has_its_own_limit(row: KindRow) -> None:
    limits = WireLimits(
        payload_bytes=1000,
        attributes_bytes=1000,
        control_frame_bytes=100,
        page_frame_bytes=200,
    )
    limit = getattr(limits, row.size.value)
    stage = next(stage for stage in DecoderStage if stage in row.stages)
    decoder = decoder_at(DecoderStage.LINK if DecoderStage.LINK in row.stages else stage)
    decoder.limits = limits
    decoder._enter(decoder.stage)
    assert decoder.feed(limit.to_bytes(4) + bytes([row.kind, 0])) == []
    decoder._rest.clear()
    with pytest.raises(WireError, match=f"^oversize: (frame|{row.name}): at most {limit} bytes"):
        decoder.feed((limit + 1).to_bytes(4) + bytes([row.kind, 0]))


def test_a_decoder_that_refused_a_frame_refuses_everything() -> None:
    decoder = decoder_at(DecoderStage.CLIENT)
    for frame in (b"\x00\x00\x00\x02\x7f\x00", encode(Ping(1))):
        with pytest.raises(WireError, match=r"^unknown: kind 0x7f"):
            decoder.feed(frame)


def test_what_came_before_the_bad_frame_is_not_lost() -> None:
    subscribe = Subscribe(1, "True", ordered=True, credit=1, bound_bytes=1, policy="drop")
    for bad in (frame_of(b"\xff"), frame_of(b"", 0x7F), frame_of(b"\x81\x01", 0x05) + b"\xff" * 6):
        with pytest.raises(WireError) as caught:
            decoder_at(DecoderStage.CLIENT).feed(encode(subscribe) + PUBLICATION * 2 + bad)
        assert _seen(caught.value.messages)[:3] == [
            subscribe,
            *_seen(decoder_at(DecoderStage.CLIENT).feed(PUBLICATION * 2)),
        ]


def test_a_partial_frame_costs_its_bytes_once_and_its_time_once() -> None:
    """A frame of 64 MiB in 4 KiB pieces: quadratic copying would take minutes."""
    size = 64 << 20
    decoder = decoder_at(DecoderStage.LINK, WireLimits(page_frame_bytes=size))
    piece = bytes(4096)
    tracemalloc.start()
    decoder.feed(size.to_bytes(4) + b"\x53\x00")
    for _ in range(size // len(piece) - 1):
        assert decoder.feed(piece) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * size


def test_hello_of_another_version_is_distinguished_from_a_bad_one() -> None:
    frame = encode(Hello(VERSION + 1, "client", "alice", "k3f9", "", ""))
    with pytest.raises(
        WireError, match=f"this end speaks version {VERSION}, the other {VERSION + 1}"
    ) as caught:
        Decoder(DEFAULT_LIMITS, Peer.DIALLER).feed(frame)
    assert caught.value.code == "version"
