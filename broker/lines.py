"""Lines of JSON for people and programs. Law: a line has at most `LINE_BYTES`, whatever its content."""

import json
from collections.abc import Mapping
from typing import Final

from broker.page_limits import LINE_BYTES

_ATTEMPTS: Final = (2048, 512, 128, 32)
"""Characters that are left of a text, and items of a list, until the line is short enough."""


def json_line(content: Mapping[str, object]) -> str:
    """Return the object as one line; if that is too long, shorten its texts and lists.

    A shortened text ends with an ellipsis and its length. A shortened list of texts ends with a text that
    says how many more there are.
    """
    line = json.dumps(content)
    for most in _ATTEMPTS:
        if len(line) <= LINE_BYTES:
            return line
        line = json.dumps(_shortened(content, most))
    assert len(line) <= LINE_BYTES, f"an explanation has {len(content)} parts, too many for one line"
    return line


def _shortened(value: object, most: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {key: _shortened(each, most) for key, each in value.items()}
    if isinstance(value, list):
        kept = [_shortened(each, most) for each in value[: most // 4]]
        left = len(value) - len(kept)
        return [*kept, f"... and {left} more"] if left and isinstance(value[0], str) else kept
    return value
