"""Caches for control frames and filters that simulated brokers and clients read again and again.

Many ends in one process read the same few frames and filters, and the immutable result follows from the bytes
alone. Nothing that has a state is cached, and no error.
"""

# ruff: noqa: SLF001 - it replaces the reading of filters

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

from broker.filters import language
from broker.filters.filter import Filter
from broker.wire import control

KEPT: Final = 20_000
"""The size of each cache: the frames or filters of some hundred schedules."""

_read = language._parsed
_decode = lru_cache(KEPT)(control.decode)


@lru_cache(KEPT)
def _known(text: str) -> Filter:
    return _read(text, language._Expansion())


def _parsed(text: str, expansion: object) -> Filter:
    del expansion
    return _known(text)


@contextmanager
def cached_parsing() -> Iterator[None]:
    """Read each control frame and filter once while this lasts."""
    before = control.decode, language._parsed
    control.decode, language._parsed = _decode, _parsed
    try:
        yield
    finally:
        control.decode, language._parsed = before
