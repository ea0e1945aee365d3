"""Moves: an operator asks, through any broker, that a broker gets another uplink; the answers return.

Requests and answers go through the tree by the names of brokers: down where that name is below, and up
elsewhere. They change no route and keep no place (R5). The broker that is to move decides; detaching and
attaching again is R8 and R9.

Laws.

1. One move of a broker goes on at a time; further ones wait in their order, and their askers are notified.
2. A move is over when the broker is attached again, wherever that is. One that it cannot begin is refused.
3. An answer is sent when the broker is attached: so it reaches the asker through the tree as it is then.
4. What comes for a broker that has just left this side of a link, or come to it, goes back by that link: the
   news of it is before that on the way.
"""

from collections.abc import Callable
from itertools import takewhile
from typing import Final

from attrs import Factory, define

from broker.core.effects import Destination
from broker.core.hops import Hop
from broker.core.membership import Membership
from broker.core.stepping import MoveSteps
from broker.healing import Roster
from broker.lines import json_line
from broker.messages import WayAnswer
from broker.move_messages import MoveAnswer, MoveAsked

PATH: Final = "path"
"""The method that moves step by step, while events flow."""

END: Final = "end"
"""The method of a broker that is not to move, but to end."""

ATTEMPTS_MAX: Final = 30
"""A step is refused while routes change nearby. So many attempts take some seconds."""

QUEUED_MAX: Final = 100
"""More moves of one broker than an operator asks for; a further one is refused."""


@define(eq=False)
class MoveRequests:
    """The moves of one broker, and the requests and answers that pass through it.

    `present` is the move that goes on; `begun` are destinations to detach for, and `answers` those for local
    clients, until the core's effects are taken.
    """

    _membership: Membership
    _roster: Roster
    _send: Callable[[Hop, MoveAsked | MoveAnswer], None]
    _steps: MoveSteps
    present: MoveAsked | None = None
    _queued: list[MoveAsked] = Factory(list)
    begun: list[Destination] = Factory(list)
    _attempts: int = 0
    _left: list[str] = Factory(list)
    """The uplinks that the present move has left: brokers that are apart may know ways in a ring."""
    is_ending: bool = False
    """Whether this broker is to end, until the core's effects are taken."""
    answers: list[WayAnswer] = Factory(list)

    @property
    def _name(self) -> str:
        return self._roster.name

    # --- requests and answers on their way ---

    def ask(self, question: str, broker: str, uplink: str, method: str) -> None:
        """Make the request of a local client."""
        self.asked(MoveAsked(question, self._name, broker, uplink, method))

    def asked(self, message: MoveAsked, _: Hop | None = None) -> None:
        """Pass a request on, or take it if it is for this broker."""
        if message.broker == self._name:
            self._take(message)
        elif (towards := self._membership.towards(message.broker)) is not None:
            self._send(towards, message)
        else:
            self._end(message, "unknown", f"no broker of this overlay is called {message.broker}")

    def answered(self, message: MoveAnswer, _: Hop | None = None) -> None:
        """Pass an answer on, or hand it to the client that asked; one that leads nowhere is dropped."""
        if message.asker == self._name:
            self.answers.append(WayAnswer(message.question, message.lines, message.more))
        elif (towards := self._membership.towards(message.asker)) is not None:
            self._send(towards, message)

    def _answer(self, message: MoveAsked, state: str, text: str, *, more: bool) -> None:
        line = json_line({"broker": message.broker, "uplink": message.uplink, "state": state, "text": text})
        self.answered(MoveAnswer(message.question, message.asker, (line,), more))

    def _end(self, message: MoveAsked, state: str, text: str) -> None:
        self._answer(message, state, text, more=False)

    # --- the moves of this broker ---

    @property
    def destination(self) -> Destination | None:
        """Return what the present move waits for, which a broker that has restarted dials first."""
        return None if self.present is None else self._next(self.present)

    def _next(self, message: MoveAsked) -> Destination | None:
        """Return the next broker to dial, if there is a way."""
        uplink = self.next_step(message.uplink) if message.method == PATH else message.uplink
        if not uplink:
            return None
        return Destination(uplink, self._roster.address_of(uplink), message.method == PATH, self._attempts)

    def _take(self, message: MoveAsked) -> None:
        if message.method == END:
            self._take_end(message)
        elif self.present is None:
            self._begin(message)
        elif len(self._queued) < QUEUED_MAX:
            self._queued.append(message)
            waits = f"{self._name} moves below {self.present.uplink}: this move begins when that one is over"
            self._answer(message, "queued", waits, more=True)
        else:
            self._end(message, "refused", f"{QUEUED_MAX} moves of {self._name} wait already")

    def _take_end(self, message: MoveAsked) -> None:
        """Let this broker end for good, if nobody depends on it; the only child of a root succeeds it."""
        children = self._membership.children
        is_heir_left = self._membership.attachments.uplink is None and len(children) == 1
        if children and not is_heir_left:
            self._end(message, "refused", f"{', '.join(sorted(children))} is still below {self._name}")
        elif self.present is not None:
            self._end(message, "refused", f"{self._name} moves below {self.present.uplink}")
        else:
            self.is_ending = True
            self._end(message, "ended", f"{self._name} ends")

    def _begin(self, message: MoveAsked) -> None:
        uplink = self._membership.attachments.uplink
        if uplink is not None and uplink.name == message.uplink:
            self._end(message, "moved", f"{self._name} is below {message.uplink} already")
        elif text := self._objection(message.uplink, message.method):
            self._end(message, "refused", text)
        else:
            self.present = message
            self._go_on(message)

    def _go_on(self, message: MoveAsked) -> None:
        """Take the next step towards the new uplink, or detach and dial it.

        Meanwhile that one may have moved below this broker.
        """
        destination = self._next(message)
        if destination is None or self._membership.is_below(message.uplink):
            self._over("refused", self._objection(message.uplink, message.method))
            return
        self.begun.append(destination)
        if not self._attempts:
            how = "goes to" if destination.is_step else "detaches and dials"
            self._answer(message, "begun", f"{self._name} {how} {destination.uplink}", more=True)

    def next_step(self, uplink: str) -> str:
        """Return the next uplink on the way: another child of the uplink, or the broker above it, or "".

        A way through this broker is one of yesterday, when it was above the other: see `Roster`, law 5.
        """
        parent, *above = self._roster.ancestors(self._name) or [""]
        way = list(takewhile(self._name.__ne__, [uplink, *self._roster.ancestors(uplink)]))
        following = way[way.index(parent) - 1] if parent in way[1:] else "".join(above[:1])
        is_way = following not in self._left and self._roster.address_of(following)
        return following if is_way else ""

    def waits(self, at: str) -> None:
        """Notify the asker that the present step waits for another one."""
        if self.present is not None:
            text = f"{self._name} waits: another step goes on at {at}"
            self._answer(self.present, "queued", text, more=True)

    def refused(self, text: str) -> None:
        """Try a step again that was refused, but not for ever; a root is attached again first."""
        message = self.present
        if message is None or self._membership.attachments.uplink is None:
            return
        self._attempts += 1
        if self._attempts < ATTEMPTS_MAX:
            self._go_on(message)
        else:
            self._over("refused", f"{self._name} stays where it is: {text}")

    def _over(self, state: str, text: str) -> None:
        """End the present move, and begin the next one."""
        message = self.present
        self.present, self._left, self._attempts = None, [], 0
        assert message is not None
        self._end(message, state, text)
        while self._queued and self.present is None:
            self._begin(self._queued.pop(0))

    def _objection(self, uplink: str, method: str) -> str:
        """Return why this broker cannot move below that one, or ""."""
        name, text = self._name, ""
        if uplink == name:
            text = f"{uplink} cannot be its own uplink"
        elif self._membership.attachments.uplink is None:
            text = f"{name} is the root of its tree: it has no uplink to leave, and everybody is below it"
        elif self._membership.is_below(uplink):
            text = f"{uplink} is below {name}: the overlay would have a cycle"
        elif not self._roster.address_of(uplink):
            text = f"{name} knows no address of a broker {uplink}"
        elif method == PATH and not self.next_step(uplink):
            text = f"{name} knows no way to {uplink} step by step, so try 'reattach'"
        elif method == PATH and (why := self._steps.inability()):
            text = f"{name} stays where it is: {why}"
        return text

    def attached(self, uplink: Hop) -> None:
        """End the present move if the broker is where it was to be; otherwise take the next step."""
        message = self.present
        if message is None:
            return
        self._attempts = 0
        self._left.append(uplink.name)
        if uplink.name == message.uplink:
            self._over("moved", f"{self._name} is below {uplink.name}")
        elif message.method == PATH:
            self._go_on(message)
        else:
            text = f"{message.uplink} did not take {self._name}: it is below {uplink.name} now"
            self._over("elsewhere", text)

    def __len__(self) -> int:
        """Return how many moves of this broker are not over, while it has an uplink (law 2)."""
        is_root = self._membership.attachments.uplink is None
        return 0 if is_root else len(self._queued) + (self.present is not None)
