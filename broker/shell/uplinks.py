"""Keeps a broker attached: dials whom `broker.healing` names, and dials again when the link is lost.

Laws:

1. Whom to dial is decided by `broker.healing`; here it is carried out: after each round without success there
   is a wait, twice as long from round to round.
2. A refusal that passes (the other end is busy or shuts down) and one that does not are the same within a
   round: the next candidate has its turn, and this one again in the next round.
3. A refusal that trying again does not change ends the broker if every configured uplink says such in one
   round and none has ever taken it: somebody has to change a setting and should hear of it. A broker that was
   attached before goes on trying: it has clients, and what stands against it may go away. That a configured
   uplink is below us is no such refusal: it came back while others went on without it. That somebody in the
   overlay has our name is one after a while only: it may be an earlier run of ours that is not yet missed.
4. A broker is settled when it is attached for the first time, or when a first round has failed: whoever
   started it may take it for ready.
5. An uplink that does not last does not shorten the waits: a broker that comes and goes is asked rarely. But
   one whose link an earlier run has left open is asked often: the other end keeps the link for a time only.
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, Protocol

import structlog
import trio
from attrs import Factory, define, field

from broker.addresses import Address, parse_address
from broker.backoff import LONGEST_S, Backoff, longest_while_kept_s
from broker.core import BrokerCore
from broker.errors import BrokerFaultError
from broker.healing import Candidate, Search
from broker.shell.greeting import FINAL_REFUSALS

__all__ = ["DIAL_TIMEOUT_S", "STEADY_S", "Attempt", "Dial", "Uplinks"]

DIAL_TIMEOUT_S: Final = 10.0
"""Connecting, TLS and greeting together; a broker that answers at all answers within a fraction of this."""

STEADY_S: Final = 20.0
"""An uplink that lasted so long counts as one that stays. It is more than all waits until the longest."""

_BELOW_US: Final = frozenset({"cycle", "second-path"})
"""Refusals of an uplink that is below us: it is no misconfiguration, and may be above us another time."""

_TAKEN: Final = "duplicate"
"""The refusal of a broker whose name is in the overlay already."""

_log = structlog.get_logger()


@define(eq=False)
class Attempt:
    """What became of one dialled link. `settled` is set when it is attached, and `_took_us` is called."""

    settled: trio.Event
    _took_us: Callable[[], None] = lambda: None
    was_attached: bool = field(default=False, init=False)
    refusal: tuple[str, str] | None = field(default=None, init=False)

    def attached(self) -> None:
        """The link became part of the tree, or a new connection of it was made."""
        if not self.was_attached:
            self.was_attached = True
            self._took_us()
            self.settled.set()

    def refused(self, code: str, text: str) -> None:
        """The other side does not want us."""
        self.refusal = (code, text)

    @property
    def is_final(self) -> bool:
        """Whether trying again would not help."""
        return self.refusal is not None and self.refusal[0] in FINAL_REFUSALS

    @property
    def is_hopeless(self) -> bool:
        """Whether somebody has to change a setting."""
        return self.refusal is not None and self.refusal[0] in FINAL_REFUSALS - _BELOW_US


class Dial(Protocol):
    """Makes one connection and serves it until it ends."""

    def __call__(self, endpoint: Address, attempt: Attempt) -> Awaitable[None]:
        """Raise `OSError` if no connection could be made."""
        ...


@define(eq=False)
class Uplinks:
    """The search of one broker, carried out. `settled` is set once its starter may go on."""

    core: BrokerCore
    search: Search
    patience_s: float = 0.0
    """How long an earlier run of this broker may not be missed by others, and is its link kept."""
    settled: trio.Event = Factory(trio.Event)
    _complaints: set[tuple[str, str]] = field(factory=set, init=False)
    _hopeless: dict[str, tuple[str, str]] = field(factory=dict, init=False)
    _begun_s: float = field(default=0.0, init=False)

    async def keep_attached(
        self, dial: Dial, random: Random, sleep: Callable[[float], Awaitable[None]] = trio.sleep
    ) -> None:
        """Dial for ever. Raises `BrokerFaultError` when every uplink refuses for good before one took us."""
        backoff = Backoff(random)
        self._begun_s = trio.current_time()
        while True:
            candidate = self._next()
            if candidate is None:
                self._end_round()
                await sleep(backoff.next_s(self._longest_s()))
                continue
            begun_s = trio.current_time()
            attempt = await self._try(candidate, dial)
            if attempt.was_attached:
                self._lost(candidate)
                if trio.current_time() - begun_s >= STEADY_S:
                    backoff.reset()
            if attempt.was_attached or self.core.asked is not None:
                await sleep(backoff.next_s(self._longest_s()))

    def _longest_s(self) -> float:
        return LONGEST_S if self.core.asked is None else longest_while_kept_s(self.patience_s)

    def _next(self) -> Candidate | None:
        """Whom to dial: first of all the uplink whose link an earlier run of this broker has left open."""
        link = self.core.asked
        if link is not None and (address := self.core.roster.address_of(link.name)):
            return Candidate(address, link.name, "uplink of the run before")
        return self.search.next(self.core.roster, self.core.below)

    async def _try(self, candidate: Candidate, dial: Dial) -> Attempt:
        if self.search.is_first_round:
            _log.info("dialling", **_told(candidate))
        attempt = Attempt(self.settled, lambda: self._took_us(candidate))
        try:
            await dial(parse_address(candidate.address), attempt)
        except (OSError, ValueError) as error:
            self._complain("uplink not reached", candidate, reason=str(error))
        if attempt.refusal is not None and not attempt.was_attached:
            code, text = attempt.refusal
            self._complain("uplink refused us", candidate, code=code, text=text)
            if attempt.is_hopeless:
                self._hopeless[candidate.address] = attempt.refusal
        return attempt

    def _took_us(self, candidate: Candidate) -> None:
        _log.info("attached", **_told(candidate), moves=self.search.moves + 1)
        self.search.attached(candidate)
        self._complaints.clear()

    def _lost(self, candidate: Candidate) -> None:
        self.search.lost()
        _log.warning("uplink lost, looking for another one", **_told(candidate))

    def _end_round(self) -> None:
        """Nobody took us in this round: give up, or serve what is below and go on."""
        search = self.search
        if search.moves == 0:
            self._give_up_if_hopeless()
        if search.is_first_round and (search.configured or search.moves):
            _log.warning("no uplink takes us: this broker is the top of its tree for now, and goes on trying")
        self._hopeless.clear()
        search.begin_round()
        self.settled.set()

    def _give_up_if_hopeless(self) -> None:
        """Say what the last uplink said: with several, the log has what the others said."""
        configured = self.search.configured
        is_early = trio.current_time() - self._begun_s < self.patience_s
        if is_early and any(code == _TAKEN for code, _ in self._hopeless.values()):
            return
        if configured and all(address in self._hopeless for address in configured):
            code, text = self._hopeless[configured[-1]]
            raise BrokerFaultError(f"--uplink {configured[-1]} refused this broker: {text}", code)

    def _complain(self, what: str, candidate: Candidate, **said: str) -> None:
        """Log what went wrong; what has been said since the last attachment is said softly."""
        complaint = (what, candidate.address)
        log = _log.debug if complaint in self._complaints else _log.warning
        self._complaints.add(complaint)
        log(what, **_told(candidate), **said)


def _told(candidate: Candidate) -> dict[str, str]:
    known = {"neighbour": candidate.name} if candidate.name else {}
    return {"uplink": candidate.address, **known, "why": candidate.why}
