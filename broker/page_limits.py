"""How much one message about a broker's state may carry, and how much of such a message is collected.

What grows with a state (routes, ids, brokers, lines of an explanation) is sent in *pages*: messages of
bounded size, as many as are needed. `broker.core.pages` cuts and collects them, `broker.wire` enforces their
size.
"""

from typing import Final

KIB: Final = 1024

PAGE_BYTES: Final = 64 * KIB
"""The largest frame that carries a page: one read's worth, so one page is what a peer can make a reader keep
of an unfinished frame, and 100 routes of 600 bytes are a step of a few milliseconds. How messages are cut
follows from it, and so do their numbers: a change of it raises the version of the wire format."""

PAGE_HEAD_BYTES: Final = 2 * KIB
"""The bytes of a page beside its items: a token or an identity of 1 KiB, numbers, and the heads of arrays."""

PAGE_ITEMS_BYTES: Final = PAGE_BYTES - PAGE_HEAD_BYTES
"""The items of one page together. The largest single one, a route with its id, takes a sixth of that."""

COLLECTED_PAGES_MAX: Final = 4096
"""Pages of one message that are collected before the last has come: 256 MiB. 100,000 routes of 600 bytes take
1,000 of them, 8,700 of 8 KiB 1,250."""

COLLECTED_COUNT_MAX: Final = 500_000
"""Items of one collected message, however small they are: each takes some hundred bytes of memory."""

HELD_COUNT_MAX: Final = 100_000
"""Changes of routes that are held while an attachment is deferred: as many as a large table has routes."""

HELD_BYTES_MAX: Final = 256 * KIB * KIB
"""Publications that are held while an attachment is deferred: seconds of what a link carries."""

LINE_BYTES: Final = 8 * KIB
"""One line of an explanation: what a person reads, and what a page always has room for."""

ANSWER_BYTES_MAX: Final = 128 * KIB * KIB
"""What a client keeps of one answer: a broker has 10,000 durable subscriptions at most, 80 MiB of lines."""
