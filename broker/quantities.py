"""Sizes and spans of time as people write them: `64MiB`, `5m`, `1h30m`."""

import re
from math import isfinite
from typing import Final

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES: Final = {
    "": 1,
    "B": 1,
    "KIB": 1024,
    "KB": 1000,
    "MIB": 1024**2,
    "MB": 1000**2,
    "GIB": 1024**3,
    "GB": 1000**3,
}

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def read_span(text: str) -> float:
    """Return seconds: numbers with the units ms, s, m, h and d, one after the other.

    Raises:
        ValueError: it is no such text.
    """
    parts = _SPAN.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise ValueError(f"expected a time such as 90s, 5m, 1h30m or 2d, got {text!r}")
    seconds = float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
    if not isfinite(seconds):
        raise ValueError(f"{text[:20]}... is longer than any time")
    return seconds


def read_size(text: str) -> int:
    """Return bytes: a number, with a unit such as KiB, MiB, GiB, kB, MB, GB or none.

    Raises:
        ValueError: it is no such text.
    """
    match = _SIZE.fullmatch(text.strip())
    factor = _BYTES.get(match[2].upper()) if match else None
    if match is None or factor is None:
        raise ValueError(f"expected a size such as 500kB, 64MiB or 0, got {text!r}")
    size = float(match[1]) * factor
    if not isfinite(size):
        raise ValueError(f"{text[:20]}... is larger than any size")
    return int(size)
