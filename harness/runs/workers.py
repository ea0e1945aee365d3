"""A process of clients: it takes orders in lines of JSON, reports its progress, and writes its datasets.

On standard input: first the job, with the scenario and everybody's address; then one object a line, each with
a key of `_ORDERS`. On standard output: `{"ready": true}` when all clients are connected and have advertised
or subscribed, `{"published": n, "delivered": n, ...}` each second, and as last line its result.

Run as `python -m harness.runs.workers`.
"""

import gc
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, cast

import trio
from attrs import define

from broker.trace import FLUSH_EVERY_S, prepare
from harness.processes import orders
from harness.runs.crew import Crew, Ledger, Slowness, publish, subscribe, write_matches
from harness.runs.plan import Seat
from harness.scenarios import from_content
from harness.traces import DELIVERIES, PUBLICATIONS

CONNECTING_AT_ONCE: Final = 16
"""Clients that connect and ask at the same time: more only wait longer for the brokers."""

COLLECT_AFTER: Final = 100_000
"""New objects before a search for cycles of garbage; what clients deal with makes none."""

_Row = tuple[str, str, int, list[str]]
"""A seat's name, broker, place and roles, as a job has them."""

_Orders = AsyncIterator[Mapping[str, object]]


def _report(**content: object) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


@define(eq=False)
class _Worker:
    """One process at work."""

    crew: Crew
    role: str
    seats: tuple[Seat, ...]
    ledgers: dict[str, Ledger]

    @classmethod
    def of(cls, setup: Mapping[str, object]) -> "_Worker":
        """Get ready to do a job."""
        job = cast("Mapping[str, object]", setup["job"])
        seats = tuple(Seat(*seat[:-1], tuple(seat[-1])) for seat in cast("list[_Row]", job["seats"]))
        role, folder = str(job["role"]), Path(str(setup["folder"]))
        dataset = PUBLICATIONS if role == "publisher" else DELIVERIES
        scenario = from_content("scenario", cast("Mapping[str, object]", setup["scenario"]), "scenario").first
        crew = Crew(
            scenario,
            cast("Mapping[str, str]", setup["addresses"]),
            dataset.writer(folder, f"{role}s-{job['number']}"),
            folder,
        )
        ledgers = {seat.name: Ledger(seat.broker, crew.rows) for seat in seats} if role == "publisher" else {}
        return cls(crew, role, seats, ledgers)

    async def work(self, incoming: _Orders) -> None:
        """Connect all clients, obey orders until `finish` or the input ends, and write the last rows."""
        async with trio.open_nursery() as nursery:
            # The input may end before everybody is connected, and then nobody ever will be.
            nursery.start_soon(self._begin, nursery)
            restarts = await self._obey(incoming)
            nursery.cancel_scope.cancel()
        crew = self.crew
        crew.rows.flush()
        if self.role == "publisher" and restarts is not None:
            write_matches(crew, self.seats, self.ledgers, cast("Mapping[str, list[int]]", restarts))
        _report(
            published=crew.published,
            delivered=crew.delivered,
            gaps=crew.gaps,
            ended=crew.ended,
            restarts=crew.restarts,
        )

    async def _begin(self, nursery: trio.Nursery) -> None:
        """Connect all clients, then report that they are ready."""
        await self._connect_all(nursery)
        nursery.start_soon(self._write_often)
        nursery.start_soon(self._report_often)
        _report(ready=True)

    async def _connect_all(self, nursery: trio.Nursery) -> None:
        limit = trio.CapacityLimiter(CONNECTING_AT_ONCE)

        async def connect(seat: Seat) -> None:
            async with limit:
                if self.role == "publisher":
                    await nursery.start(publish, self.crew, seat, self.ledgers[seat.name])
                else:
                    await nursery.start(subscribe, self.crew, seat)

        async with trio.open_nursery() as connecting:
            for seat in self.seats:
                connecting.start_soon(connect, seat)

    async def _write_often(self) -> None:
        """Let a crash lose no more than the last second."""
        while True:
            await trio.sleep(FLUSH_EVERY_S)
            if (pending := self.crew.rows.take()) is not None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(pending.write)

    async def _report_often(self) -> None:
        crew = self.crew
        while True:
            _report(
                published=crew.published,
                delivered=crew.delivered,
                gaps=crew.gaps,
                publishing=crew.publishing,
                expected=crew.expected,
            )
            await trio.sleep(REPORT_EVERY_S)

    async def _obey(self, incoming: _Orders) -> object:
        """Obey orders. Return the detail of `finish`: when streams began anew, if matches are wanted."""
        async for order in incoming:
            for name, detail in order.items():
                if name == "finish":
                    return detail
                _ORDERS[name](self.crew, detail)
        return None


REPORT_EVERY_S: Final = 0.25
"""Often enough for a display, and to notice soon that deliveries have ended."""


def _go(crew: Crew, delay_s: object) -> None:
    """Begin to publish after so many seconds."""
    crew.started_s = trio.current_time() + float(cast("float", delay_s))
    crew.publishing = 0
    crew.go.set()


def _slow(crew: Crew, detail: object) -> None:
    """Read a subscription slowly for a while."""
    name, per_second, for_s = cast("tuple[str, float, float]", detail)
    if name in crew.slowness:
        slowness: Slowness = crew.slowness[name]
        slowness.per_second, slowness.until_s = per_second, trio.current_time() + for_s


_ORDERS: Final[Mapping[str, Callable[[Crew, object], None]]] = {"go": _go, "slow": _slow}


async def _main() -> None:
    incoming = orders()
    await _Worker.of(await anext(incoming)).work(incoming)


def main() -> None:
    """Work until the order to finish."""
    prepare()
    logging.getLogger("concord.client").addHandler(logging.NullHandler())
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    trio.run(partial(_main))


if __name__ == "__main__":
    main()
