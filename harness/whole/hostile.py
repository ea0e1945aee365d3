"""A hostile peer: it sends anything at any time to a broker, and reads or does not.

It knows the ids of all publishers and subscriptions, but no token of others and no session of a link. It has
a user of its own, whose budget it uses up; its name begins with `H`.

Law: a connection that a broker ends on its side ends with a `Fault` that has words, if the peer reads.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from attrs import define, field

from broker import messages as m
from broker.discovery_messages import Discover, Undiscover
from broker.node.limits import NodeLimits
from broker.wire import VERSION, WireError, encode, encode_publication, publication_prefix
from broker.wire.header import HEADER, LENGTH_BYTES
from broker.wire.kinds import BY_MESSAGE
from harness.fuzz.mutations import mutated
from harness.fuzz.samples import SAMPLES
from harness.whole.cables import Cable, CableEnd
from harness.whole.sites import HOSTILE_TOKEN
from harness.whole.world import WholeWorld

NAME: Final = "H"
"""The beginning of the names of hostile clients."""

SMALL_LIMITS: Final = NodeLimits(
    connections=24,
    ungreeted=6,
    address_connections=20,
    user_connections=12,
    changes_per_s=40,
    user_changes_per_s=100,
    requests=30,
    user_requests=60,
    broker_requests=500,
    filter_bytes=5000,
    user_filter_bytes=10_000,
    durable=8,
    questions=4,
    kept_bytes=1 << 22,
    unconfirmed_bytes=1 << 20,
    outbox_bytes=20_000,
    step_units=200,
)
"""Limits that hostile peers can reach within one schedule."""

_FAULT: Final = BY_MESSAGE[m.Fault].kind
_FRAMES: Final = tuple(frame for sample in SAMPLES for frame in sample.frames if len(frame) < 2000)  # noqa: PLR2004 - mostly
_NUMBERS: Final = (0, 1, 2, 3, 7, 1000, 2**31, 2**32, 2**62)
_FILTERS: Final = (
    "level >= 0",
    "kind == 'a'",
    "True",
    "x ==",
    "not (" * 80,
    "level in (" + "1, " * 900 + ")",
    "",
)


@define(eq=False)
class Adversary:
    """One hostile connection, and what it sends."""

    world: WholeWorld
    random: Random = field(init=False)
    end: CableEnd | None = field(default=None, init=False)
    site: str = field(default="", init=False)
    _queue: list[bytes] = field(factory=list, init=False)
    _is_written: bool = field(default=True, init=False)
    _turns: int = field(default=0, init=False)
    _number: int = field(default=0, init=False)
    _sequence: int = field(default=0, init=False)
    _received: bytearray = field(factory=bytearray, init=False)
    _last_kind: int = field(default=0, init=False)
    _sent_fault: bool = field(default=False, init=False)
    _reads: bool = field(default=True, init=False)
    _turns_to_welcome: int = field(default=0, init=False)
    _make_frames: Callable[[], bytes] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.random = random = Random(self.world.random.getrandbits(32))  # noqa: S311 - a schedule
        self._make_frames = random.choice(
            (self._request, self._request, self._flood, self._anything, self._damaged, self._bytes)
        )
        self._turns = random.choice((1, 5, 30))

    def begin(self) -> None:
        """Connect to some broker."""
        world, random = self.world, self.random
        site = random.choice(list(world.sites.values()))
        if not site.is_up or world.is_calm:
            return
        self.site = site.name
        cable = Cable.between(world.clock, world.random, world.shape, self, site)
        self.end, theirs = cable.ends
        world.adversaries.append(self)
        site.accept(theirs)
        if random.random() < 0.15:  # noqa: PLR2004 - some never read
            self._reads = False
            self._make_frames, self._turns = self._flood, 30
            self.end.pause()
        self._turns_to_welcome = 30 if random.random() < 0.9 else 0  # noqa: PLR2004 - mostly
        self._send(self._greeting())
        self._go_on()

    def _go_on(self) -> None:
        """Send something more, after a while or at once; or leave."""
        if self.end is None:
            return
        if self._turns_to_welcome:
            self._turns_to_welcome -= 1  # A broker soon closes a connection that sends before the welcome.
            self.world.clock.after(0.02, self._go_on)
        elif self._turns:
            self._turns -= 1
            self._send(self._make_frames())
            wait_s = self.random.choice((0.0, 0.001, 0.05, 0.3)) if self._reads else 0.0
            self.world.clock.after(wait_s, self._go_on)
        elif self.random.random() < 0.5:  # noqa: PLR2004 - the others stay and are silent
            self.leave()

    def leave(self) -> None:
        """Close the connection."""
        if self.end is not None:
            self.end.close()
            self.end = None

    def _send(self, content: bytes) -> None:
        if content:
            self._queue.append(content)
        self._write()

    def _write(self) -> None:
        while self.end is not None and self.end.is_open and self._is_written and self._queue:
            self._is_written = self.end.send(self._queue.pop(0))

    # --- what arrives ---

    def written(self, end: CableEnd) -> None:
        """Go on writing: the system has taken everything."""
        del end
        self._is_written = True
        self._write()

    def received(self, end: CableEnd, content: bytes) -> None:
        """Read the kinds of the frames that arrive."""
        del end
        self._received += content
        while len(self._received) >= HEADER.size:
            stop = LENGTH_BYTES + int.from_bytes(self._received[:LENGTH_BYTES])
            if len(self._received) < stop:
                return
            self._last_kind = self._received[LENGTH_BYTES]
            if self._last_kind == BY_MESSAGE[m.Welcome].kind:
                self._turns_to_welcome = 0
            del self._received[:stop]

    def ended(self, end: CableEnd, reason: str | None) -> None:
        """Check that the broker has sent a reason for closing the connection."""
        self.end = None
        end.close()
        is_honest = reason is None and self._reads and not self._sent_fault and not self._received
        if is_honest and self.world.sites[self.site].is_up and self._last_kind != _FAULT:
            self.world.history.faults.append(("error", f"{self.site} closed a connection without a word"))

    # --- what it sends ---

    def _greeting(self) -> bytes:
        random = self.random
        name = f"{NAME}{random.randint(1, 3)}"
        chance = random.random()
        if chance < 0.65:  # noqa: PLR2004 - mostly as a client
            return encode(m.Hello(VERSION, "client", name, "x", "", HOSTILE_TOKEN))
        hello = m.Hello(
            random.choice((VERSION, VERSION, 0, 99)),
            random.choice(("client", "broker")),
            random.choice(("", name, "B1", "B2", "x" * 300, "a\nb")),
            "x",
            random.choice(("", "the same for all", "another")),
            random.choice((HOSTILE_TOKEN, "", "wrong")),
            random.choice(("", "B1/0", "nobody's")),
            random.choice(_NUMBERS),
        )
        frame = encode(hello)
        if chance < 0.8:  # noqa: PLR2004 - some greet by half
            return frame
        return frame[: random.randint(0, len(frame))]

    def _id(self) -> str:
        """Return the id of some publisher or subscription, or of none."""
        node = self.world.sites[self.site].node
        ids = [] if node is None else [*node.exchange.publishers, *node.exchange.subscribers]
        ids += [each.publisher for each in self.world.history.publications[-20:]]
        ids += [each.id for each in self.world.history.subscriptions.values()]
        ids += ["", "", "nobody@B1.0/1", "x" * 250]
        return self.random.choice(ids)

    def _next(self) -> int:
        if self.random.random() < 0.01:  # noqa: PLR2004 - now and then
            return self.random.choice(_NUMBERS)
        self._number += 1
        return self._number

    def _request(self) -> bytes:  # noqa: C901, PLR0911 - one case for each frame
        """Return a client's frame with plausible or absurd fields."""
        random = self.random
        number = random.choice((1, 2, 3, self._number, random.choice(_NUMBERS)))
        try:
            match random.randrange(12):
                case 0 | 1:
                    return encode(m.Advertise(self._next(), random.choice(_FILTERS), self._id()))
                case 2 | 3:
                    return encode(self._subscribe())
                case 4:
                    taken = random.choice(_NUMBERS) if random.random() < 0.1 else 0  # noqa: PLR2004 - rarely
                    return encode(m.Credit(number, random.choice(_NUMBERS), taken))
                case 5:
                    ends = (m.Unsubscribe(number), m.Unadvertise(number), Undiscover(number))
                    return b"".join(encode(each) for each in ends)
                case 6:
                    discover = Discover(self._next(), _FILTERS[number % len(_FILTERS)])
                    return encode(m.Flush(self._next())) + encode(m.Ping(number)) + encode(discover)
                case 7:
                    about = random.choice(("waiting", "way", "durable", "uplinks", "x"))
                    return encode(m.Explain(self._next(), self._id(), number, about))
                case 8:
                    durables = [each.durable for each in self.world.history.subscriptions.values()]
                    return encode(m.Forget(self._next(), random.choice((*durables, "D1", ""))))
                case 9 | 10:
                    return self._publications()
                case _ if random.random() < 0.8:  # noqa: PLR2004 - mostly it stays
                    return encode(m.Ping(number))
                case _:
                    self._sent_fault = True
                    return encode(m.Fault(random.choice(("left", "x")), "goodbye"))
        except WireError:
            return b""

    def _subscribe(self) -> m.Subscribe:
        random, meant, text = self.random, self._id(), self.random.choice(_FILTERS)
        node = self.world.sites[self.site].node
        if node is not None and (known := node.exchange.subscribers.get(meant)) is not None:
            text = str(known.state.terms.filter)
        return m.Subscribe(
            self._next(),
            text,
            random.random() < 0.7,  # noqa: PLR2004 - mostly
            random.choice(_NUMBERS),
            random.choice(_NUMBERS),
            random.choice(("drop", "disconnect")),
            random.choice(("", "D1", "D2", "x" * 100)),
            random.choice((0, 1, 60, 2**40)),
            meant,
            random.choice(((), (), (0,), (5,), (2**50,), (1, 2))),
            random.choice(((), (), (0,), (5,), (0, 1000), (1, 2, 3))),
        )

    def _publications(self) -> bytes:
        """Return publications of its own publisher, of others and of none."""
        random = self.random
        frames = b""
        own = self._own_id()
        if not own and random.random() < 0.9:  # noqa: PLR2004 - mostly it is cautious
            return encode(m.Advertise(self._next(), _FILTERS[0], ""))
        for _ in range(random.choice((1, 5, 300))):
            self._sequence += random.choice((1, 1, 1, 1, 1, 1, 1, 1, 0, 2))
            is_own = random.random() < 0.99  # noqa: PLR2004 - mostly
            prefix = publication_prefix(own if own and is_own else self._id() or "x")
            attributes: dict[str, str | bool | int | float] = {
                "level": random.randint(-1, 4),
                "kind": "a",
                "n": -1,
            }
            payload = bytes(random.choice((0, 10, 5000)))
            frames += encode_publication(prefix, max(1, self._sequence), 5, attributes, payload, True)  # noqa: FBT003 - a flag
        return frames

    def _own_id(self) -> str:
        """Return the id of a publisher of its own, as the broker knows it."""
        node = self.world.sites[self.site].node
        if node is not None:
            for publisher in node.exchange.publishers.values():
                if publisher.owner is not None and publisher.id.startswith(NAME):
                    self._sequence = max(self._sequence, publisher.taken)
                    return publisher.id
        return ""

    def _flood(self) -> bytes:
        """Return many requests, each of which is valid."""
        random, frames = self.random, b""
        for _ in range(random.choice((30, 300))):
            self._number += 1
            if random.random() < 0.5:  # noqa: PLR2004 - a fair coin
                frames += encode(m.Advertise(self._number, random.choice(_FILTERS[:3]), ""))
            else:
                durable = f"D{self._number}" if random.random() < 0.3 else ""  # noqa: PLR2004 - some
                text = random.choice(_FILTERS[:3])
                frames += encode(m.Subscribe(self._number, text, True, 1000, 1 << 20, "drop", durable))  # noqa: FBT003 - a flag
        return frames

    def _anything(self) -> bytes:
        """Return a valid frame of any kind, whether it may be sent now or not."""
        return self._noted(self.random.choice(_FRAMES))

    def _damaged(self) -> bytes:
        """Return a damaged frame."""
        frame = self._request() if self.random.random() < 0.5 else self.random.choice(_FRAMES)  # noqa: PLR2004 - mostly
        return self._noted(mutated(self.random, frame or encode(m.Ping(1))))

    def _bytes(self) -> bytes:
        """Return random bytes."""
        self._sent_fault = True  # They may be one.
        return self.random.randbytes(self.random.choice((1, 5, 200)))

    def _noted(self, frame: bytes) -> bytes:
        if len(frame) > LENGTH_BYTES and frame[LENGTH_BYTES] == _FAULT:
            self._sent_fault = True
        return frame
