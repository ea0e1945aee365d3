"""Keeps a broker attached: asks the shell to dial the candidates of `broker.healing`, and again after a loss.

Theory. `Uplinks.state` is the event that the search waits for (`Waiting`). A *candidate* is dialled, greeted,
and the link with it goes through the attachment (R9). While that link is open, every lost connection of it is
dialled again. When the link is closed, or was never opened, the next candidate has its turn.

Laws:

1. After each round of candidates without success there is a wait, twice as long from round to round.
2. A refusal that passes (the other end is busy or shuts down) and one that does not are the same within a
   round: the next candidate has its turn, and this one again in the next round.
3. A final refusal ends the broker if every configured uplink refuses so in one round and none has ever
   accepted it: an operator has to change a setting and should know of it. A broker that was attached before
   tries again: it has clients, and the reason of the refusal may pass. That a configured uplink is below us
   is no final refusal: it recovered after a failover to others. That our name is in the overlay already is
   one after a while only: it may be that of an earlier run that is not declared lost yet.
4. A broker is settled when it is attached for the first time, or when a first round has failed: then it is
   ready.
5. An uplink that does not last does not shorten the waits: an unstable broker is dialled rarely. But one
   whose link an earlier run has left open is dialled often: the other end keeps the link for a limited time.
"""

from collections.abc import Callable
from enum import Enum
from math import inf
from typing import Final

from attrs import Factory, define, field

from broker.backoff import FIRST_S, LONGEST_S, Backoff, Drawing, longest_while_kept_s
from broker.core import BrokerCore, Destination
from broker.errors import BrokerFaultError
from broker.healing import Candidate, Search
from broker.node.effects import Dial
from broker.node.greeting import FINAL_REFUSALS, GreetingContext
from broker.node.log import Log
from broker.node.timers import Timer, Timers
from broker.transitions import Transitions, follow

DIAL_TIMEOUT_S: Final = 10.0
"""Connecting and TLS together; a broker that answers at all answers within a fraction of this."""

REDIAL_PART: Final = 5
"""An attempt to resume may take this part of the link timeout, so that several fit into it."""

REDIAL_TIMEOUT_S: Final = 1.0
"""But never less than this: a round trip around the world, a few times."""

STEADY_S: Final = 20.0
"""An uplink that lasted so long counts as one that stays. It is more than all waits until the longest."""

_BELOW_US: Final = frozenset({"cycle", "second-path"})
"""Refusals of an uplink that is below us: it is no misconfiguration, and may be above us another time."""

_TAKEN: Final = "duplicate"
"""The refusal of a broker whose name is in the overlay already."""

STALE_TIMEOUTS: Final = 3
"""A name, ours or one below us, may be of an earlier run for so many link timeouts after a first refusal.
One until that is declared lost, two more where the announcement of it waits for a broken link."""


class Waiting(Enum):
    """The event that the search for an uplink waits for."""

    START = "the first step"
    TURN = "the time of the next candidate"
    DIALLED = "the connection to a candidate"
    GREETED = "the end of that connection"
    BREAK = "the time to make the connection of an open link again"
    REDIALLED = "that connection"
    NOTHING = "nothing: the broker shuts down or has failed"


_CANDIDATE: Final = frozenset({Waiting.TURN, Waiting.DIALLED, Waiting.NOTHING})
"""From every state, the next candidate may have its turn, or the search may end."""

TRANSITIONS: Final[Transitions[Waiting]] = {
    Waiting.START: _CANDIDATE,
    Waiting.TURN: _CANDIDATE,
    Waiting.DIALLED: _CANDIDATE | {Waiting.GREETED},
    Waiting.GREETED: _CANDIDATE | {Waiting.BREAK},
    Waiting.BREAK: _CANDIDATE | {Waiting.REDIALLED},
    Waiting.REDIALLED: _CANDIDATE | {Waiting.GREETED, Waiting.BREAK},
    Waiting.NOTHING: frozenset({Waiting.NOTHING}),
}


@define(eq=False)
class _Attempt:
    """The outcome of one candidate."""

    candidate: Candidate
    begun_s: float
    was_attached: bool = False
    refusal: tuple[str, str] | None = None
    breaks: int = 0
    """How often a connection of the link has ended, or could not be made again."""
    connections: int = 0
    """Of the link, before the last attempt to make another one."""

    @property
    def is_final(self) -> bool:
        """Whether trying again would not help."""
        return self.refusal is not None and self.refusal[0] in FINAL_REFUSALS

    @property
    def is_hopeless(self) -> bool:
        """Whether an operator has to change a setting."""
        return self.refusal is not None and self.refusal[0] in FINAL_REFUSALS - _BELOW_US


@define(eq=False)
class Uplinks:
    """Carries out the search of one broker. A link without a connection is kept for `link_timeout_s`."""

    core: BrokerCore
    search: Search
    context: GreetingContext
    timers: Timers
    log: Log
    link_timeout_s: float
    _random: Drawing
    _ask_to_dial: Callable[[Dial], None]
    state: Waiting = field(default=Waiting.START, init=False)
    failure: BrokerFaultError | None = field(default=None, init=False)
    _backoff: Backoff = field(
        default=Factory(lambda self: Backoff(self._random), takes_self=True), init=False
    )
    _again: Backoff = field(default=Factory(lambda self: Backoff(self._random), takes_self=True), init=False)
    _attempt: _Attempt | None = field(default=None, init=False)
    _dials: int = field(default=0, init=False)
    _timer: Timer | None = field(default=None, init=False)
    _taken_since_s: float = field(default=inf, init=False)
    """When an uplink first said that a name is taken, since there was one."""
    _complaints: set[tuple[str, str]] = field(factory=set, init=False)
    _hopeless: dict[str, tuple[str, str]] = field(factory=dict, init=False)
    _destination: Candidate | None = field(default=None, init=False)
    """The broker that an operator has moved this one below, until it has been dialled."""

    # --- states ---

    def _enter(self, state: Waiting) -> None:
        self.state = follow(TRANSITIONS, self.state, state)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def begin(self) -> None:
        """Dial the first candidate."""
        self._dial_next()

    def stop(self) -> None:
        """End the search: dial no candidate any more."""
        if self.state is not Waiting.NOTHING:
            self._enter(Waiting.NOTHING)

    def _wait_for_turn(self) -> None:
        longest_s = LONGEST_S if self.core.asked is None else longest_while_kept_s(self.link_timeout_s)
        self._enter(Waiting.TURN)
        self._timer = self.timers.after(self._backoff.next_s(longest_s), self._dial_next)

    # --- moving ---

    def move(self, destination: Destination) -> None:
        """Leave the uplink, and dial another broker first; if that does not take this one, search (R9)."""
        self._destination = Candidate(destination.address, destination.uplink, "moved by an operator")
        link = self.context.uplink
        if link is not None:
            link.close(f"{self.context.name} moves below {destination.uplink}")

    def switched(self, candidate: Candidate) -> None:
        """Go on with the uplink that a step has brought."""
        self._attempt = _Attempt(candidate, self.timers.now_s, was_attached=True)
        self.search.attached(candidate)
        self.log.info("moved", **_named(candidate), moves=self.search.moves)

    # --- candidates ---

    def _next(self) -> Candidate | None:
        """Yield the candidates, first the uplink whose link an earlier run of this broker has left open."""
        moved, self._destination = self._destination, None
        if moved is not None:
            return moved
        link = self.core.asked
        if link is not None and (address := self.core.roster.address_of(link.name)):
            return Candidate(address, link.name, "uplink of the run before")
        return self.search.next(self.core.roster, self.core.below)

    def _dial_next(self) -> None:
        candidate = self._next()
        if candidate is None:
            self._end_round()
            if self.state is not Waiting.NOTHING:
                self._wait_for_turn()
            return
        if self.search.is_first_round:
            self.log.info("dialling", **_named(candidate))
        self._attempt = _Attempt(candidate, self.timers.now_s)
        self._enter(Waiting.DIALLED)
        self._dial(candidate, DIAL_TIMEOUT_S if self.context.uplink is None else self._again_s)

    def _dial(self, candidate: Candidate, timeout_s: float) -> None:
        self._dials += 1
        self._ask_to_dial(Dial(self._dials, candidate.address, timeout_s))

    @property
    def _again_s(self) -> float:
        return min(DIAL_TIMEOUT_S, max(REDIAL_TIMEOUT_S, self.link_timeout_s / REDIAL_PART))

    # --- what the shell says of a dial ---

    def is_awaited(self, dial: int) -> bool:
        """Whether the connection that was asked for under this number is still wanted."""
        return dial == self._dials and self.state in {Waiting.DIALLED, Waiting.REDIALLED}

    @property
    def address(self) -> str:
        """The candidate of the present attempt."""
        assert self._attempt is not None
        return self._attempt.candidate.address

    def connected(self) -> None:
        """The connection is made; the caller sends the Hello, and calls `ended` when it is over."""
        if self.state is Waiting.DIALLED:
            self._again.reset()
        self._enter(Waiting.GREETED)

    def unreached(self, reason: str) -> None:
        """The connection could not be made."""
        assert self._attempt is not None
        candidate = self._attempt.candidate
        if self.state is Waiting.DIALLED:
            self._complain("uplink not reached", candidate, reason=reason)
            self._give_up_candidate()
        else:
            self.log.info("uplink not reached again", uplink=candidate.address, reason=reason)
            self._go_on()

    def ended(self) -> None:
        """The connection is over; its link may be kept."""
        if self.state is Waiting.GREETED:
            self._go_on()

    def _go_on(self) -> None:
        """Dial the link's broker again after a wait; without a link, try the next candidate."""
        attempt = self._attempt
        assert attempt is not None
        link = self.context.uplink
        if link is None:
            self._give_up_candidate()
            return
        if attempt.is_final:
            link.close("the uplink refuses this broker for good")
            return
        attempt.breaks += 1
        if attempt.breaks == 1:
            wait_s = self._random.uniform(0, FIRST_S)
        else:
            if link.connections > attempt.connections:
                self._again.reset()
            wait_s = self._again.next_s(longest_while_kept_s(self.link_timeout_s))
        attempt.connections = link.connections
        self._enter(Waiting.BREAK)
        self._timer = self.timers.after(wait_s, self._redial)

    def _redial(self) -> None:
        assert self._attempt is not None
        self._enter(Waiting.REDIALLED)
        self._dial(self._attempt.candidate, self._again_s)

    # --- what the link says ---

    @property
    def is_wanted(self) -> bool:
        """Whether a link is still of use: always, as nobody else attaches this broker."""
        return True

    def attached(self) -> None:
        """Take the broker as attached: the link is part of the tree, or was resumed."""
        attempt = self._attempt
        if attempt is None or attempt.was_attached:
            return
        attempt.was_attached = True
        self.log.info("attached", **_named(attempt.candidate), moves=self.search.moves + 1)
        self.search.attached(attempt.candidate)
        self._complaints.clear()
        self._taken_since_s = inf
        self.context.settle()

    def refused(self, code: str, text: str) -> None:
        """Record the refusal of the candidate."""
        if self._attempt is not None:
            self._attempt.refusal = (code, text)

    def link_closed(self) -> None:
        """Try the next candidate: the link was declared lost."""
        if self.state in {Waiting.BREAK, Waiting.REDIALLED}:
            self._give_up_candidate()

    # --- the end of an attempt ---

    def _give_up_candidate(self) -> None:
        attempt, self._attempt = self._attempt, None
        assert attempt is not None
        candidate = attempt.candidate
        if attempt.refusal is not None and not attempt.was_attached:
            code, text = attempt.refusal
            self._complain("uplink refused us", candidate, code=code, text=text)
            if attempt.is_hopeless:
                self._hopeless[candidate.address] = attempt.refusal
            if code == _TAKEN:
                self._taken_since_s = min(self._taken_since_s, self.timers.now_s)
        if attempt.was_attached:
            self.search.lost()
            if self._destination is not None:
                self._dial_next()
                return
            self.log.warning("uplink lost, looking for another one", **_named(candidate))
            if self.timers.now_s - attempt.begun_s >= STEADY_S:
                self._backoff.reset()
        if attempt.was_attached or self.core.asked is not None:
            self._wait_for_turn()
        else:
            self._dial_next()

    def _end_round(self) -> None:
        """End a round without success: fail for good (law 3), or serve as a root and try again."""
        search = self.search
        if search.moves == 0 and self._is_hopeless():
            return
        if search.is_first_round and (search.configured or search.moves):
            self.log.warning(
                "no uplink takes us: this broker is the root of its tree for now, and goes on trying"
            )
        self._hopeless.clear()
        search.begin_round()
        self.context.settle()

    def _is_hopeless(self) -> bool:
        """Return an error with the answer of the last uplink; the log has the answers of the others."""
        configured = self.search.configured
        is_early = self.timers.now_s - self._taken_since_s < STALE_TIMEOUTS * self.link_timeout_s
        if is_early and any(code == _TAKEN for code, _ in self._hopeless.values()):
            return False
        if not configured or not all(address in self._hopeless for address in configured):
            return False
        code, text = self._hopeless[configured[-1]]
        self.failure = BrokerFaultError(f"--uplink {configured[-1]} refused this broker: {text}", code)
        self._enter(Waiting.NOTHING)
        return True

    def _complain(self, what: str, candidate: Candidate, **said: str) -> None:
        """Log a failed attempt; one that was logged since the last attachment is logged at level debug."""
        complaint = (what, candidate.address)
        log = self.log.debug if complaint in self._complaints else self.log.warning
        self._complaints.add(complaint)
        log(what, **_named(candidate), **said)


def _named(candidate: Candidate) -> dict[str, str]:
    known = {"neighbour": candidate.name} if candidate.name else {}
    return {"uplink": candidate.address, **known, "why": candidate.why}
