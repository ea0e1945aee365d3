"""What simulated brokers and clients read again and again is worked out once.

Many ends of one process read the same few frames and filters: whatever follows from bytes alone, and cannot
be changed, is the same for all of them. Nothing that has a state is remembered, and no error.
"""

# ruff: noqa: SLF001 - it stands in for the reading of filters

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from broker.filters import language
from broker.filters.filter import Filter
from broker.wire import control

KEPT: Final = 20_000
"""Frames, and filters: those of some hundred schedules."""

_read = language._parsed
_decode = lru_cache(KEPT)(control.decode)


@lru_cache(KEPT)
def _known(text: str) -> Filter:
    return _read(text, language._Expansion())


def _parsed(text: str, expansion: object) -> Filter:
    del expansion
    return _known(text)


@contextmanager
def remembered() -> Iterator[None]:
    """While this lasts, control frames and filters that were read before are not read again."""
    before = control.decode, language._parsed
    control.decode, language._parsed = _decode, _parsed
    try:
        yield
    finally:
        control.decode, language._parsed = before
