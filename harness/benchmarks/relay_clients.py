"""Publishers and subscribers of the raw relay: they count frames, and do nothing else with them."""

import itertools

import trio

from harness.benchmarks.frames import PAYLOAD_BYTES, age_ns, cut, frame
from harness.benchmarks.jobs import BATCH, Client
from harness.benchmarks.relay import CHUNK_BYTES, PUBLISHER, SUBSCRIBER, connected

__all__ = ["publish", "subscribe"]


async def publish(client: Client, task_status: trio.TaskStatus[None]) -> None:
    """Publish until halted: whole batches as fast as they are taken, or single frames when they are due."""
    stream = await connected(client.address, PUBLISHER)
    async with stream:
        task_status.started()
        await client.go.wait()
        if client.job.rate_per_s is None:
            await _flood(client, stream)
        else:
            await _paced(client, stream, client.job.rate_per_s)


async def _flood(client: Client, stream: trio.SocketStream) -> None:
    batch = frame() * BATCH
    while not client.halt.is_set():
        await client.room()
        await stream.send_all(batch)
        client.board.published[client.place] += BATCH


async def _paced(client: Client, stream: trio.SocketStream, rate_per_s: float) -> None:
    started = trio.current_time()
    for event in itertools.count():
        await client.due(started, event, rate_per_s)
        if client.halt.is_set():
            return
        client.board.published[client.place] += 1
        await stream.send_all(frame())


async def subscribe(client: Client, task_status: trio.TaskStatus[None]) -> None:
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


def _note_ages(client: Client, received: bytes) -> None:
    """All frames have one length, and end with their payload."""
    length = len(frame())
    for end in range(length, len(received) + 1, length):
        client.ages.other_ns.append(age_ns(received[end - PAYLOAD_BYTES : end]))
