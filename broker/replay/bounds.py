"""The items of a replay, and the limits of caches, questions and parts."""

from typing import Final

from attrs import frozen

PART_BYTES: Final = 64 * 1024
"""The size of a part, but for its last publication: a read's worth."""

PART_COUNT: Final = 1000
"""The publications of a part at most: a message carries as many numbers."""

STEP_COUNT: Final = 4096
"""Publications looked at in one step: some milliseconds."""

REPLAYS_MAX: Final = 512
"""Local subscriptions that can have their past played at a time: each keeps a part of every link waiting."""

QUESTIONS_MAX: Final = 2048
"""Questions of one link that are open at a time: four full brokers behind it. What it costs here is a cursor
each, and a part of every other link."""

COLLECTED_BYTES_MAX: Final = 64 * 1024 * 1024
"""The size of all that local subscriptions with a counted window have collected together."""

COUNT_MAX: Final = 100_000
"""As many publications may be asked for by number: they are collected before the first is delivered."""

Item = tuple[int, str, int, bytes]
"""When a publication was published, its publisher, its sequence number, and its plain frame.

Items are compared as they stand: that is the order in which they are replayed. The time is the publisher's
own, but never less than that of its publication before, so that the order of each publisher's is kept.
"""


@frozen
class ReplayWindow:
    """The past to replay: events not older than `since_ns`, and of these the newest `count` (0: all)."""

    since_ns: int
    count: int
    bound_bytes: int


@frozen
class Bounds:
    """Of what is kept: bytes of frames and publications; then the bytes of a part and the size of a step."""

    size_bytes: int = 0
    count: int = 0
    part_bytes: int = PART_BYTES
    step_count: int = STEP_COUNT
