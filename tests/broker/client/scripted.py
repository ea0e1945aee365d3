"""A broker that sends what a test scripts, at the other end of streams in memory."""

import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import TypeVar

import attrs
import trio
from trio.testing import MemorySendStream, memory_stream_pair

from broker import messages as m
from broker.backoff import Backoff
from broker.client import Client, Limits, StateChange
from broker.client.driver import Driver
from broker.client.machine import ClientMachine
from broker.client.session import Session
from broker.client.trio_shell import TrioShell, open_client
from broker.filters.constraints import Value
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, encode, encode_publication, publication_prefix

ADDRESS = "broker.example:7411"
HEARTBEAT_MS = 10_000
CREDIT_BYTES = 1_000_000
FOREVER_S = 1e9
PUBLISHER = "bob@B1/1"

GOODBYE = encode(m.Fault("left", "the client has left"))

TRADES = "kind == 'trade' and price > 0"
TRADE: dict[str, Value] = {"kind": "trade", "price": 1.5}

Message = TypeVar("Message")


def welcome(credit_bytes: int = CREDIT_BYTES) -> m.Welcome:
    return m.Welcome(VERSION, "B1", "i1", "fifo", credit_bytes, HEARTBEAT_MS)


def frame(sequence: int, payload: bytes = b"", attributes: dict[str, Value] | None = None) -> bytes:
    """A publication as it is delivered."""
    prefix = publication_prefix(PUBLISHER)
    return encode_publication(prefix, sequence, 1_500_000_000, attributes or {}, payload, True)


@attrs.define(eq=False)
class HangingUp(trio.abc.SendStream):
    """A client's way to its broker, which hangs up as soon as the client has said goodbye."""

    inner: MemorySendStream
    hang_up: Callable[[], None]

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.inner.send_all(data)
        if bytes(data).endswith(GOODBYE):
            self.hang_up()

    async def wait_send_all_might_not_block(self) -> None:
        await self.inner.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self.inner.aclose()


@attrs.define(eq=False)
class Link:
    """One connection of the client, seen from the broker."""

    stream: trio.abc.Stream
    decoder: Decoder = attrs.field(factory=lambda: Decoder(DEFAULT_LIMITS, Peer.DIALLER))
    received: deque[object] = attrs.field(factory=deque)

    async def next(self, kind: type[Message]) -> Message:
        """The next message of the client, which has to be of this kind."""
        while not self.received:
            chunk = await self.stream.receive_some()
            assert chunk, f"the client closed the connection; expected {kind.__name__}"
            self.received.extend(self.decoder.feed(chunk))
        message = self.received.popleft()
        assert isinstance(message, kind), f"expected {kind.__name__}, got {message}"
        return message

    async def sequences(self, count: int) -> list[int]:
        """The sequence numbers of the next publications."""
        return [(await self.next(m.Publication)).sequence for _ in range(count)]

    async def say(self, *messages: attrs.AttrsInstance | bytes) -> None:
        """Send messages, and publications as frames."""
        await self.stream.send_all(
            b"".join(each if isinstance(each, bytes) else encode(each) for each in messages)
        )

    async def deliver(self, number: int, *frames: bytes) -> None:
        await self.say(m.Deliver(number, len(frames)), *frames)

    async def greet(self, credit_bytes: int = CREDIT_BYTES) -> m.Hello:
        hello = await self.next(m.Hello)
        self.decoder.welcomed()
        await self.say(welcome(credit_bytes))
        return hello

    async def allow_publisher(self, publisher: str = "alice@B1/1", taken: int = 0) -> m.Advertise:
        asked = await self.next(m.Advertise)
        await self.say(m.Advertised(asked.number, publisher, taken))
        return asked

    async def allow_subscription(self) -> m.Subscribe:
        asked = await self.next(m.Subscribe)
        place = asked.after[0] if asked.after else 0
        await self.say(
            m.Placed(asked.number, "alice@B1/9", place, bool(asked.resume)), m.Subscribed(asked.number)
        )
        return asked

    async def forget_subscription(self) -> m.Subscribe:
        """Answer as a broker does that does not know the subscription any more."""
        asked = await self.next(m.Subscribe)
        await self.say(m.Placed(asked.number, "alice@B1/10", 0, False), m.Subscribed(asked.number))
        return asked

    async def answer_flush(self) -> None:
        await self.say(m.Flushed((await self.next(m.Flush)).number))

    async def close(self) -> None:
        await self.stream.aclose()


Script = Callable[[Link], Awaitable[None]]


async def one_publisher(link: Link) -> None:
    await link.allow_publisher()


async def one_subscription(link: Link) -> None:
    await link.allow_subscription()


@attrs.define(eq=False)
class ScriptedBroker:
    """Accepts connections for a test to script; refuses them while `is_down`."""

    is_down: bool = False
    refused_count: int = 0
    states: list[StateChange] = attrs.field(factory=list)
    _dialled: trio.MemorySendChannel[Link] = attrs.field(init=False)
    _accepted: trio.MemoryReceiveChannel[Link] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._dialled, self._accepted = trio.open_memory_channel[Link](math.inf)

    async def dial(self, address: str) -> trio.abc.Stream:
        assert address == ADDRESS
        if self.is_down:
            self.refused_count += 1
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = memory_stream_pair()
        self._dialled.send_nowait(Link(theirs))
        return trio.StapledStream(HangingUp(ours.send_stream, theirs.send_stream.close), ours.receive_stream)

    async def accept(self, credit_bytes: int = CREDIT_BYTES) -> Link:
        """The next connection, greeted."""
        link = await self.accept_silently()
        await link.greet(credit_bytes)
        return link

    async def serve(self, *scripts: Script) -> None:
        """Play one script per connection."""
        for script in scripts:
            await script(await self.accept())

    async def accept_silently(self) -> Link:
        return await self._accepted.receive()

    def client(
        self, *, limits: Limits | None = None, retry: bool = False, flushes: bool = False
    ) -> AbstractAsyncContextManager[Client]:
        """Return a client that dials this broker; unless it `flushes`, it flushes only when a test asks."""
        limits = limits or Limits()
        if not flushes:
            limits = attrs.evolve(limits, flush_interval_s=FOREVER_S)
        machine = ClientMachine(Session("alice", "i0", "secret", limits), ADDRESS, Backoff(Random(1)))
        shell = TrioShell(self.dial)
        shell.driver = Driver(machine, shell, self.states.append)
        return open_client(shell, retry=retry)
