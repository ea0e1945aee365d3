"""The effects of a step of the node: requests that the shell carries out.

The fields stand in the order in which a shell carries them out. No frame in `writes` is the effect of
a record that is not on disk yet: the node keeps such frames until the step that takes the sync. So a shell
may write at once.
"""

from attrs import define, field, frozen


@define
class Write:
    """Send this to the peer, all of it, and answer with `Written`. There is one at a time per connection.

    It is not frozen: one is made for every buffer, and a frozen one takes three times as long.
    """

    connection: int
    content: bytes = field(repr=False)


@frozen
class Close:
    """Write nothing more to this connection, read nothing more from it, and close it.

    Every `Write` before it has been answered, unless the peer did not read for too long.
    """

    connection: int
    reason: str


@frozen
class Dial:
    """Connect to HOST:PORT within so many seconds; answer with `Connected` or `Unreached`."""

    number: int
    address: str
    timeout_s: float


@frozen
class LogLine:
    """One line of the log."""

    level: str
    event: str
    fields: dict[str, object]


@define(eq=False)
class Effects:
    """The effects of one step."""

    records: list[bytes] = field(factory=list)
    """Append these to the journal, in this order, before the next step; sync soon, and answer with `Synced`.
    """

    writes: list[Write] = field(factory=list)
    """Hand these to the system."""

    pauses: list[int] = field(factory=list)
    """Read nothing from these connections until they are in `resumes`."""

    resumes: list[int] = field(factory=list)
    """Read from these again."""

    ends: list[Close] = field(factory=list)
    """Close these."""

    dials: list[Dial] = field(factory=list)
    """Make these connections."""

    logs: list[LogLine] = field(factory=list)
    """Log these."""

    wants_pass: bool = False
    """Feed all input that has arrived, then `Pass`: one write may then carry the frames of all of it."""

    is_settled: bool = False
    """The broker is ready: readiness checks may succeed from now on."""

    wants_stop: bool = False
    """An operator has asked the broker to end: feed `Stop`."""

    is_stopped: bool = False
    """The broker has shut down: all that could be sent was sent."""

    failure: Exception | None = None
    """The broker cannot go on; the shell raises this."""
