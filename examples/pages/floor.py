"""One market on one overlay: exchanges that publish days, investors who follow them, and their auditors.

What a page is shown of it is `Floor.frame`: each investor's tape beside its auditor's, and where they differ.
"""

import time
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import count
from statistics import median
from typing import Final

import trio
from attrs import asdict, define, field, frozen

from concord import Delivery, Publisher, connect
from examples.pages.audit import Audit, AuditFinding, AuditLine
from examples.pages.overlay import DemoOverlay
from examples.ticker.day import EXCHANGES, Moment, made, publish
from examples.ticker.investor import Book, Decision, PriceTick, Rules, follow

NIGHT_S: Final = 1.0
"""Between the last tick of a day and the next bell: what was published has been delivered by then."""

LINES_SHOWN: Final = 9
FINDINGS_SHOWN: Final = 8
POINTS_SHOWN: Final = 120
_LATENCIES_MAX: Final = 200

Json = dict[str, object]


@frozen
class Mandate:
    """What an investor wants to see, how it decides, and which symbol its chart shows."""

    name: str
    wanted: str
    rules: Rules
    charted: str


MANDATES: Final = (
    Mandate("Ada", "symbol in ('ASML', 'SAP')", Rules(limits={"SAP": 245.5}), "ASML"),
    Mandate("Ben", "40 < price <= 300 and size >= 100", Rules(drop=0.003, gain=0.004), "SAP"),
    Mandate(
        "Cleo",
        "symbol.startswith('S') or symbol == 'IBM' and size >= 50",
        Rules(drop=0.005, stop=0.003),
        "SIE",
    ),
)


@define(eq=False)
class Follower:
    """An investor or an auditor: where it is connected, and its book."""

    name: str
    city: str
    wanted: str
    book: Book
    is_connected: bool = False
    latencies_s: deque[float] = field(factory=lambda: deque(maxlen=_LATENCIES_MAX))


@define(eq=False)
class Floor:
    """The exchanges and followers of one overlay."""

    overlay: DemoOverlay
    days: Sequence[Moment]
    day_s: float
    seed: int
    followers: dict[str, Follower] = field(factory=dict)
    audit: Audit = field(factory=Audit)
    day: int = 0
    began_s: float = field(factory=time.monotonic)

    def __attrs_post_init__(self) -> None:
        cities = list(self.overlay.addresses)
        for place, mandate in enumerate(MANDATES):
            pair = (mandate.name, f"{mandate.name}'s auditor")
            self.audit.add(*pair, mandate.wanted)
            for step, name in enumerate(pair):
                city = cities[(place + step) % len(cities)]
                self.followers[name] = Follower(name, city, mandate.wanted, Book(mandate.rules))

    async def trade(self) -> None:
        """Let everybody follow; then day after day."""
        async with trio.open_nursery() as nursery:
            for follower in self.followers.values():
                await nursery.start(self._follow, follower)
            publishers: dict[str, Publisher] = {}
            for place, exchange in enumerate(EXCHANGES):
                city = list(self.overlay.addresses)[place % len(self.overlay.addresses)]
                publishers[exchange] = await nursery.start(self._exchange, exchange, city)
            for self.day in count(1):
                await self._open(publishers)

    async def _exchange(self, exchange: str, city: str, task_status: trio.TaskStatus[Publisher]) -> None:
        async with (
            connect(self.overlay.addresses[city], name=exchange) as client,
            client.advertise(f"exchange == {exchange!r}") as publisher,
        ):
            task_status.started(publisher)
            await trio.sleep_forever()

    async def _open(self, publishers: dict[str, Publisher]) -> None:
        """One day: the first exchange rings the bell, all publish their part."""
        moments = self.days or made(self.seed + self.day)
        first = publishers[EXCHANGES[0]]
        await first.publish({"kind": "bell", "exchange": EXCHANGES[0], "day": self.day})
        async with trio.open_nursery() as nursery:
            for exchange, publisher in publishers.items():
                part = [moment for moment in moments if moment.tick.exchange == exchange]
                nursery.start_soon(publish, publisher, part, self.day_s)
        await trio.sleep(NIGHT_S)

    async def _follow(self, follower: Follower, task_status: trio.TaskStatus[None]) -> None:
        def state(change: object) -> None:
            follower.is_connected = getattr(change, "state", "") == "connected"

        address = self.overlay.addresses[follower.city]
        async with connect(address, name=follower.name.replace("'", ""), on_state=state) as client:
            taken = partial(self._record, follower)
            await follow(client, f"({follower.wanted})", follower.book, taken, task_status.started)

    def _record(
        self, follower: Follower, delivery: Delivery, tick: PriceTick, decision: Decision | None
    ) -> None:
        follower.latencies_s.append(time.time() - delivery.published_at)
        self.audit.record(follower.name, delivery, tick, decision, follower.book)

    def counts(self) -> Json:
        """The figures of the market."""
        minutes = max(time.monotonic() - self.began_s, 1.0) / 60
        return {
            "ordering": self.overlay.ordering,
            "shared": self.audit.shared_count,
            "disputed": self.audit.disputed_count,
            "displaced": self.audit.displaced_count,
            "perMinute": round(self.audit.disputed_count / minutes, 1),
            "money": round(self.audit.money, 2),
        }

    def frame(self) -> Json:
        """What everybody was delivered and decided."""
        displaced = set(self.audit.displaced)
        return {
            "day": self.day,
            "investors": [
                {
                    "name": mandate.name,
                    "wanted": mandate.wanted,
                    "charted": mandate.charted,
                    "difference": round(self.audit.differences.get(mandate.name, 0.0), 2),
                    "rules": asdict(mandate.rules),
                    "port": self._port_beside(mandate.name),
                    "sides": [
                        self._side(self.followers[name], mandate.charted, displaced)
                        for name in (mandate.name, self.audit.auditor(mandate.name))
                    ],
                }
                for mandate in MANDATES
            ],
            "findings": [_finding(each) for each in list(self.audit.findings)[: -FINDINGS_SHOWN - 1 : -1]],
            "brokers": self.overlay.shown(),
        }

    def _port_beside(self, investor: str) -> int | None:
        """Return where a page follows the same: at a broker of neither the investor nor its auditor."""
        cities = {self.followers[name].city for name in (investor, self.audit.auditor(investor))}
        return next((port for city, port in self.overlay.ports.items() if city not in cities), None)

    def _side(self, follower: Follower, charted: str, displaced: set[tuple[str, int]]) -> Json:
        book = follower.book
        lines = list(self.audit.tapes[follower.name].lines)[-LINES_SHOWN:]
        return {
            "city": follower.city,
            "connected": follower.is_connected,
            "open": bool(book.day),
            "latencyMs": round(1000 * median(follower.latencies_s)) if follower.latencies_s else 0,
            "profit": round(book.profit, 2),
            "decided": len(book.decisions),
            "held": {symbol: held for symbol, held in book.shares.items() if held},
            "chart": book.chart.get(charted, [])[-POINTS_SHOWN:],
            "tape": [_line(line, is_displaced=line.trade in displaced) for line in reversed(lines)],
        }


def _line(line: AuditLine, *, is_displaced: bool) -> Json:
    tick = line.tick
    return {
        "id": f"{tick.exchange} {line.trade[1]}",
        "exchange": tick.exchange,
        "symbol": tick.symbol,
        "price": f"{tick.price:.2f}",
        "size": tick.size,
        "displaced": is_displaced,
    }


def _finding(finding: AuditFinding) -> Json:
    return {
        "investor": finding.investor,
        "disputed": finding.is_disputed,
        "trade": f"{finding.tick.symbol} at {finding.tick.price:.2f} in {finding.tick.exchange}",
        "decided": [each and f"{_verb(each)} {abs(each.count)}, {each.why}" for each in finding.decided],
    }


def _verb(decision: Decision) -> str:
    return "buys" if decision.count > 0 else "sells"
