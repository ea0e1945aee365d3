"""The life of a client's connections: what state it is in, and what may follow it.

    IDLE ──> DIALLING ──> GREETING ──> CONNECTED ──> DRAINING ──> LEAVING
                ^  │          │            │
                │  v          v            v
                WAITING <──────────────────┘             any of them ──> CLOSED

Laws:

* A transport is there, or being opened, in DIALLING, GREETING, CONNECTED, DRAINING and LEAVING. In the other
  states there is none, or its shell has still to close it.
* Requests and publications leave in CONNECTED and DRAINING only; in LEAVING nothing leaves but the goodbye.
* CLOSED is the end. It has a failure unless the user wanted it.
"""

from enum import Enum
from typing import Final

from attrs import frozen


class Life(Enum):
    """How far a client has come with its connection."""

    IDLE = "nothing has begun"
    DIALLING = "a transport is being opened"
    GREETING = "Hello has been said, Welcome is awaited"
    CONNECTED = "the broker has answered"
    WAITING = "the next attempt has its time"
    DRAINING = "the user leaves: what is left is being sent and taken over"
    LEAVING = "the goodbye has been said, the broker hangs up"
    CLOSED = "it is over"


TRANSITIONS: Final[dict[Life, frozenset[Life]]] = {
    Life.IDLE: frozenset({Life.DIALLING, Life.CLOSED}),
    Life.DIALLING: frozenset({Life.GREETING, Life.WAITING, Life.CLOSED}),
    Life.GREETING: frozenset({Life.CONNECTED, Life.WAITING, Life.CLOSED}),
    Life.CONNECTED: frozenset({Life.WAITING, Life.DRAINING, Life.CLOSED}),
    Life.WAITING: frozenset({Life.DIALLING, Life.CLOSED}),
    Life.DRAINING: frozenset({Life.LEAVING, Life.CLOSED}),
    Life.LEAVING: frozenset({Life.CLOSED}),
    Life.CLOSED: frozenset(),
}
"""What may follow what. Anything else is a mistake of the machine, and an `AssertionError`."""


class Wants(Enum):
    """What a shell has to do now."""

    NOTHING = "go on reading, writing and keeping time"
    DIAL = "say `dialling` and open a transport"
    CLOSE = "close the transport, or stop opening it, and say `lost`"


CONNECTED: Final = "connected"
RECONNECTING: Final = "reconnecting"
CLOSED: Final = "closed"
"""What a user sees of it."""


@frozen
class StateChange:
    """The client is "connected", "reconnecting" or "closed" now; `reason` says why, in one line."""

    state: str
    address: str
    reason: str
