import trio
from trio.testing import memory_stream_pair

from broker.client.direct import DirectSocket


async def stream_pair() -> tuple[trio.SocketStream, trio.SocketStream]:
    """Both ends of a TCP connection."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    ours = await trio.open_tcp_stream("127.0.0.1", port)
    theirs = await listener.accept()
    await listener.aclose()
    return ours, theirs


async def test_what_is_sent_directly_arrives_in_its_place() -> None:
    ours, theirs = await stream_pair()
    direct = DirectSocket.of(ours)
    assert direct is not None
    await ours.send_all(b"one ")
    assert direct.send(b"two ") == len(b"two ")
    await ours.send_all(b"three")
    direct.close()
    await ours.aclose()
    assert b"".join([chunk async for chunk in theirs]) == b"one two three"
    await theirs.aclose()


async def test_only_what_fits_is_sent_and_nothing_waits() -> None:
    ours, theirs = await stream_pair()
    direct = DirectSocket.of(ours)
    assert direct is not None
    sent_bytes = 0
    while count := direct.send(bytes(1_000_000)):
        sent_bytes += count
    direct.close()
    await ours.aclose()
    assert sum([len(chunk) async for chunk in theirs]) == sent_bytes
    await theirs.aclose()


async def test_a_broken_connection_is_left_to_the_writer() -> None:
    ours, theirs = await stream_pair()
    direct = DirectSocket.of(ours)
    assert direct is not None
    await ours.send_eof()
    assert direct.send(b"late") == 0
    direct.close()
    await ours.aclose()
    await theirs.aclose()


def test_there_is_no_way_past_a_stream_that_is_no_socket() -> None:
    assert DirectSocket.of(memory_stream_pair()[0]) is None


async def test_what_has_arrived_is_read_without_waiting() -> None:
    ours, theirs = await stream_pair()
    direct = DirectSocket.of(ours)
    assert direct is not None
    assert direct.receive(100) is None
    await theirs.send_all(b"one")
    await trio.lowlevel.wait_readable(direct.fileno())
    assert direct.receive(100) == b"one"
    await theirs.aclose()
    await trio.lowlevel.wait_readable(direct.fileno())
    assert direct.receive(100) == b""
    direct.close()
    await ours.aclose()
