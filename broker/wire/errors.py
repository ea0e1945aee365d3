"""What is wrong with a frame: a code for programs and a text for people.

The text goes to the peer in a `Fault`, so it names the kind of frame, the field and what was expected,
and never repeats a value (a token or a payload might be in it).
"""

from typing import Final

MALFORMED: Final = "malformed"
OVERSIZE: Final = "oversize"
UNKNOWN: Final = "unknown"
UNEXPECTED: Final = "unexpected"
VERSION: Final = "version"


class WireError(Exception):
    """A frame was refused; the connection it came on cannot go on.

    Attributes:
        code: one of "malformed", "oversize", "unknown", "unexpected", "version".
        text: what was wrong, where, and what was expected.
        messages: what was decoded before the bad frame in the same call of `Decoder.feed`, so that what a
            reader sees does not depend on how the stream was cut into chunks.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
        self.messages: list[object] = []


def malformed(where: str, expected: str, got: object) -> WireError:
    """The field `where` holds something else than `expected`; only the type of `got` is named."""
    return WireError(MALFORMED, f"{where}: expected {expected}, got {describe(got)}")


def oversize(where: str, limit: int, unit: str, size: int) -> WireError:
    """The field or frame `where` is larger than its limit."""
    return WireError(OVERSIZE, f"{where}: at most {limit} {unit} are taken, got {size}")


def describe(value: object) -> str:
    """A value's kind in the words of the wire format."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "a negative number" if value < 0 else "a number"
    names: dict[type, str] = {
        bool: "a truth value",
        str: "text",
        bytes: "bytes",
        float: "a floating number",
        list: "an array",
        dict: "a map",
        type(None): "null",
    }
    return names.get(type(value), type(value).__name__)
