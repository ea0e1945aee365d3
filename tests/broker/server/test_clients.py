"""Whatever a client says, in whatever order and cut: it is answered or refused, and the broker goes on."""

from collections.abc import Sequence

import trio
from hypothesis import given
from hypothesis import strategies as st

from broker.messages import (
    Advertise,
    Advertised,
    Credit,
    Fault,
    Flush,
    Ping,
    Pong,
    Refused,
    Subscribe,
    Subscribed,
    Unadvertise,
    Unsubscribe,
)
from broker.wire import DeliveredBatch, encode, encode_publication, publication_prefix
from tests.broker.server.overlay import RawPeer, raw_client, running, settings

FILTERS = st.sampled_from(["x > 0", "x > 5", "True", "x ==", "kind == 'a'"])
KINDS = st.sampled_from(
    ["advertise", "unadvertise", "subscribe", "unsubscribe", "publish", "credit", "flush", "ping", "settle"]
)
STEPS = st.lists(st.tuples(KINDS, FILTERS, st.integers(0, 9)), min_size=1, max_size=25)


class Chatter:
    """A client that sends the given requests, and mostly numbers them as it should."""

    def __init__(self) -> None:
        self.number = 0
        self.publishers: list[str] = []
        self.sequences: dict[str, int] = {}

    def next(self) -> int:
        self.number += 1
        return self.number

    def frame(self, kind: str, text: str, number: int) -> bytes:  # noqa: PLR0911 - one for each kind
        match kind:
            case "advertise":
                return encode(Advertise(self.next(), text, ""))
            case "unadvertise":
                return encode(Unadvertise(self.one_of_mine(number)))
            case "subscribe":
                policy = "drop" if number % 2 else "disconnect"
                return encode(Subscribe(self.next(), text, number > 4, number, number * 100, policy))
            case "unsubscribe":
                return encode(Unsubscribe(self.one_of_mine(number)))
            case "publish":
                return self.publication(number)
            case "credit":
                return encode(Credit(number, number))
            case "flush":
                return encode(Flush(self.next()))
            case _:
                return encode(Ping(number))

    def one_of_mine(self, number: int) -> int:
        """The latest request half of the time: it may not have been answered yet."""
        return number if number % 2 else self.number

    def publication(self, number: int) -> bytes:
        name = self.publishers[number % len(self.publishers)] if self.publishers else "nobody@nowhere/1"
        self.sequences[name] = self.sequences.get(name, 0) + (1 if number else 0)
        sequence = max(1, self.sequences[name])
        return encode_publication(publication_prefix(name), sequence, 0, {"x": number}, b"", True)

    def receive(self, message: object) -> None:
        if isinstance(message, Advertised):
            self.publishers.append(message.publisher)


async def talk(peer: RawPeer, steps: Sequence[tuple[str, str, int]]) -> list[object]:
    """Send everything, reading at each "settle"; return the received messages."""
    chatter = Chatter()
    received: list[object] = []
    said: list[bytes] = []
    for kind, text, number in [*steps, ("settle", "", 0)]:
        if kind != "settle":
            said.append(chatter.frame(kind, text, number))
            continue
        try:
            await peer.say(*said, encode(Ping(1000)))
        except trio.BrokenResourceError:
            return received
        said = []
        while (message := await peer.receive()) != Pong(1000):
            received.append(message)
            chatter.receive(message)
            if message is None or isinstance(message, Fault):
                return received
    return received


@given(steps=STEPS)
async def test_a_broker_survives_whatever_a_client_asks_for(steps: list[tuple[str, str, int]]) -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port, "other") as other:
        async with raw_client(one.server.port) as peer:
            received = await talk(peer, steps)
        await other.say(encode(Subscribe(1, "True", False, 10, 1000, "drop")))
        assert await other.receive_a(Subscribed) == Subscribed(1)
    if not any(isinstance(each, Fault | None) for each in received):
        answered = [each.number for each in received if isinstance(each, Refused | Advertised | Subscribed)]
        assert len(answered) == len(set(answered))
        assert all(len(each.frames) > 0 for each in received if isinstance(each, DeliveredBatch))
