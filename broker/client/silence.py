"""Heartbeats of a client: when a silent connection gets a ping, and when it is declared lost.

Laws:

* After a heartbeat without a byte the broker gets a ping; after another one the connection is lost.
* Time is counted from when this end looks, not from when it should have looked: a process that was itself
  stalled sends a ping first. For the same reason it looks once more, a moment later, before the connection is
  lost: bytes that arrived during the stall are read first.
"""

from enum import Enum
from typing import Final

from attrs import define, field

GRACE_PART: Final = 0.1
"""The last look comes such a part of a heartbeat after the second silent one."""


class Due(Enum):
    """The action that is due at this time."""

    NOTHING = "it is not time, or there is one more look to come"
    ASK = "send a ping"
    LOST = "take the connection for lost"


@define
class Silence:
    """One connection's silence; `deadline_s` is when to look next."""

    heartbeat_s: float
    deadline_s: float = field(init=False)
    _looks: int = field(default=0, init=False)

    def received(self, now_s: float) -> None:
        """Note that bytes came from the broker."""
        self.deadline_s = now_s + self.heartbeat_s
        self._looks = 0

    def look(self, now_s: float) -> Due:
        """Return the action that is due now."""
        if now_s < self.deadline_s:
            return Due.NOTHING
        self._looks += 1
        match self._looks:
            case 1:
                self.deadline_s = now_s + self.heartbeat_s
                return Due.ASK
            case 2:
                self.deadline_s = now_s + self.heartbeat_s * GRACE_PART
                return Due.NOTHING
            case _:
                return Due.LOST
