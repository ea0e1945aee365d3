"""The clock of leases: tells the core when to say again what it has told, and when to sweep.

Law: both are inputs of the station like all others, so a journal has them, and its replay needs no clock.
"""

from collections.abc import Callable

import structlog
import trio

from broker.leases import SWEEPS, Terms
from broker.shell.exchange import Exchange

__all__ = ["renew", "sweep"]

_log = structlog.get_logger()


async def renew(exchange: Exchange, terms: Terms) -> None:
    """Say again to each neighbour what it has been told, for ever."""
    while True:
        await trio.sleep(terms.refresh_s)
        _step(exchange, exchange.station.refresh)


async def sweep(exchange: Exchange, terms: Terms) -> None:
    """Forget what was not said again, for ever."""
    while True:
        await trio.sleep(terms.sweep_s)
        _step(exchange, lambda: exchange.station.sweep(SWEEPS))


def _step(exchange: Exchange, do: Callable[[], None]) -> None:
    leases = exchange.core.leases
    before = leases.mending.count, leases.mended, leases.expired
    do()
    exchange.settle()
    after = leases.mending.count, leases.mended, leases.expired
    if after != before:
        mended, asked, expired = (now - then for now, then in zip(after, before, strict=True))
        _log.warning("routing tables were wrong", mended=mended, asked=asked, expired=expired)
