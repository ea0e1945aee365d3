"""The virtual network: connections between cores, each direction a queue that keeps its order.

Laws.

1. What was sent arrives in order, or not at all: a lost connection delivers a prefix, then its end.
2. Each end learns on its own that a connection is lost, after the last message that arrives.
3. A direction that is sealed takes no more messages.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from attrs import Factory, define

from broker.core import BrokerCore, CoreEffects, Hop
from broker.healing import Candidate, Search
from broker.messages import LinkMessage


@define(eq=False)
class LinkEnd:
    """The loss of the connection, as the last entry of a queue."""


END: Final = LinkEnd()

NOWHERE: Final = Hop(0, "", is_link=False)
"""The hop of ports that are no end of a connection."""


@define(eq=False)
class Site:
    """A run of a broker. `outgoing` are its connections; `dialling` is the one that asks to attach it.

    If it heals by itself, `search` chooses the broker to dial, and `candidate` is the last choice.
    """

    name: str
    core: BrokerCore
    outgoing: dict[Hop, "Port"] = Factory(dict)
    dialling: "Port | None" = None
    search: Search | None = None
    candidate: Candidate | None = None
    crossing: "Port | None" = None

    @property
    def asked(self) -> Hop | None:
        """Return the link through which it asks to be attached."""
        return None if self.dialling is None else self.dialling.hop

    def link_to(self, name: str) -> Hop | None:
        """Return the open link to a broker of that name."""
        return next((hop for hop in self.outgoing if hop.name == name), None)


@define(eq=False)
class Port:
    """The receiving end of one direction of a connection, at `site`, which knows the connection as `hop`.

    A port with a `subscription` is no connection: its client has room for more of the past. Nor is one that
    `crosses`: its broker has a new neighbour that is to learn more.
    """

    label: str
    site: Site
    hop: Hop
    weight: float
    queue: deque[LinkMessage | LinkEnd] = Factory(deque)
    is_sealed: bool = False
    place: int = -1
    subscription: str = ""
    crosses: bool = False
    _back: "list[Port]" = Factory(list)

    @property
    def back(self) -> "Port":
        """Return the other direction."""
        return self._back[0]

    def join(self, back: "Port") -> None:
        """Make two directions one connection."""
        self._back.append(back)
        back._back.append(self)  # noqa: SLF001 - it is of the same class


@define(eq=False)
class Ready:
    """The ports that have messages in flight, in an order that follows from the actions alone."""

    ports: list[Port] = Factory(list)

    def add(self, port: Port) -> None:
        """Add a port."""
        if port.place < 0:
            port.place = len(self.ports)
            self.ports.append(port)

    def remove(self, port: Port) -> None:
        """Remove a port."""
        if port.place >= 0:
            last = self.ports.pop()
            if last is not port:
                last.place = port.place
                self.ports[port.place] = last
            port.place = -1


@define(eq=False)
class Network:
    """All connections, by the labels of their ports."""

    ready: Ready = Factory(Ready)
    _ports: dict[str, Port] = Factory(dict)
    _counts: dict[tuple[str, str], int] = Factory(dict)

    def connect(self, dialler: Site, listener: Site, weights: tuple[float, float]) -> Port:
        """Join two brokers; return the direction that arrives at the dialler. Both ends open their link."""
        count = self._counts[dialler.name, listener.name] = (
            self._counts.get((dialler.name, listener.name), 0) + 1
        )
        suffix = "" if count == 1 else f".{count}"
        label = f"{dialler.name}>{listener.name}{suffix}"
        at_listener = listener.core.open_link(dialler.name, uplink=False)
        at_dialler = dialler.core.open_link(listener.name, uplink=True)
        up = Port(label, listener, at_listener, weights[0])
        down = Port(f"{listener.name}<{dialler.name}{suffix}", dialler, at_dialler, weights[1])
        up.join(down)
        self._ports[up.label], self._ports[down.label] = up, down
        listener.outgoing[at_listener], dialler.outgoing[at_dialler] = down, up
        return down

    def port(self, label: str) -> Port | None:
        """Return the port of that label, if there ever was one."""
        return self._ports.get(label)

    def send(self, port: Port, messages: Sequence[LinkMessage]) -> None:
        """Send messages to a port."""
        if messages and not port.is_sealed:
            port.queue.extend(messages)
            self.ready.add(port)

    def carry(self, site: Site, effects: CoreEffects) -> list[tuple[Hop, list[LinkMessage]]]:
        """Send what a core has for its neighbours; return what it has for its own clients."""
        local = []
        for hop, messages in effects.outgoing:
            if not hop.is_link:
                local.append((hop, messages))
            elif (port := site.outgoing.get(hop)) is not None:
                self.send(port, messages)
        return local

    def seal(self, port: Port, kept: int) -> None:
        """Lose a direction after the first `kept` messages in flight."""
        if port.is_sealed:
            return
        port.is_sealed = True
        while len(port.queue) > kept:
            port.queue.pop()
        port.queue.append(END)
        self.ready.add(port)

    def abandon(self, port: Port) -> None:
        """Drop what is in flight to a port, and take nothing more."""
        port.is_sealed = True
        port.queue.clear()
        self.ready.remove(port)

    def take(self, port: Port, count: int) -> tuple[list[LinkMessage], bool]:
        """Return the next messages, at most `count`, and whether the end was reached."""
        messages: list[LinkMessage] = []
        queue = port.queue
        while queue and len(messages) < count:
            message = queue.popleft()
            if isinstance(message, LinkEnd):
                self.ready.remove(port)
                return messages, True
            messages.append(message)
        if not queue:
            self.ready.remove(port)
        return messages, False


def sites_beyond(site: Site, hop: Hop) -> set[Site]:
    """Return all brokers behind a link."""
    first = site.outgoing[hop].site
    found, todo = {first}, [(first, site)]
    while todo:
        at, came_from = todo.pop()
        for link in at.core.neighbours.values():
            other = at.outgoing[link].site
            if other is not came_from:
                found.add(other)
                todo.append((other, at))
    return found
