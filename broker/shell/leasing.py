"""The clock of leases: tells the core when to renew, and how patient to be.

Law: both are inputs of the station like all others, so a journal has them, and its replay needs no clock.
"""

import structlog
import trio

from broker.leases import Terms
from broker.shell.exchange import Exchange

__all__ = ["renew", "sweep"]

_log = structlog.get_logger()


async def renew(exchange: Exchange, terms: Terms) -> None:
    """Renew on each link what was announced there, for ever; log what was repaired since the last time."""
    before = _changes(exchange)
    while True:
        await trio.sleep(terms.refresh_s)
        exchange.station.refresh()
        exchange.settle()
        after = _changes(exchange)
        if after != before:
            mended, asked, expired = (now - then for now, then in zip(after, before, strict=True))
            _log.warning("routing tables were wrong", mended=mended, asked=asked, expired=expired)
        before = after


async def sweep(exchange: Exchange, terms: Terms) -> None:
    """Write down how many renewals may leave something out before it expires, for ever."""
    while True:
        await trio.sleep(terms.sweep_s)
        exchange.station.sweep(terms.patience)
        exchange.settle()


def _changes(exchange: Exchange) -> tuple[int, int, int]:
    leases = exchange.core.leases
    return leases.mending.count, leases.mended, leases.expired
