"""Keeps a broker attached: dials its uplinks in order, and dials again when the link is lost.

Laws:

1. Uplinks are tried in order, from the first after every loss; after each round without success there is a
   wait.
2. A refusal that trying again does not change ends the broker if no uplink has ever taken it: somebody has to
   change a setting and should hear of it. A broker that was attached before goes on trying: it has clients,
   and what stands against it may go away.
3. A broker is settled when it is attached for the first time, or when a first round over all uplinks has
   failed: whoever started it may take it for ready.
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, Protocol

import structlog
import trio
from attrs import define, field

from broker.addresses import Address
from broker.backoff import Backoff
from broker.errors import BrokerFaultError
from broker.shell.greeting import FINAL_REFUSALS

__all__ = ["DIAL_TIMEOUT_S", "Attempt", "Dial", "keep_attached"]

DIAL_TIMEOUT_S: Final = 10.0
"""Connecting, TLS and greeting together; a broker that answers at all answers within a fraction of this."""

_log = structlog.get_logger()


@define(eq=False)
class Attempt:
    """What became of one dialled connection. `settled` is set when it is attached."""

    settled: trio.Event
    was_attached: bool = field(default=False, init=False)
    refusal: tuple[str, str] | None = field(default=None, init=False)

    def attached(self) -> None:
        """The link became part of the tree."""
        self.was_attached = True
        self.settled.set()

    def refused(self, code: str, text: str) -> None:
        """The other side does not want us."""
        self.refusal = (code, text)

    @property
    def is_final(self) -> bool:
        """Whether trying again would not help."""
        return self.refusal is not None and self.refusal[0] in FINAL_REFUSALS


class Dial(Protocol):
    """Makes one connection and serves it until it ends."""

    def __call__(self, endpoint: Address, attempt: Attempt) -> Awaitable[None]:
        """Raise `OSError` if no connection could be made."""
        ...


async def keep_attached(
    endpoints: tuple[Address, ...],
    dial: Dial,
    random: Random,
    settled: trio.Event,
    sleep: Callable[[float], Awaitable[None]] = trio.sleep,
) -> None:
    """Dial for ever. Raises `BrokerFaultError` when every uplink refuses for good before one ever took us."""
    backoff = Backoff(random)
    was_attached = False
    while True:
        attempts: list[Attempt] = []
        for endpoint in endpoints:
            attempt = await _try(endpoint, dial, settled)
            attempts.append(attempt)
            if attempt.was_attached:
                was_attached = True
                backoff.reset()
                break
        if not was_attached and all(attempt.is_final for attempt in attempts):
            _give_up(endpoints, attempts)
        settled.set()
        await sleep(backoff.next_s())


async def _try(endpoint: Address, dial: Dial, settled: trio.Event) -> Attempt:
    attempt = Attempt(settled)
    try:
        await dial(endpoint, attempt)
    except OSError as error:
        _log.warning("uplink not reached", uplink=str(endpoint), reason=str(error))
    else:
        if attempt.refusal is not None:
            code, text = attempt.refusal
            _log.warning("uplink refused us", uplink=str(endpoint), code=code, text=text)
    return attempt


def _give_up(endpoints: tuple[Address, ...], attempts: list[Attempt]) -> None:
    """Say what the last uplink said: with several, the log has what the others said."""
    assert attempts[-1].refusal is not None
    code, text = attempts[-1].refusal
    raise BrokerFaultError(f"--uplink {endpoints[-1]} refused this broker: {text}", code)
