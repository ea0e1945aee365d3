"""Which part of the past a subscription asks for."""

from typing import Final

from attrs import frozen

COUNT_MAX: Final = 100_000
"""As many publications may be asked for by number: they are collected before the first is delivered."""


@frozen
class Window:
    """Not older than `since_ns`, and of these the newest `count` (0: all).

    `bound_bytes` is what may be held back or collected for it.
    """

    since_ns: int
    count: int
    bound_bytes: int
