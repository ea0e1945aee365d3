"""The overlay of a demo: real broker processes in three cities, with the distances between them.

A broker can be killed and started again at its old address, as its clients and neighbours expect it. For that
it keeps a journal, in a directory that goes with the demo.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import trio
from attrs import define, field, frozen

from harness.overlay import attached
from harness.processes import ServerProcess, start_server
from harness.runs.shaper import ShapedLink, listen


@frozen
class City:
    """Where a broker stands, and how far it is to the root, one way."""

    name: str
    delay_s: float


TOP: Final = City("Frankfurt", 0.0)
CITIES: Final = (TOP, City("New York", 0.040), City("Singapore", 0.080))
"""The times that packets take between data centres in these cities, rounded."""


LINK_TIMEOUT_S: Final = 30
"""A broker that is started again on a busy machine may take longer than the usual ten seconds."""

DOWN_S: Final = 1.5
"""How long a broker that is restarted stays away: long enough to be seen, too short to wait for."""


@define(eq=False)
class DemoOverlay:
    """Brokers by their names. `ordering` is nothing if others started them: then none can be killed here.

    `ports` are where pages connect to those that were started here.
    """

    ordering: str
    addresses: dict[str, str]
    delays_s: dict[str, float] = field(factory=dict)
    ports: dict[str, int] = field(factory=dict)
    _servers: dict[str, ServerProcess] = field(factory=dict)
    _arguments: dict[str, tuple[str, ...]] = field(factory=dict)
    _nursery: trio.Nursery | None = None
    _restarting: set[str] = field(factory=set)

    def is_up(self, name: str) -> bool:
        """Whether the broker's process runs, as far as is known here."""
        server = self._servers.get(name)
        return server is None or server.program.process.poll() is None

    def can_be_killed(self, name: str) -> bool:
        """Whether it is one of ours, and runs."""
        return name in self._servers and name not in self._restarting and self.is_up(name)

    async def start(self, name: str) -> None:
        """Start a broker, again if it was there before."""
        assert self._nursery is not None
        listen = ("--listen", self.addresses.get(name, "127.0.0.1:0"))
        pages = ("--listen-ws", f"127.0.0.1:{self.ports.get(name, 0)}")
        arguments = (
            "broker",
            "--name",
            name,
            *listen,
            *pages,
            *self._arguments[name],
            "--log-format",
            "json",
        )
        server = await start_server(self._nursery, f"broker {name}", "broker", arguments)
        self._servers[name], self.addresses[name] = server, server.address
        self.ports[name] = int((await server.program.read_line()).rpartition(":")[2])
        if "--uplink" in arguments:
            await attached(server)

    async def kill(self, name: str) -> None:
        """End a broker as a power failure does."""
        process = self._servers[name].program.process
        process.kill()
        await process.wait()

    async def restart(self, name: str) -> None:
        """Kill a broker, and start it again after a while; nothing if that is under way."""
        if name in self._restarting:
            return
        self._restarting.add(name)
        try:
            await self.kill(name)
            await trio.sleep(DOWN_S)
            await self.start(name)
        finally:
            self._restarting.discard(name)

    def shown(self) -> list[dict[str, object]]:
        """The brokers of which something is known, for pages."""
        return [
            {"name": name, "up": self.is_up(name), "delayMs": round(delay_s * 1000)}
            for name, delay_s in self.delays_s.items()
        ]


@asynccontextmanager
async def started(ordering: str, cities: tuple[City, ...] = CITIES) -> AsyncIterator[DemoOverlay]:
    """Brokers that order in this way; the first is the root, the others dial it from their distances."""
    with TemporaryDirectory(prefix="concord-demo-", ignore_cleanup_errors=True) as journals:
        async with _started(ordering, cities, Path(journals)) as overlay:
            yield overlay


@asynccontextmanager
async def _started(ordering: str, cities: tuple[City, ...], journals: Path) -> AsyncIterator[DemoOverlay]:
    async with trio.open_nursery() as nursery:
        overlay = DemoOverlay(ordering, {}, {city.name: city.delay_s for city in cities}, nursery=nursery)
        uplink: tuple[str, ...] = ()
        for place, city in enumerate(cities):
            if overlay.addresses:
                port = int(overlay.addresses[cities[0].name].rpartition(":")[2])
                there = await listen(ShapedLink(city.name, port, city.delay_s, bytes_per_s=0), nursery)
                uplink = ("--uplink", f"127.0.0.1:{there}")
            # A sequencer has to be named; the root is on most paths anyway.
            named = ("--ordering-option", f"sequencer={cities[0].name}") if ordering == "sequencer" else ()
            journal = ("--journal", str(journals / str(place)))
            timeout = ("--link-timeout", str(LINK_TIMEOUT_S))
            overlay._arguments[city.name] = ("--ordering", ordering, *named, *journal, *timeout, *uplink)  # noqa: SLF001 - its own module
            await overlay.start(city.name)
        try:
            yield overlay
        finally:
            nursery.cancel_scope.cancel()


def existing(addresses: tuple[str, ...]) -> DemoOverlay:
    """Brokers that others have started; they are called by their addresses."""
    return DemoOverlay("", {address: address for address in addresses})
