"""How much is kept for replays, and how much of one is done at a time."""

from typing import Final

from attrs import frozen

PART_BYTES: Final = 64 * 1024
"""What is handed on together, but for its last publication: a read's worth."""

PART_COUNT: Final = 1000
"""And no more than so many: a message carries as many numbers."""

STEP_COUNT: Final = 4096
"""Publications looked at in one step: some milliseconds."""

REPLAYS_MAX: Final = 512
"""Local subscriptions that can have their past played at a time: each keeps a part of every link waiting."""

QUESTIONS_MAX: Final = 2048
"""Questions of one link that are open at a time: four full brokers behind it. What it costs here is a cursor
each, and a part of every other link."""

COLLECTED_BYTES_MAX: Final = 64 * 1024 * 1024
"""What all local subscriptions together have collected that ask for a number of publications."""


@frozen
class Bounds:
    """Of what is kept: bytes of frames and publications; then the bytes of a part and the size of a step."""

    size_bytes: int = 0
    count: int = 0
    part_bytes: int = PART_BYTES
    step_count: int = STEP_COUNT
