"""Publications: the frames of the hot path.

A frame is made once, by its publisher; every broker on the way reads it and forwards its bytes. So reading
must be exact (what one accepts, the next accepts) and cheap: frames that arrived together are decoded by one
call, and the checks of a usual event are a few comparisons. Events that these do not let through go to
the slow checks, which raise the exact error; they alone decide what is refused.

The flags byte: bit 0 is "ordered", bit 1 is "replayed" (only from a broker to its client), bits 4 to 7 are
the mark of the ordering plugin on the copy that goes over one link (0 in the plain frame, which everything
but that copy is), all others are 0.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any, Final

import cbor2

from broker.filters.constraints import Value
from broker.filters.limits import DEPTH_LIMIT
from broker.form import IS_COMPILED
from broker.publication import Publication
from broker.wire import events
from broker.wire.attributes import (
    PLAIN_TYPES,
    check_attributes,
    encode_attributes,
    encoded_names,
    known_names,
)
from broker.wire.cbor import load_item, load_items
from broker.wire.errors import MALFORMED, WireError, malformed, oversize
from broker.wire.events import plain
from broker.wire.fields import read_id, read_number
from broker.wire.header import HEADER, KIND_AND_FLAGS_BYTES, PUBLICATION
from broker.wire.limits import DEFAULT_LIMITS, MAX_MARK, MAX_NUMBER, MIN_NUMBER, SMALL_BYTES, WireLimits
from broker.wire.writing import write_usual

ORDERED: Final = 0x01
REPLAYED: Final = 0x02
MARK: Final = 0xF0
_MARK_SHIFT: Final = 4
_FLAGS_AT: Final = HEADER.size - 1
_BODY_AT: Final = HEADER.size
_DEPTH: Final = 2 + DEPTH_LIMIT
_FIELD_COUNT: Final = 5
_WHERE: Final = "Publication"

_ARRAY_OF_FIVE: Final = b"\x85"
_NUMBER_OF_8_BYTES: Final = 0x1B
_TEXT: Final = 0x60
_TEXT_LENGTH_FOLLOWS: Final = 0x78
_ONE_BYTE: Final = tuple(bytes([each]) for each in range(256))
_pack_numbers: Final = Struct(">BQBQ").pack
_pack_header: Final = HEADER.pack
_body_of: Final = itemgetter(slice(_BODY_AT, None))

_Event = tuple[str, int, int, dict[str, Value], bytes]
"""Publisher, sequence, published_ns, attributes, payload."""


# --- making -------------------------------------------------------------------------------------------


def publication_prefix(publisher: str) -> bytes:
    """The first bytes of the body of everything this publisher publishes; prepared once."""
    return _ARRAY_OF_FIVE + cbor2.dumps(read_id(publisher, "Publication.publisher", DEFAULT_LIMITS))


def encode_publication(  # noqa: PLR0913, PLR0917 - the fields of the frame
    prefix: bytes,
    sequence: int,
    published_ns: int,
    attributes: Mapping[str, Value],
    payload: bytes,
    ordered: bool,  # noqa: FBT001 - a field like the others; a keyword would cost time on every event
) -> bytes:
    """Make a publication's frame.

    Sequence and time always take 8 bytes each: finding a shorter form would take longer.

    Raises:
        WireError: no broker would take an attribute or the payload; the text names it and the reason.
    """
    if type(payload) is not bytes:
        raise malformed("Publication.payload", "bytes", payload)
    if IS_COMPILED:
        frame = write_usual(encoded_names, prefix, sequence, published_ns, attributes, payload, ordered)
        if frame is not None:
            return frame
    return _joined(prefix, sequence, published_ns, attributes, payload, ordered)


def _joined(  # noqa: PLR0913, PLR0917 - as above
    prefix: bytes,
    sequence: int,
    published_ns: int,
    attributes: Mapping[str, Value],
    payload: bytes,
    ordered: bool,  # noqa: FBT001 - as above
) -> bytes:
    """Make the frame of pieces, with every check of the attributes and the payload."""
    size = len(payload)
    head = _SHORT_HEADS[size] if size < len(_SHORT_HEADS) else _payload_head(payload)
    numbers = _pack_numbers(_NUMBER_OF_8_BYTES, sequence, _NUMBER_OF_8_BYTES, published_ns)
    body = prefix + numbers + encode_attributes(attributes) + head + payload
    return _pack_header(KIND_AND_FLAGS_BYTES + len(body), PUBLICATION, ordered) + body


def _payload_head(payload: bytes) -> bytes:
    """The head of a byte string; a large payload is checked here, where the time for it is."""
    size = len(payload)
    if size > DEFAULT_LIMITS.payload_bytes:
        raise oversize("Publication.payload", DEFAULT_LIMITS.payload_bytes, "bytes", size)
    return cbor2.dumps(bytes(payload))[:-size] if size else b"\x40"


_SHORT_HEADS: Final = tuple(_payload_head(bytes(size)) for size in range(256))


def marked(frame: bytes, mark: int) -> bytes:
    """A copy of a plain frame with the ordering plugin's mark set."""
    if not 0 <= mark <= MAX_MARK:
        raise ValueError(f"a mark is 0 to {MAX_MARK}, got {mark}")
    flags = _ONE_BYTE[frame[_FLAGS_AT] & ORDERED | mark << _MARK_SHIFT]
    return frame[:_FLAGS_AT] + flags + frame[_BODY_AT:]


def replayed(publisher: str, sequence: int, frame: bytes) -> Publication:
    """A publication of the past, to be delivered and not to be matched any more, as its frame marks it."""
    flags = frame[_FLAGS_AT]
    replayed = frame[:_FLAGS_AT] + _ONE_BYTE[flags & ORDERED | REPLAYED] + frame[_BODY_AT:]
    return Publication(publisher, sequence, {}, flags & ORDERED == ORDERED, replayed)


def origin_of(frame: bytes) -> tuple[bytes, bool, int]:
    """Return the publisher's id as it is encoded, whether the event is ordered, and its number.

    The frame was checked by a broker. What encoders usually write is read without decoding the rest.
    """
    ordered = frame[_FLAGS_AT] & ORDERED == ORDERED
    head = frame[_BODY_AT + 1]
    start, length = _BODY_AT + 2, head - _TEXT
    if head == _TEXT_LENGTH_FOLLOWS:
        start, length = start + 1, frame[start]
    stop = start + length
    if _TEXT <= head <= _TEXT_LENGTH_FOLLOWS and frame[stop] == _NUMBER_OF_8_BYTES:
        return frame[start:stop], ordered, int.from_bytes(frame[stop + 1 : stop + 9], "big")
    publisher, sequence, _, _, _, _ = decode_delivery(frame)
    return publisher.encode(), ordered, sequence


# --- runs: what is asked of many publications in one pass ---------------------------------------------


def going_on(
    messages: Sequence[object],
    start: int,
    publisher: str,
    sequence: int,
    matches: Callable[[Mapping[str, Value]], bool],
) -> tuple[int, int]:
    """Return how many publications from `start` on are the next ones of this publisher, and their bytes.

    Each has the number behind `sequence` and the one before it, and its attributes match.
    """
    index = start
    size_bytes = 0
    while index < len(messages):
        message = messages[index]
        if type(message) is not Publication:
            break
        publication = message
        number = publication.sequence
        sequence += 1
        if publication.publisher != publisher or number != sequence or not matches(publication.attributes):
            break
        index += 1
        size_bytes += len(publication.frame)
    return index - start, size_bytes


def joined(messages: Sequence[object]) -> bytes | None:
    """Return the frames of publications with their marks, one behind the other; None if others are there."""
    frames: list[bytes] = []
    for message in messages:
        if type(message) is not Publication:
            return None
        publication = message
        mark = publication.mark
        frames.append(marked(publication.frame, mark) if mark else publication.frame)
    return b"".join(frames) if len(frames) > 1 else frames[0]


def plainly_joined(publications: Sequence[Publication]) -> tuple[bytes, int]:
    """Return their frames without marks, one behind the other, and the latest time of publishing."""
    frames: list[bytes] = []
    latest_ns = 0
    for publication in publications:
        frames.append(publication.frame)
        published_ns = publication.published_ns
        latest_ns = max(latest_ns, published_ns)
    return b"".join(frames), latest_ns


# --- reading ------------------------------------------------------------------------------------------


def _read_compiled(frames: list[bytes], limits: WireLimits) -> list[Publication]:
    """Read usual events field by field, and every other one with all checks."""
    publications: list[Publication] = []
    reader = events.checking_reader()
    events.read_usual(frames, limits.payload_bytes, reader, publications)
    while len(publications) < len(frames):
        publications.append(_checked(frames[len(publications)], limits, publications))
        events.read_usual(frames, limits.payload_bytes, reader, publications)
    return publications


def _read_together(frames: list[bytes], limits: WireLimits) -> list[Publication]:
    """Decode all frames with one call of the library."""
    bodies = [*map(_body_of, frames)]
    items = load_items(bodies, _DEPTH)
    publications: list[Publication] = []
    payload_limit, new = limits.payload_bytes, Publication.__new__
    try:
        for frame, body, item in zip(frames, bodies, items or (), strict=True):
            publisher, sequence, published_ns, attributes, payload = item
            if not (
                type(publisher) is str
                and type(sequence) is int
                and type(published_ns) is int
                and 0 < sequence <= MAX_NUMBER
                and 0 <= published_ns <= MAX_NUMBER
                and type(attributes) is dict
                and known_names.issuperset(attributes)
                and type(payload) is bytes
                and (len(body) <= SMALL_BYTES or len(body) - SMALL_BYTES <= len(payload) <= payload_limit)
            ):
                _check_event(item, body, limits)
            for value in attributes.values():
                kind = type(value)
                if kind not in PLAIN_TYPES and (kind is not int or not MIN_NUMBER <= value <= MAX_NUMBER):
                    _check_event(item, body, limits)
                    break
            flags = frame[_FLAGS_AT]
            if flags > ORDERED:
                publications.append(_flagged(frame, item))
                continue
            # What __init__ does, without its call.
            publication = new(Publication)
            publication.publisher = publisher
            publication.sequence = sequence
            publication.attributes = attributes
            publication.ordered = flags == ORDERED
            publication.frame = frame
            publication.mark = 0
            publication.published_ns = published_ns
            publications.append(publication)
    except (WireError, TypeError, ValueError):
        # What was not decoded, and what is no array of five, ends here too.
        return _read_one_by_one(frames, limits)
    return publications


read_publications: Final[Callable[[list[bytes], WireLimits], list[Publication]]] = (
    _read_compiled if IS_COMPILED else _read_together
)
"""Decode whole frames for a broker. Raises `WireError` for a wrong body; its `messages` are those before."""


def _read_one_by_one(frames: Sequence[bytes], limits: WireLimits) -> list[Publication]:
    """The same with every check and its words; taken when something is wrong somewhere."""
    publications: list[Publication] = []
    for frame in frames:
        publications.append(_checked(frame, limits, publications))
    return publications


def _checked(frame: bytes, limits: WireLimits, before: Sequence[Publication]) -> Publication:
    """Read one frame with every check; its error has the publications before it."""
    try:
        return _flagged(frame, _read_event(frame[_BODY_AT:], limits))
    except WireError as error:
        error.messages = [*before]
        raise


def _flagged(frame: bytes, event: _Event) -> Publication:
    """Make the publication of a frame with any flags."""
    publisher, sequence, published_ns, attributes, _ = event
    flags = frame[_FLAGS_AT]
    ordered = flags & ORDERED == ORDERED
    mark = flags >> _MARK_SHIFT
    return Publication(
        publisher, sequence, attributes, ordered, plain(frame) if mark else frame, mark, published_ns
    )


def decode_delivery(
    frame: bytes, limits: WireLimits = DEFAULT_LIMITS
) -> tuple[str, int, int, dict[str, Value], bytes, bool]:
    """Read one whole frame: publisher, sequence, published_ns, attributes, payload, ordered.

    Raises:
        WireError: it is wrong.
    """
    return (*_read_event(frame[_BODY_AT:], limits), frame[_FLAGS_AT] & ORDERED == ORDERED)


def _read_event(body: bytes, limits: WireLimits) -> _Event:
    """Decode one body with every check and its words."""
    item = load_item(body, _WHERE)
    _check_event(item, body, limits)
    event: _Event = item
    return event


def _check_event(item: Any, body: bytes, limits: WireLimits) -> None:
    """Raise the error of a body that is no publication."""
    if type(item) is not list:
        raise malformed(_WHERE, "an array of fields", item)
    if len(item) != _FIELD_COUNT:
        raise WireError(MALFORMED, f"{_WHERE}: expected {_FIELD_COUNT} fields, got {len(item)}")
    publisher, sequence, published_ns, attributes, payload = item
    read_id(publisher, "Publication.publisher", limits)
    if read_number(sequence, "Publication.sequence", limits) == 0:
        raise WireError(MALFORMED, "Publication.sequence: expected a number of 1 or more, got 0")
    read_number(published_ns, "Publication.published_ns", limits)
    if type(attributes) is not dict:
        raise malformed("Publication.attributes", "a map", attributes)
    if type(payload) is not bytes:
        raise malformed("Publication.payload", "bytes", payload)
    if len(payload) > limits.payload_bytes:
        raise oversize("Publication.payload", limits.payload_bytes, "bytes", len(payload))
    without_payload = limits.publication_frame_bytes - limits.payload_bytes
    if len(body) - len(payload) > without_payload:
        raise oversize("Publication without its payload", without_payload, "bytes", len(body) - len(payload))
    check_attributes(attributes, limits)
