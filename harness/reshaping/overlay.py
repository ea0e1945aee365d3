"""Nine real brokers in a tree, under load, while something happens to its shape."""

import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import click
import trio
from attrs import Factory, define

from broker import Client, connect
from harness.overlay import attached
from harness.processes import ServerProcess, start_listening
from harness.reshaping.load import Load

NINE: Final[Mapping[str, str]] = {
    "B1": "",
    "B2": "B1",
    "B3": "B1",
    "B4": "B1",
    "B5": "B2",
    "B6": "B2",
    "B7": "B3",
    "B8": "B3",
    "B9": "B4",
}
"""The uplink of each broker, "" for the root."""


@define(eq=False)
class ReshapedOverlay:
    """Real brokers by name; `uplinks` is the tree as it was last known."""

    nursery: trio.Nursery
    uplinks: dict[str, str] = Factory(dict)
    servers: dict[str, ServerProcess] = Factory(dict)
    planned: dict[str, str] = Factory(dict)
    """Where brokers will listen that start later."""

    def plan(self, name: str) -> None:
        """Choose the address of a broker that starts later."""
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.planned[name] = f"127.0.0.1:{chosen.getsockname()[1]}"

    async def start(self, name: str, uplink: str, command: Sequence[str]) -> None:
        """Start a broker below another one, and wait until it is attached."""
        where = self.planned.get(name, "127.0.0.1:0")
        place = ("broker", "--name", name, "--listen", where, "--log-format", "json")
        dial = ("--uplink", self.servers[uplink].address) if uplink else ()
        server = await start_listening(self.nursery, f"broker {name}", [*command, *place, *dial])
        if uplink:
            await attached(server)
        self.servers[name], self.uplinks[name] = server, uplink

    def addresses(self, first: str) -> list[str]:
        """Return where to find all brokers, one of them first, then the one that will take its place."""
        places = {name: server.address for name, server in self.servers.items()} | self.planned
        nearest = sorted(places, key=lambda each: (each != first, not each.startswith(f"{first}-")))
        return [places[each] for each in nearest]

    def below(self, name: str) -> set[str]:
        """Return a broker and all below it."""
        found = {name}
        while more := {each for each, uplink in self.uplinks.items() if uplink in found} - found:
            found |= more
        return found

    async def move(self, client: Client, name: str, uplink: str) -> bool:
        """Let a broker move without a gap; return whether it did, and print why not."""
        outcome = await client.move(name, uplink)
        if outcome["state"] == "moved":
            self.uplinks[name] = uplink
        else:
            click.echo(f"{outcome['broker']} is {outcome['state']}: {outcome['text']}", err=True)
        return outcome["state"] == "moved"


@asynccontextmanager
async def loaded(
    command: Sequence[str], per_second: float, later: Sequence[str] = ()
) -> AsyncIterator[tuple[ReshapedOverlay, Load, Client]]:
    """Start nine brokers and a client at each, and an operator at the root; settle the load at the end."""
    async with trio.open_nursery() as nursery:
        overlay, load = ReshapedOverlay(nursery), Load("B1", per_second)
        for name, uplink in NINE.items():
            await overlay.start(name, uplink, command)
        for name in later:
            overlay.plan(name)
        for name in NINE:
            await nursery.start(load.attend, name, lambda name=name: overlay.addresses(name))
        async with connect(overlay.addresses("B1"), name="operator") as client:
            load.go.set()
            yield overlay, load, client
            await load.settle()
        nursery.cancel_scope.cancel()
