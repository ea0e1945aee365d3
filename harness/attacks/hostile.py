"""Attacks by a client that may connect to a broker: each goes on until its time is over or it is complete.

An attack speaks frames on sockets of its own. What the broker answers to it does not matter; that everybody
else goes on does. Adding one is adding a function and a row to `ATTACKS`.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from random import Random
from time import monotonic
from typing import Final

import attrs
from attrs import frozen

from broker.messages import (
    Advertise,
    Advertised,
    Explain,
    Flush,
    Hello,
    Ping,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Welcome,
)
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, encode, encode_publication, publication_prefix

KIB: Final = 1024
SOCKET_TIMEOUT_S: Final = 2.0
FILTER_BYTES: Final = 8000
NEXT_TO_NOTHING_S: Final = 0.05


@frozen
class AttackTarget:
    """The broker, and until when it is attacked."""

    port: int
    until_s: float

    def is_over(self) -> bool:
        """Return whether the attack has to stop."""
        return monotonic() >= self.until_s


@attrs.define(eq=False)
class _Client:
    """A connection that has greeted."""

    socket: socket.socket
    decoder: Decoder

    def say(self, *frames: bytes) -> None:
        """Send; raise `OSError` if the broker has closed the connection, or does not read."""
        self.socket.sendall(b"".join(frames))

    def read(self) -> list[object]:
        """Return the messages that have arrived, if any."""
        content = self.socket.recv(256 * KIB)
        if not content:
            raise ConnectionResetError("closed by the broker")
        return self.decoder.feed(content)


@contextmanager
def _client(target: AttackTarget, name: str = "mallory") -> Iterator[_Client]:
    with socket.create_connection(("127.0.0.1", target.port), timeout=SOCKET_TIMEOUT_S) as sock:
        client = _Client(sock, Decoder(DEFAULT_LIMITS, Peer.SERVER))
        client.say(encode(Hello(VERSION, "client", name, "1", "", "")))
        while not any(isinstance(each, Welcome) for each in client.read()):
            pass
        yield client


def _subscribe(  # noqa: PLR0913 - a subscription has as many sides
    number: int,
    text: str,
    *,
    credit: int = 0,
    durable: str = "",
    replay: int = 0,
    bound_bytes: int = 1024 * KIB,
    policy: str = "",
) -> bytes:
    past = (replay,) if replay else ()
    return encode(
        Subscribe(
            number=number,
            filter=text,
            ordered=True,
            credit=credit,
            bound_bytes=bound_bytes,
            policy=policy or ("drop" if durable else "disconnect"),
            durable=durable,
            replay=past,
        )
    )


def _long_filter(number: int) -> str:
    return f"kind == 'x{number}' and name.startswith('{'n' * FILTER_BYTES}')"


def _over_and_over(target: AttackTarget, frames: Callable[[int], bytes], *, reads: bool = True) -> None:
    """Send frames with rising numbers on connections that are made again when they are lost."""
    while not target.is_over():
        with suppress(OSError), _client(target) as client:
            client.socket.settimeout(NEXT_TO_NOTHING_S if reads else SOCKET_TIMEOUT_S)
            for number in count(1):
                if target.is_over():
                    return
                client.say(frames(number))
                if reads:
                    with suppress(TimeoutError):
                        client.read()


def powers(target: AttackTarget) -> None:
    """A filter that is too deep to be printed in the text of its own refusal."""
    text = "(1" + "**1" * 2600 + ").z()"
    _over_and_over(target, lambda number: _subscribe(number, text))


def expensive_filters(target: AttackTarget) -> None:
    """Filters that are small and costly to read."""
    text = " or ".join(f"not (a{each} < {each} and b{each} < {each})" for each in range(60))
    _over_and_over(target, lambda number: _subscribe(number, text), reads=False)


def colliding_numbers(target: AttackTarget) -> None:
    """Constants that all fall into one place of a table of hashes."""
    modulus = 2**61 - 1
    random = Random(1)  # noqa: S311 - draws attacks, hides nothing

    def frame(number: int) -> bytes:
        numbers = ", ".join(str(modulus * random.randrange(4)) for _ in range(300))
        return _subscribe(number, f"x{number} in ({numbers})")

    _over_and_over(target, frame)


def many_long_filters(target: AttackTarget) -> None:
    """As much announced text as one connection can have, to be announced again at every attachment."""
    _over_and_over(target, lambda number: encode(Advertise(number, _long_filter(number), "")))


def explained_durables(target: AttackTarget) -> None:
    """Durable subscriptions with long filters, and questions after all of them."""

    def frame(number: int) -> bytes:
        if number % 10 == 0:
            return encode(Explain(number, "", 0, "durable"))
        return _subscribe(number, _long_filter(number), durable=f"d{number}")

    _over_and_over(target, frame)


def half_open_sockets(target: AttackTarget) -> None:
    """Open as many sockets as there are, and send nothing."""
    sockets: list[socket.socket] = []
    try:
        while not target.is_over():
            try:
                sockets.append(
                    socket.create_connection(("127.0.0.1", target.port), timeout=NEXT_TO_NOTHING_S)
                )
            except OSError:
                for each in sockets[: len(sockets) // 2]:
                    each.close()
                del sockets[: len(sockets) // 2]
    finally:
        for each in sockets:
            each.close()


def credit_without_end(target: AttackTarget) -> None:
    """Subscribe with unlimited credit and read, but confirm no position."""
    while not target.is_over():
        with suppress(OSError), _client(target) as client:
            client.say(_subscribe(1, "kind == 'tick'", credit=2**31))
            while not target.is_over():
                client.socket.recv(256 * KIB)


def unread_answers(target: AttackTarget) -> None:
    """Send requests without reading the answers."""

    def frame(number: int) -> bytes:
        return encode(Ping(number)) * 50 + encode(Flush(number))

    _over_and_over(target, frame, reads=False)


def unread_refusals(target: AttackTarget) -> None:
    """Send requests that are refused, without reading the refusals."""
    _over_and_over(target, lambda number: _subscribe(number, "price <" * 900), reads=False)


def ghosts(target: AttackTarget) -> None:
    """Publishers that are resumed while they are there."""
    while not target.is_over():
        with suppress(OSError), _client(target) as client:
            identity = ""
            for number in range(1, 200):
                client.say(encode(Advertise(number, "kind == 'ghost'", identity)))
                for message in client.read():
                    if isinstance(message, Advertised):
                        identity = message.publisher


def replays_held_open(target: AttackTarget) -> None:
    """Subscriptions that ask for the whole past and take none of it."""
    while not target.is_over():
        with suppress(OSError), _client(target) as client:
            for number in range(1, 301):
                client.say(_subscribe(number, "kind == 'tick'", credit=1, replay=60_000))
            while not target.is_over():
                client.socket.recv(256 * KIB)


def large_events(target: AttackTarget) -> None:
    """Events of a megabyte, as fast as credit allows."""
    while not target.is_over():
        with suppress(OSError), _client(target) as client:
            client.say(encode(Advertise(1, "kind == 'large'", "")))
            identity = ""
            while not identity:
                for message in client.read():
                    if isinstance(message, Advertised):
                        identity = message.publisher
            prefix = publication_prefix(identity)
            for sequence in count(1):
                if target.is_over():
                    return
                body = bytes(1000 * KIB)
                client.say(encode_publication(prefix, sequence, 0, {"kind": "large"}, body, ordered=True))
                with suppress(TimeoutError):
                    client.socket.settimeout(NEXT_TO_NOTHING_S)
                    client.read()
                client.socket.settimeout(SOCKET_TIMEOUT_S)


def unread_changes(target: AttackTarget) -> None:
    """Connect many publishers that read nothing; subscribe to all of them and unsubscribe, in turn."""
    with suppress(OSError), _client(target, "deaf") as deaf, _client(target, "mallory") as client:
        deaf.say(*[encode(Advertise(number, "kind == 'x'", "")) for number in range(1, 2001)])
        for number in count(1):
            if target.is_over():
                return
            client.say(_subscribe(number, "kind == 'x'"))
            client.read()
            client.say(encode(Unsubscribe(number)), encode(Ping(number)))
            client.read()
            deaf.say(encode(Ping(number)))


def churn(target: AttackTarget) -> None:
    """Advertisements that come and go as fast as they are read."""
    _over_and_over(
        target,
        lambda number: b"".join(
            encode(Advertise(each, "kind == 'x'", "")) + encode(Unadvertise(each))
            for each in range(number * 100 - 99, number * 100 + 1)
        ),
        reads=False,
    )


def stalled_queues(target: AttackTarget) -> None:
    """Subscribe to the events of others with the largest queues, and read none."""
    while not target.is_over():
        with suppress(OSError), _client(target) as client:
            for number in range(1, 101):
                client.say(_subscribe(number, "kind == 'tick'", bound_bytes=256 * KIB * KIB, policy="drop"))
            while not target.is_over():
                client.say(encode(Ping(1)))
                client.read()


def noise(target: AttackTarget) -> None:
    """Bytes that mean nothing, and frames at the wrong time."""
    random = Random(2)  # noqa: S311 - as above
    greeting = encode(Hello(VERSION, "client", "noise", "1", "", ""))
    while not target.is_over():
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", target.port), timeout=SOCKET_TIMEOUT_S) as sock,
        ):
            content = random.randbytes(random.randrange(1, 4 * KIB))
            sock.sendall(greeting + content if random.random() < 1 / 2 else content)
            sock.recv(KIB)


@frozen
class Attack:
    """One attack, what broker it needs, and what may be used of memory beside it."""

    run: Callable[[AttackTarget], None]
    options: tuple[str, ...] = ()
    memory_mib: int = 200
    descriptors: int | None = None
    has_journal: bool = False

    @property
    def what(self) -> str:
        """The attack in a sentence."""
        return (self.run.__doc__ or "").strip()


ATTACKS: Final[dict[str, Attack]] = {
    "powers": Attack(powers),
    "expensive-filters": Attack(expensive_filters),
    "colliding-numbers": Attack(colliding_numbers),
    "long-filters": Attack(many_long_filters),
    "explained-durables": Attack(explained_durables),
    "half-open-sockets": Attack(half_open_sockets, descriptors=256, has_journal=True),
    "credit-without-end": Attack(credit_without_end),
    "unread-answers": Attack(unread_answers),
    "unread-refusals": Attack(unread_refusals),
    "ghosts": Attack(ghosts),
    "replays-held-open": Attack(replays_held_open),
    "large-events": Attack(large_events),
    "unread-changes": Attack(unread_changes),
    "churn": Attack(churn),
    "stalled-queues": Attack(stalled_queues, memory_mib=450),
    "noise": Attack(noise),
}
"""Every attack by its name."""
