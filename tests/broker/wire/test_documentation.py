"""The code does what `docs/` describes of the wire."""

import re
from typing import Final

import cbor2
import pycddl  # type: ignore[import-untyped]  # it comes without types
import pytest
from attrs import AttrsInstance
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.messages import Publication
from broker.page_limits import LINE_BYTES, PAGE_BYTES
from broker.wire import DEFAULT_LIMITS, DeliveredBatch, Peer, encode
from broker.wire.decoder import Decoder
from broker.wire.header import HEADER
from broker.wire.kinds import BY_KIND, ROWS, DecoderStage, KindRow, Size
from tests.broker.wire.strategies import CONTROL_ROWS, Published, messages_of, publications
from tests.sources import ROOT

GRAMMAR: Final = (ROOT / "docs" / "reference" / "wire.cddl").read_text()
PAGE: Final = (ROOT / "docs" / "reference" / "wire.md").read_text()

_SIZES: Final = {
    Size.CONTROL: "16 KiB",
    Size.PAGE: "64 KiB",
    Size.PUBLICATION: "1 MiB of payload and 256 KiB of attributes",
    Size.PART: "a publication and 128 KiB",
}

_SENDERS: Final = {
    frozenset({DecoderStage.HELLO}): "the end that dialled, first",
    frozenset({DecoderStage.WELCOME}): "the end that was dialled, first",
    frozenset(DecoderStage) - {DecoderStage.OVER}: "both, last",
    frozenset({DecoderStage.LINK, DecoderStage.SERVER}): "broker",
    frozenset({DecoderStage.LINK, DecoderStage.SERVER, DecoderStage.CLIENT}): "both",
    frozenset({DecoderStage.CLIENT}): "client",
    frozenset({DecoderStage.SERVER}): "broker to client",
    frozenset({DecoderStage.LINK}): "broker to broker",
}

each_row = pytest.mark.parametrize("row", CONTROL_ROWS, ids=lambda row: row.name)


def _rule(row: KindRow) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", row.name).lower()


def _schema(row: KindRow) -> pycddl.Schema:
    return pycddl.Schema(f"start = {_rule(row)}\n{GRAMMAR}")


@each_row
def test_every_frame_conforms_to_the_grammar(row: KindRow) -> None:
    schema = _schema(row)

    @given(messages_of(row))
    @settings(max_examples=30)
    def conforms(message: AttrsInstance) -> None:
        schema.validate_cbor(encode(message)[HEADER.size :])

    conforms()


@each_row
def test_the_grammar_knows_how_many_fields_there_are(row: KindRow) -> None:
    schema = _schema(row)

    @given(messages_of(row))
    @settings(max_examples=10)
    def refuses(message: AttrsInstance) -> None:
        items = cbor2.loads(encode(message)[HEADER.size :])
        # The validator overlooks what is behind an array of any length, and that one such is missing.
        wrong = [*items, 1] if not any(isinstance(each, list) for each in items) else [None, *items]
        with pytest.raises(pycddl.ValidationError):
            schema.validate_cbor(cbor2.dumps(wrong))

    refuses()


@each_row
def test_the_grammar_knows_the_types_of_fields(row: KindRow) -> None:
    schema = _schema(row)

    # Bytes and negative numbers, which the validator overlooks in places, are for the decoder's tests.
    @given(messages_of(row), st.data())
    @settings(max_examples=20)
    def refuses(message: AttrsInstance, drawn: st.DataObject) -> None:
        items = cbor2.loads(encode(message)[HEADER.size :])
        place = drawn.draw(st.integers(0, len(items) - 1))
        items[place] = drawn.draw(st.sampled_from([None, {"a": 1}]))
        with pytest.raises(pycddl.ValidationError):
            schema.validate_cbor(cbor2.dumps(items))

    refuses()


def test_publications_conform_to_the_grammar() -> None:
    schema = pycddl.Schema(f"start = publication\n{GRAMMAR}")

    @given(publications)
    def conforms(published: Published) -> None:
        schema.validate_cbor(published.frame[HEADER.size :])

    conforms()


@pytest.mark.parametrize(
    "body",
    [
        ["a", 0, 0, {}, b""],
        ["a", 2**63, 0, {}, b""],
        ["a", True, 0, {}, b""],
        ["a", 1, 0, {b"x": 1}, b""],
        ["a", 1, 0, {}],
    ],
)
def test_the_grammar_refuses_what_is_no_publication(body: list[object]) -> None:
    schema = pycddl.Schema(f"start = publication\n{GRAMMAR}")
    with pytest.raises(pycddl.ValidationError):
        schema.validate_cbor(cbor2.dumps(body))


def test_the_grammar_has_a_rule_for_every_message_and_no_other() -> None:
    body = GRAMMAR.split("body = ")[1].split("\n\n")[0]
    assert set(re.findall(r"[a-z-]+", body)) == {_rule(row) for row in ROWS}


def test_the_page_has_the_table_of_kinds() -> None:
    shown = re.findall(r"^\| 0x(\w\w) \| (\w+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert shown == [(f"{row.kind:02x}", row.name, _SENDERS[row.stages], _SIZES[row.size]) for row in ROWS]


def test_the_page_has_the_limits() -> None:
    limits = DEFAULT_LIMITS
    documented = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE.split("## Limits")[1], re.MULTILINE))
    assert documented["payload"] == f"{limits.payload_bytes >> 20} MiB"
    assert documented["attributes of a publication"] == (
        f"{limits.attribute_count}, {limits.attributes_bytes >> 10} KiB encoded"
    )
    assert documented["text value of an attribute"] == f"{limits.text_bytes >> 10} KiB"
    assert documented["names, ids, codes"] == f"{limits.id_bytes >> 10} KiB"
    assert (
        documented["filter, token, text of an error, line of an explanation"]
        == f"{limits.prose_bytes >> 10} KiB"
    )
    assert limits.prose_bytes == LINE_BYTES
    assert limits.page_frame_bytes == PAGE_BYTES


def _frames_of(peer: str) -> list[tuple[bytes, str]]:
    found = re.findall(rf"^{peer}> ([0-9a-f ]+)  # (.*)$", PAGE, re.MULTILINE)
    return [(bytes.fromhex(frame), documented) for frame, documented in found]


def test_the_client_of_the_page_is_understood() -> None:
    decoder = Decoder(DEFAULT_LIMITS, Peer.DIALLER)
    for frame, documented in _frames_of("client"):
        [message] = decoder.feed(frame)
        assert documented == _documented(message, frame)
        if documented.startswith("Hello"):
            decoder.welcomed()
        if isinstance(message, Publication):
            assert message.attributes == {"kind": "trade", "symbol": "IBM", "price": 101.5}
            assert message.ordered


def test_the_broker_of_the_page_is_understood() -> None:
    decoder = Decoder(DEFAULT_LIMITS, Peer.SERVER)
    frames = _frames_of("broker")
    assert len(frames) > 5
    messages = decoder.feed(b"".join(frame for frame, _ in frames))
    documented = [(frame, documented) for frame, documented in frames if not documented.startswith("Deliver")]
    for message, (frame, words) in zip(messages, documented, strict=True):
        if isinstance(message, DeliveredBatch):
            assert (message.number, message.frames, words) == (2, [frame], "Publication")
        else:
            assert words == _documented(message, frame)


def _documented(message: object, frame: bytes) -> str:
    """A message in the notation of the page: its name, and its fields as JSON writes them."""
    name = type(message).__name__
    if name == "Publication":
        return name
    items = cbor2.loads(frame[HEADER.size :])
    words = [f'"{each}"' if isinstance(each, str) else str(each).lower() for each in items]
    return " ".join([BY_KIND[frame[4]].name, *words])
