"""The states of a client, of its publishers and of its subscriptions, with their transitions.

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

from broker.transitions import Transitions


class ClientLife(Enum):
    """The state of a client's connection."""

    IDLE = "nothing has begun"
    DIALLING = "a transport is being opened"
    GREETING = "Hello has been said, Welcome is awaited"
    CONNECTED = "the broker has answered"
    WAITING = "the next attempt has its time"
    DRAINING = "the user leaves: what is left is being sent and taken over"
    LEAVING = "the goodbye has been said, the broker hangs up"
    CLOSED = "it is over"


TRANSITIONS: Final[Transitions[ClientLife]] = {
    ClientLife.IDLE: frozenset({ClientLife.DIALLING, ClientLife.CLOSED}),
    ClientLife.DIALLING: frozenset({ClientLife.GREETING, ClientLife.WAITING, ClientLife.CLOSED}),
    ClientLife.GREETING: frozenset({ClientLife.CONNECTED, ClientLife.WAITING, ClientLife.CLOSED}),
    ClientLife.CONNECTED: frozenset({ClientLife.WAITING, ClientLife.DRAINING, ClientLife.CLOSED}),
    ClientLife.WAITING: frozenset({ClientLife.DIALLING, ClientLife.CLOSED}),
    ClientLife.DRAINING: frozenset({ClientLife.LEAVING, ClientLife.CLOSED}),
    ClientLife.LEAVING: frozenset({ClientLife.CLOSED}),
    ClientLife.CLOSED: frozenset(),
}


class Phase(Enum):
    """The state of a publisher or a subscription of a client, over all its connections."""

    OPENING = "asked for; its barrier is not passed, or a gate is closed"
    OPEN = "a publisher may publish, a subscription gets everything"
    LEAVING = "the user is done with a publisher; what it published is still to be taken over"
    ENDED = "the user has withdrawn it, or the broker has ended it"


PHASE_TRANSITIONS: Final[Transitions[Phase]] = {
    Phase.OPENING: frozenset({Phase.OPEN, Phase.LEAVING, Phase.ENDED}),
    Phase.OPEN: frozenset({Phase.LEAVING, Phase.ENDED}),
    Phase.LEAVING: frozenset({Phase.ENDED}),
    Phase.ENDED: frozenset(),
}


class Wants(Enum):
    """The action that a shell has to take now."""

    NOTHING = "go on reading, writing and keeping time"
    DIAL = "say `dialling` and open a transport"
    CLOSE = "close the transport, or stop opening it, and say `lost`"


CONNECTED: Final = "connected"
RECONNECTING: Final = "reconnecting"
CLOSED: Final = "closed"
"""The states as a user sees them."""


@frozen
class StateChange:
    """The client is "connected", "reconnecting" or "closed" now; `reason` is one line."""

    state: str
    address: str
    reason: str
