"""How large anything on the wire may be.

Law: a reader holds at most one partial frame per connection, so the frame limits bound what a peer can make
it keep. They are checked as soon as the four length bytes are there.
"""

from typing import Final

from attrs import field, frozen
from attrs.validators import ge

from broker.page_limits import PAGE_BYTES

KIB: Final = 1024
MIB: Final = 1024 * KIB

MAX_NUMBER: Final = 2**63 - 1
"""Largest number of any field: what a signed 64 bit column of a run's directory can keep."""

MIN_NUMBER: Final = -(2**63)
"""Smallest whole number an attribute may have, for the same reason."""

MAX_MARK: Final = 15
"""A mark has the four upper bits of the flags byte."""

NAME_BYTES: Final = 255
"""Longest name of an attribute: filters of 8 KiB must be able to name several."""

SMALL_BYTES: Final = 512
"""A publication that is no larger than this keeps every limit of its parts, so no code counts. Therefore the
limits of parts cannot be set below it (an attribute takes 3 bytes or more)."""


PART_TIMES_BYTES: Final = 64 * KIB
"""Times and heads of the publications of one part of a replay: a thousand of each at most."""


def _bound(default: int, least: int = 1) -> int:
    bound: int = field(default=default, validator=ge(least))
    return bound


@frozen(kw_only=True)
class WireLimits:
    """Every bound of the wire format that an operator may move. All sizes are in bytes."""

    payload_bytes: int = _bound(MIB, least=SMALL_BYTES)
    """One event must not hold up the others on a link for long: 1 MiB is 10 ms of a gigabit link."""

    attributes_bytes: int = _bound(256 * KIB, least=SMALL_BYTES)
    """All attributes of an event together, encoded; every broker on the way decodes them."""

    attribute_count: int = _bound(256, least=SMALL_BYTES // 3)
    """Matching looks at each attribute of an event."""

    value_count: int = _bound(KIB, least=SMALL_BYTES)
    """Values in the lists and maps of an event: one that is encoded in a byte may take 64 in memory while the
    event is matched or pending."""

    text_bytes: int = _bound(64 * KIB, least=SMALL_BYTES)
    """One text value of an attribute; what is larger belongs in the payload."""

    id_bytes: int = _bound(KIB, least=SMALL_BYTES)
    """Names, ids, codes: an id holds a client's name, a broker's name and two counters."""

    prose_bytes: int = _bound(8 * KIB)
    """Filters (the language's own limit, which canonical text keeps too), tokens, and texts of errors."""

    number_count: int = _bound(KIB)
    """Numbers in one ordering message."""

    control_frame_bytes: int = _bound(16 * KIB)
    """A frame that carries one filter at most: the longest filter and room to spare."""

    page_frame_bytes: int = _bound(PAGE_BYTES)
    """A frame that carries a page of what grows with a broker's state; senders cut it to `PAGE_BYTES`."""

    @property
    def publication_frame_bytes(self) -> int:
        """The largest publication: payload, attributes, publisher, and 64 bytes for heads and numbers."""
        return self.payload_bytes + self.attributes_bytes + self.id_bytes + 64

    @property
    def part_frame_bytes(self) -> int:
        """The largest part of a replay: a page of publications, the one that fills it, and their times."""
        return self.page_frame_bytes + self.publication_frame_bytes + PART_TIMES_BYTES


DEFAULT_LIMITS: Final = WireLimits()
