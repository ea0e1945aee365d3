"""The cases of clients/conformance, which every client passes."""

import json
from typing import Any, Final

import pytest

from broker.client.delivery import Delivery
from broker.wire import (
    DEFAULT_LIMITS,
    VERSION,
    Decoder,
    Peer,
    WireError,
    decode_delivery,
    encode,
    encode_publication,
    publication_prefix,
)
from broker.wire.control import decode
from broker.wire.events import plain
from broker.wire.header import HEADER
from broker.wire.kinds import ROWS, DecoderStage
from tests.broker.client.dialogue import Dialogue
from tests.sources import ROOT

MESSAGES: Final = {row.name: row.message for row in ROWS}
CASES: Final[dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "clients" / "conformance").glob("*.json"))
}


def named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[each["name"] for each in cases])


def value_of(tagged: dict[str, Any]) -> Any:  # noqa: PLR0911 - a case, a return
    match tagged:
        case {"int": text}:
            return int(text)
        case {"float": text}:
            return float(text)
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"repeat": text, "count": count}:
            return text * count
        case {"text": value} | {"bool": value}:
            return value
        case {"null": True}:
            return None
        case {"list": values}:
            return [value_of(each) for each in values]
        case {"map": values}:
            return attributes_of(values)
    raise AssertionError(tagged)


def attributes_of(tagged: dict[str, Any]) -> dict[str, Any]:
    return {name: value_of(value) for name, value in tagged.items()}


def message_of(case: list[Any]) -> Any:
    kind, *fields = case
    values = [value_of(each) if isinstance(each, dict) else each for each in fields]
    return MESSAGES[kind](*map(as_tuples, values))


def as_tuples(value: Any) -> Any:
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether attributes have the same values and types; NaN is NaN."""
    shown = [
        {name: (type(value), "NaN" if value != value else repr(value)) for name, value in each.items()}  # noqa: PLR0124 - NaN is not itself
        for each in (one, other)
    ]
    return shown[0] == shown[1]


def test_the_cases_are_of_this_version() -> None:
    assert {CASES["frames"]["version"], CASES["dialogues"]["version"]} == {VERSION}


@pytest.mark.parametrize(
    "case", CASES["frames"]["messages"], ids=lambda case: f"{case['message'][0]} {case.get('form', '')}"
)
def test_messages_have_these_frames(case: dict[str, Any]) -> None:
    frame, expected = bytes.fromhex(case["hex"]), message_of(case["message"])
    _, kind, _ = HEADER.unpack_from(frame)
    assert decode(kind, frame[HEADER.size :], DEFAULT_LIMITS) == expected
    if "form" not in case:
        assert encode(expected) == frame


def test_every_kind_of_a_clients_conversation_has_a_case() -> None:
    stages = {DecoderStage.HELLO, DecoderStage.WELCOME, DecoderStage.CLIENT, DecoderStage.SERVER}
    ours = {row.name for row in ROWS if row.stages & stages}
    shown = {case["message"][0] for case in CASES["frames"]["messages"]}
    assert ours - shown == {"Publication", "Deliver"}


def feed_in_pieces(decoder: Decoder, frame: bytes, size: int) -> None:
    for place in range(0, len(frame), size):
        assert decoder.feed(frame[place : place + size]) == []


@named(CASES["frames"]["refused"])
@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_these_frames_are_refused_however_they_are_cut(case: dict[str, Any], size: int) -> None:
    decoder = Decoder(DEFAULT_LIMITS, Peer.SERVER)
    for before in case["after"]:
        decoder.feed(bytes.fromhex(before))
    frame = bytes.fromhex(case["hex"])
    with pytest.raises(WireError) as refused:
        feed_in_pieces(decoder, frame, size)
    assert refused.value.code == case["code"]


@named(CASES["events"]["events"])
def test_events_have_these_frames(case: dict[str, Any]) -> None:
    frame = bytes.fromhex(case["hex"])
    publisher, sequence, published_ns, attributes, payload, ordered = decode_delivery(frame)
    delivery = Delivery(frame)
    for found, expected in (
        ((publisher, delivery.publisher), case["publisher"]),
        ((sequence, delivery.sequence), int(case["sequence"])),
        ((published_ns, delivery.published_ns), int(case["published_ns"])),
        ((payload, delivery.payload), bytes.fromhex(case["payload"])),
        ((ordered, delivery.ordered), case["ordered"]),
        ((delivery.replayed,) * 2, case["replayed"]),
    ):
        assert found == (expected, expected)
    assert same(attributes, attributes_of(case["attributes"]))
    assert same(dict(delivery.attributes), attributes)
    if "form" not in case:
        made = encode_publication(
            publication_prefix(publisher), sequence, published_ns, attributes, payload, ordered
        )
        assert made == plain(frame)


def made(case: dict[str, Any]) -> bytes:
    payload = bytes(case.get("payload_bytes", 0))
    return encode_publication(
        publication_prefix("p"), 1, 0, attributes_of(case["attributes"]), payload, ordered=True
    )


@named(CASES["events"]["largest"])
def test_the_largest_events_can_be_published(case: dict[str, Any]) -> None:
    assert decode_delivery(made(case))[3] == attributes_of(case["attributes"])


@named(CASES["events"]["unpublishable"])
def test_what_is_too_large_or_wrong_cannot_be_published(case: dict[str, Any]) -> None:
    with pytest.raises(WireError) as refused:
        made(case)
    assert refused.value.code == case["code"]


@named(CASES["dialogues"]["dialogues"])
def test_a_client_says_what_the_dialogue_says(case: dict[str, Any]) -> None:
    dialogue = Dialogue.of(case["client"])
    for step in case["steps"]:
        dialogue.perform(step)
