"""The inputs of a node. Adding an input is adding a class here and a method of `Node`.

Connections have numbers, chosen by the shell and never used twice. An input of a connection that
the node has ended is ignored: both have crossed.
"""

from attrs import define, frozen


@frozen
class Started:
    """The shell begins to serve. Other brokers dial this one at `address` ("" if they cannot)."""

    address: str
    wall_ns: int


@frozen
class Accepted:
    """A peer has connected. `certificates` are the names that its TLS certificate proves."""

    connection: int
    peer: str
    certificates: tuple[str, ...] = ()


@frozen
class Connected:
    """The connection that the effect `Dial` of that number asked for is made."""

    dial: int
    connection: int


@frozen
class Unreached:
    """The connection that the effect `Dial` of that number asked for could not be made."""

    dial: int
    reason: str


@define
class Received:
    """Bytes arrived on a connection, at least one. They are valid during the step only.

    It is not frozen, nor is `Written`: one is made for every buffer, and a frozen one takes three times as
    long.
    """

    connection: int
    content: bytes | bytearray | memoryview


@define
class Written:
    """The system has taken everything of the last `Write` to each of these connections."""

    connections: tuple[int, ...]


@frozen
class Gone:
    """A connection has ended at the other end, or broke."""

    connection: int
    reason: str


@frozen
class Synced:
    """The journal has the first `count` records of this run on disk."""

    count: int


@frozen
class JournalState:
    """Whether the journal has room for more than was granted, and whether its disk is full."""

    has_room: bool
    is_full: bool


@frozen
class Pass:
    """All input that had arrived was fed: large steps may be written (`Effects.wants_pass`)."""


@frozen
class Tick:
    """Time has passed; `wall_ns` is the time of the wall clock."""

    wall_ns: int


@frozen
class Stop:
    """Begin to shut down; `Effects.is_stopped` says when that is done."""


Input = (
    Received
    | Written
    | Pass
    | Tick
    | Synced
    | Accepted
    | Gone
    | Connected
    | Unreached
    | JournalState
    | Started
    | Stop
)
