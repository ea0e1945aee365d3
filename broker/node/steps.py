"""Dials the broker that is to take the place of the uplink in a step of a move (`broker.core.lifting`).

Laws.

1. The uplink stays until the switch: its link and the search that dialled it (`broker.node.uplinks`) go on.
2. The new link has one connection. If that ends before the switch, so does the link, and the core gives the
   step up or falls back to healing.
3. A step that was refused is tried again after a wait.
"""

from collections.abc import Callable
from typing import Final

from attrs import Factory, define, field

from broker.backoff import Backoff, Drawing
from broker.core import Destination
from broker.healing import Candidate
from broker.node.effects import Dial
from broker.node.greeting import GreetingContext
from broker.node.log import Log
from broker.node.timers import Timer, Timers

DIAL_TIMEOUT_S: Final = 5.0

LONGEST_WAIT_S: Final = 1.0
"""Routes change rarely for longer, and another step nearby takes some round trips."""


@define(eq=False)
class StepDialler:
    """The step of one broker that is under way. Numbers of its dials are negative."""

    context: GreetingContext
    timers: Timers
    log: Log
    _random: Drawing
    _ask_to_dial: Callable[[Dial], None]
    _destination: Destination | None = field(default=None, init=False)
    _dials: int = field(default=0, init=False)
    _is_dialling: bool = field(default=False, init=False)
    _is_greeting: bool = field(default=False, init=False)
    """Whether the connection is made, and its end has not come."""
    _wait: Timer | None = field(default=None, init=False)
    _backoff: Backoff = field(
        default=Factory(lambda self: Backoff(self._random), takes_self=True), init=False
    )

    def take(self, destination: Destination) -> None:
        """Dial the broker of the next step, after a wait if it was refused before."""
        self.stop()
        self._is_greeting = False
        self._destination = destination
        if destination.attempts:
            self._wait = self.timers.after(self._backoff.next_s(LONGEST_WAIT_S), self._dial)
        else:
            self._backoff.reset()
            self._dial()

    def stop(self) -> None:
        """Dial no broker any more."""
        self._is_dialling = False
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None

    def _dial(self) -> None:
        assert self._destination is not None
        self._wait = None
        self._dials -= 1
        self._is_dialling = True
        self._ask_to_dial(Dial(self._dials, self._destination.address, DIAL_TIMEOUT_S))

    def is_awaited(self, dial: int) -> bool:
        """Whether the connection that was asked for under this number is still wanted."""
        return self._is_dialling and dial == self._dials

    @property
    def candidate(self) -> Candidate:
        """The broker of the step, as the search would call it."""
        assert self._destination is not None
        return Candidate(self._destination.address, self._destination.uplink, "moved by an operator")

    # --- what becomes of the connection ---

    def connected(self) -> None:
        """The connection is made."""
        self._is_dialling, self._is_greeting = False, True

    def unreached(self, reason: str) -> None:
        """The connection could not be made."""
        self._is_dialling = False
        self._failed(f"{self.candidate.name} was not reached: {reason}")

    def _failed(self, text: str) -> None:
        self.log.info("step failed", neighbour=self.candidate.name, reason=text)
        self.context.exchange.station.step_failed(text)
        self.context.exchange.settle()

    def ended(self) -> None:
        """End the link with its connection (law 2); without a link, the step has failed."""
        link, is_greeting = self.context.beside, self._is_greeting
        self._is_greeting = False
        if link is not None:
            link.close("the connection of a step has ended")
        elif is_greeting:
            self._failed(f"{self.candidate.name} closed the connection")

    # --- what the link says ---

    @property
    def is_wanted(self) -> bool:
        """Whether a link is still of use: a broker that has lost its uplink has no step to take."""
        return self.context.exchange.core.uplink is not None

    def attached(self) -> None:
        """Take nothing from that: a link beside the uplink is never attached."""

    def refused(self, code: str, text: str) -> None:
        """Take the refusal of the other end; what follows from it follows from the end of the connection."""
        self.log.info("step refused", neighbour=self.candidate.name, code=code, reason=text)

    def link_closed(self) -> None:
        """Take nothing from that: the core knows what follows."""
