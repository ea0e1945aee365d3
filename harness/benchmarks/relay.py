"""The limit: a process that copies every frame of every publisher to all subscribers, and its clients.

It reads what is there, finds where the last whole frame ends, and writes that much to each subscriber. No
filters, no routing, no queues, no credit: whatever a broker takes longer than this is what its work costs.
Its clients count frames, and do nothing else with them.

A publisher opens its connection with the byte P, a subscriber with S. `--from HOST:PORT` makes the relay a
subscriber of another, for chains.

Run as `python -m harness.benchmarks.relay`.
"""

from functools import partial
from typing import Final

import attrs
import click
import trio

from harness.benchmarks.jobs import BATCH, PAYLOAD_BYTES, LoadClient, age_ns, cut, frame

PUBLISHER: Final = b"P"
SUBSCRIBER: Final = b"S"
CHUNK_BYTES: Final = 64 * 1024
"""What is read at once: as much as a loopback socket usually holds."""


@attrs.frozen(eq=False)
class _Relay:
    subscribers: list[trio.abc.Stream] = attrs.field(factory=list)
    turn: trio.Lock = attrs.field(factory=trio.Lock)
    """Held while frames are written: those of two publishers must not mix in a subscriber's stream."""

    async def serve(self, stream: trio.abc.Stream) -> None:
        if await stream.receive_some(1) == SUBSCRIBER:
            self.subscribers.append(stream)
            # Not even subscribers may keep us: they answer once they are known, and then only listen.
            await stream.send_all(SUBSCRIBER)
            await stream.receive_some(1)
            self.subscribers.remove(stream)
        else:
            await self.copy(stream)

    async def copy(self, stream: trio.abc.Stream) -> None:
        buffer = bytearray()
        while chunk := await stream.receive_some(CHUNK_BYTES):
            buffer += chunk
            _, end = cut(buffer)
            if end:
                frames = bytes(buffer[:end])
                del buffer[:end]
                async with self.turn:
                    for subscriber in self.subscribers:
                        await subscriber.send_all(frames)

    async def handle(self, stream: trio.abc.Stream) -> None:
        try:
            async with stream:
                await self.serve(stream)
        except trio.BrokenResourceError:
            # A client that leaves in the middle of a measurement is how measurements end.
            return


async def connected(address: str, role: bytes) -> trio.SocketStream:
    """A connection to a relay in the given role; a subscriber's is in use by the time this returns."""
    host, _, port = address.rpartition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    await stream.send_all(role)
    if role == SUBSCRIBER:
        await stream.receive_some(1)
    return stream


async def publish(client: LoadClient, task_status: trio.TaskStatus[None]) -> None:
    """Publish until halted: whole batches as fast as they are taken, or single frames when they are due."""
    stream = await connected(client.address, PUBLISHER)
    async with stream:
        task_status.started()
        frames = frame() * BATCH

        async def batch() -> None:
            await stream.send_all(frames)

        async def one() -> None:
            await stream.send_all(frame())

        await client.publish(batch, one)


async def subscribe(client: LoadClient, task_status: trio.TaskStatus[None]) -> None:
    """Count frames until cancelled."""
    stream = await connected(client.address, SUBSCRIBER)
    async with stream:
        task_status.started()
        rest = b""
        while chunk := await stream.receive_some(CHUNK_BYTES):
            received = rest + chunk
            frames, end = cut(received)
            rest = received[end:]
            if client.job.rate_per_s is not None and client.go.is_set():
                _note_ages(client, received[:end])
            client.board.delivered[client.place] += frames


def _note_ages(client: LoadClient, received: bytes) -> None:
    """All frames have one length, and end with their payload."""
    length = len(frame())
    for end in range(length, len(received) + 1, length):
        client.ages.other_ns.append(age_ns(received[end - PAYLOAD_BYTES : end]))


async def _relay(source: str | None) -> None:
    relay = _Relay()
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, relay.handle, 0, host="127.0.0.1"))
        if source is not None:
            nursery.start_soon(relay.copy, await connected(source, SUBSCRIBER))
        port = listeners[0].socket.getsockname()[1]
        click.echo(f"listening on 127.0.0.1:{port}")


@click.command()
@click.option("--from", "source", metavar="HOST:PORT", help="Relay what this other relay sends, too.")
def command(source: str | None) -> None:
    """Copy every frame of publishers to all subscribers."""
    trio.run(_relay, source)


if __name__ == "__main__":
    command()
