"""Usual events, read field by field: the compiled form has this in place of the library and checks after it.

Laws:

* What a reader takes is what the checks of `broker.wire.publications` take, and its fields are the same. In
  any doubt it takes nothing: the checks decide, and have the words.
* Nothing is copied but texts. The payload stays where it is, in its frame.
* What repeats is recognised by its bytes: the publisher of the event before, names of attributes, and texts
  that the event before had in the same place.

As Python it gives the same answers, more slowly than the library: there only tests use it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from broker.publication import Publication
from broker.wire.header import HEADER, PUBLICATION
from broker.wire.limits import NAME_BYTES, SMALL_BYTES

if TYPE_CHECKING:
    from broker.filters.constraints import Value

_NAMES_COUNT: Final = 4096
_BODY_AT: Final = HEADER.size
_ARRAY_OF_FIVE: Final = 0x85
_NUMBER, _NEGATIVE, _BYTES, _TEXT, _MAP, _SIMPLE = 0, 1, 2, 3, 5, 7
_FALSE, _TRUE, _DOUBLE = 0xF4, 0xF5, 0xFB
_ONE_BYTE, _EIGHT_BYTES = 24, 27
_SIGN = 63
_ORDERED, _MARK_SHIFT = 0x01, 4
_KIND_AT, _FLAGS_AT = HEADER.size - 2, HEADER.size - 1
_PUBLICATION = PUBLICATION

_FRACTION_BITS, _FRACTION, _HIDDEN_BIT, _EXPONENTS = 52, 2**52 - 1, 2**52, 2**11 - 1
_SCALES = tuple(2.0 ** (max(exponent, 1) - 1075) for exponent in range(_EXPONENTS))
"""The values of the last bit of floating numbers, by their exponents."""

_names: Final[dict[bytes, str]] = {}
"""Names of attributes by their CBOR that were found right."""

_delivered_names: Final[dict[bytes, str]] = {}
"""The same, as a client's broker delivers them: it has found them right, and nobody here relies on that."""


def add_name(name: str) -> None:
    """Recognise a name from now on: it was checked."""
    _add(_names, name)


def _add(known: dict[bytes, str], name: str) -> None:
    if len(known) >= _NAMES_COUNT:
        known.clear()
    encoded = name.encode()
    size = len(encoded)
    known[(bytes((0x60 + size,)) if size < _ONE_BYTE else bytes((0x78, size))) + encoded] = name


def whole_head(data: bytes, at: int, end: int) -> int:
    """Return the size of the head of an item; 0 if it is not whole, or says no length."""
    if at >= end:
        return 0
    detail = data[at] & 0x1F
    if detail < _ONE_BYTE:
        return 1
    if detail > _EIGHT_BYTES:
        return 0
    size = 1 + (1 << (detail - _ONE_BYTE))
    return size if at + size <= end else 0


def argument(data: bytes, at: int, size: int) -> int:
    """Return the number in a head of this size."""
    if size == 1:
        return data[at] & 0x1F
    number = 0
    for index in range(at + 1, at + size):
        number = number << 8 | data[index]
    return number


class EventReader:
    """Reads one event after the other; its attributes are the fields of the last one.

    `known` are names by their CBOR: an event that has others is not a usual one.
    """

    __slots__ = (
        "_encoded",
        "_encoded_texts",
        "_known",
        "_names",
        "_number",
        "_prefix",
        "_texts",
        "attributes",
        "payload_at",
        "published_ns",
        "publisher",
        "sequence",
    )

    def __init__(self, known: dict[bytes, str]) -> None:
        self.publisher = ""
        self.sequence = 0
        self.published_ns = 0
        self.attributes: dict[str, Value] = {}
        self.payload_at = 0
        self._prefix = b""
        self._number = 0
        self._names: list[str] = []
        self._encoded: list[bytes] = []
        self._texts: list[str] = []
        self._encoded_texts: list[bytes] = []
        self._known = known

    def read(self, frame: bytes) -> bool:
        """Read the event of a whole frame; return false if it is not a usual one."""
        try:
            return self._read(frame)
        except UnicodeDecodeError:
            return False

    def _read(self, frame: bytes) -> bool:
        end = len(frame)
        at = self._read_number(frame, self._read_publisher(frame, end), end)
        self.sequence = self._number
        at = self._read_number(frame, at, end)
        self.published_ns = self._number
        at = self._read_attributes(frame, at, end)
        data = frame
        size = whole_head(data, at, end)
        if (
            not at
            or not size
            or not self.sequence
            or data[at] >> 5 != _BYTES
            or at - _BODY_AT > SMALL_BYTES - size
        ):
            return False
        self.payload_at = at + size
        return argument(data, at, size) == end - self.payload_at

    def _read_publisher(self, frame: bytes, end: int) -> int:
        """Read the first field; return where the next one is, or 0."""
        if self._prefix and frame.startswith(self._prefix, _BODY_AT):
            return _BODY_AT + len(self._prefix)
        data = frame
        at = _BODY_AT + 1
        size = whole_head(data, at, end)
        if not size or data[at - 1] != _ARRAY_OF_FIVE or data[at] >> 5 != _TEXT:
            return 0
        length = argument(data, at, size)
        if length > SMALL_BYTES or at + size + length > end:
            return 0
        after = at + size + length
        self.publisher = frame[at + size : after].decode()
        self._prefix = frame[_BODY_AT:after]
        return after

    def _read_number(self, frame: bytes, at: int, end: int) -> int:
        """Read a whole number, if there is a place to read at; return where the next item is, or 0."""
        data = frame
        size = whole_head(data, at, end)
        if not at or not size or data[at] >> 5 != _NUMBER:
            return 0
        self._number = argument(data, at, size)
        return 0 if self._number >> _SIGN else at + size

    def _read_attributes(self, frame: bytes, at: int, end: int) -> int:
        """Read the map, if there is a place to read at; return where the payload is, or 0."""
        data = frame
        size = whole_head(data, at, end)
        if not at or not size or data[at] >> 5 != _MAP:
            return 0
        count = argument(data, at, size)
        at += size
        self.attributes = {}
        for index in range(count):
            if index < len(self._names) and frame.startswith(self._encoded[index], at):
                at += len(self._encoded[index])
            else:
                at = self._read_name(frame, at, end, index)
            if not at:
                return 0
            encoded_text = self._encoded_texts[index]
            if encoded_text and frame.startswith(encoded_text, at):
                self.attributes[self._names[index]] = self._texts[index]
                at += len(encoded_text)
            else:
                at = self._read_value(frame, at, end, index)
            if not at:
                return 0
        return at if len(self.attributes) == count else 0

    def _read_value(self, frame: bytes, at: int, end: int, index: int) -> int:
        """Read the value of an attribute; return where the next item is, or 0."""
        data = frame
        size = whole_head(data, at, end)
        if not size:
            return 0
        name = self._names[index]
        kind = data[at] >> 5
        number = argument(data, at, size)
        at += size
        if kind == _TEXT:
            if number > SMALL_BYTES or at + number > end:
                return 0
            after = at + number
            self.attributes[name] = self._texts[index] = data[at:after].decode()
            self._encoded_texts[index] = data[at - size : after]
            return after
        if kind == _SIMPLE:
            return at if self._take_simple(data[at - size], number, name) else 0
        if kind > _NEGATIVE or number >> _SIGN:
            return 0
        signed = number
        self.attributes[name] = -1 - signed if kind == _NEGATIVE else signed
        return at

    def _take_simple(self, head: int, number: int, name: str) -> bool:
        """Take a truth value, or a finite floating number: a fraction by the value of its last bit."""
        if head in (_TRUE, _FALSE):
            self.attributes[name] = head == _TRUE
            return True
        exponent = number >> _FRACTION_BITS & _EXPONENTS
        if head != _DOUBLE or exponent == _EXPONENTS:
            return False
        bits = number & _FRACTION | (_HIDDEN_BIT if exponent else 0)
        scale = _SCALES[exponent]
        size = bits * scale
        self.attributes[name] = -size if number >> _SIGN else size
        return True

    def _read_name(self, frame: bytes, at: int, end: int, index: int) -> int:
        """Read the name of an attribute, which is not the one that the event before had there."""
        data = frame
        size = whole_head(data, at, end)
        if not size or data[at] >> 5 != _TEXT:
            return 0
        length = argument(data, at, size)
        if length > SMALL_BYTES or at + size + length > end:
            return 0
        after = at + size + length
        encoded = data[at:after]
        name = self._known.get(encoded)
        if name is None:
            return 0
        del self._names[index:], self._encoded[index:], self._texts[index:], self._encoded_texts[index:]
        self._names.append(name)
        self._encoded.append(encoded)
        self._texts.append("")
        self._encoded_texts.append(b"")
        return after


def checking_reader() -> EventReader:
    """Return a reader of events that takes only names that were found right."""
    return EventReader(_names)


def cut(buffer: bytes, position: int, end: int, refused_flags: int, frames: list[bytes]) -> int:
    """Append the whole publications that follow each other from here on; return where the last one ends.

    It stops before a frame that is no publication, is not whole at `end`, or has a flag that is refused.
    """
    data = buffer
    while position + _BODY_AT <= end:
        after = position + _KIND_AT + argument(data, position - 1, _KIND_AT + 1)
        is_right = (
            data[position + _KIND_AT] == _PUBLICATION and not data[position + _FLAGS_AT] & refused_flags
        )
        if not is_right or after > end or position + _BODY_AT > after:
            break
        frames.append(data[position:after])
        position = after
    return position


def read_usual(
    frames: Sequence[bytes], payload_limit: int, reader: EventReader, publications: list[Publication]
) -> None:
    """Append the publications of these frames, from the first that has none, up to one that is not usual."""
    for index in range(len(publications), len(frames)):
        frame = frames[index]
        if not reader.read(frame) or len(frame) - reader.payload_at > payload_limit:
            return
        flags = frame[_FLAGS_AT]
        mark = flags >> _MARK_SHIFT
        publication = Publication.__new__(Publication)
        publication.publisher = reader.publisher
        publication.sequence = reader.sequence
        publication.attributes = reader.attributes
        publication.ordered = flags & _ORDERED == _ORDERED
        publication.frame = plain(frame) if mark else frame
        publication.mark = mark
        publication.published_ns = reader.published_ns
        publications.append(publication)


_readers: Final[list[EventReader]] = []
"""Readers of deliveries that are not in use; a thread that reads has one for itself."""


def read_delivered(frame: bytes) -> EventReader | None:
    """Read an event that was delivered; return its reader, to be given back; None if it is unusual."""
    reader = _readers.pop() if _readers else EventReader(_delivered_names)
    if reader.read(frame):
        return reader
    _readers.append(reader)
    return None


def give_back(reader: EventReader) -> None:
    """Let others use a reader."""
    _readers.append(reader)


def recognise(attributes: Mapping[str, object]) -> None:
    """Recognise the names of an unusual event that was delivered."""
    for name in attributes:
        if type(name) is str and len(name.encode()) <= NAME_BYTES:
            _add(_delivered_names, name)


def plain(frame: bytes) -> bytes:
    """The frame without a mark: what is kept, delivered, and forwarded where no mark is needed."""
    if frame[_FLAGS_AT] <= _ORDERED:
        return frame
    return frame[:_FLAGS_AT] + _FLAGS[frame[_FLAGS_AT] & _ORDERED] + frame[_BODY_AT:]


_FLAGS: Final = (b"\x00", b"\x01")
