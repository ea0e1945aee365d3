"""Simulated programs: each has a client of the product, publishers and subscriptions, and a pace of its own.

A program publishes and reads as the client's API lets it: it waits while the window is full, and gives credit back
when it asks for more than it was handed.
"""

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Final, Protocol

from attrs import define, field

from broker.backoff import Backoff
from broker.client.delivery import FORGOTTEN, Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.limits import Limits
from broker.client.session import Session
from broker.client.window import Source
from broker.errors import ConcordError, SlowSubscriberError
from broker.wire import encode_publication
from harness.simulator.record import Stream
from harness.whole.cables import End
from harness.whole.clock import Clock
from harness.whole.greeted import Machine
from harness.whole.history import History, Line
from harness.whole.interests import Events, Interest

__all__ = ["Net", "Program", "Publishing", "Reading"]

NEVER: Final = float("inf")


class Net(Protocol):
    """What a program needs of its world."""

    clock: Clock
    random: Random
    history: History
    events: Events

    def connect(self, program: "Program") -> None:
        """Open a connection to the program's broker, soon."""
        ...


@define(eq=False)
class Publishing:
    """One publisher of a program. `sent` is everything that it published, by kind, flag and number."""

    source: Source
    interest: Interest
    id: str = ""
    sent: list[tuple[str, bool, int, int]] = field(factory=list)
    is_closed: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether it may publish."""
        return self.source.is_ready and self.source.ended is None and not self.is_closed


@define(eq=False)
class Reading:
    """One subscription of a program. It reads `step` deliveries at a time, every so many seconds."""

    inbox: Inbox
    line: Line
    pause_s: float
    step: int
    is_closed: bool = False
    is_ended: bool = False
    is_due: bool = False
    id: str = ""
    _batch: Iterator[Delivery] = field(factory=lambda: iter(()), init=False)
    _count: int = field(default=0, init=False)

    def take(self, credit: Callable[[Inbox, int], None]) -> Delivery | Gap | None:
        """The next delivery or gap, or None if neither is there."""
        delivery = next(self._batch, None)
        if delivery is not None:
            return delivery
        if self._count:
            credit(self.inbox, self._count)
            self._count = 0
        arrived = self.inbox.take()
        if arrived is None or isinstance(arrived, Gap):
            return arrived
        self._batch = map(Delivery, self.inbox.read(iter(arrived)), count(self.inbox.first))
        self._count = len(arrived)
        return next(self._batch)

    @property
    def is_empty(self) -> bool:
        """Whether everything that has arrived was taken."""
        return not self._count and not self.inbox._entries  # noqa: SLF001 - only to look


@define(eq=False)
class Program:
    """One process with a client. `site` is the broker that it dials."""

    name: str
    site: str
    net: Net
    limits: Limits
    machine: Machine = field(init=False)
    end: End | None = field(default=None, init=False)
    publishing: list[Publishing] = field(factory=list, init=False)
    reading: list[Reading] = field(factory=list, init=False)
    known: int = field(default=0, init=False)
    is_over: bool = field(default=False, init=False)
    _is_written: bool = field(default=True, init=False)
    _wakes_at_s: float = field(default=NEVER, init=False)
    _wake_number: int = field(default=0, init=False)
    waiting_count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        random = Random(self.net.random.getrandbits(32))
        session = Session(self.name, f"{random.getrandbits(32):x}", "", self.limits)
        self.machine = Machine(session, Backoff(random))
        self.machine.start()

    @property
    def session(self) -> Session:
        """The client's side of the protocol."""
        return self.machine.session

    # --- what the program does ---

    def advertise(self, interest: Interest) -> Publishing:
        """Ask for a publisher."""
        publishing = Publishing(self.session.advertise(interest.text), interest)
        self.publishing.append(publishing)
        self.look()
        return publishing

    def unadvertise(self, publishing: Publishing) -> None:
        """End a publisher."""
        publishing.is_closed = True
        self.net.history.dead.add(publishing.source.id)
        self.session.unadvertise(publishing.source)
        self.look()

    def subscribe(self, interest: Interest, options: "Inbox", name: str, pause_s: float, step: int) -> Reading:
        """Ask for a subscription; a durable one goes on with the line of its name."""
        lines = self.net.history.lines
        line = lines.get(name)
        if line is None:
            line = lines[name] = Line(
                name, Stream(options.ordered, interest.kinds, self.site), options.durable
            )
        reading = Reading(options, line, pause_s, step)
        self.reading.append(reading)
        self.session.subscribe(options)
        self.look()
        return reading

    def unsubscribe(self, reading: Reading) -> None:
        """Leave a subscription."""
        reading.is_closed = True
        reading.inbox.notice_progress(had_last=True)
        if not reading.inbox.durable:
            reading.line.is_ended = True
        self.session.unsubscribe(reading.inbox)
        self.reading.remove(reading)
        self.look()

    def publish(self, publishing: Publishing, kind: str, payload: bytes, *, ordered: bool) -> bool:
        """Publish an event; false if the window has no room."""
        window, source, net = self.session.window, publishing.source, self.net
        if not publishing.is_usable:
            return False
        if window.quota_bytes <= 0:
            if window.is_full:
                return False
            window.refill()
        number = len(net.history.publications) + 1
        self._note(publishing, (kind, ordered, number, len(payload)), source.sequence + 1)
        attributes = {**net.events.attributes[kind], "n": number}
        frame = encode_publication(
            source.prefix, source.sequence + 1, 1_000_000 * number, attributes, payload, ordered
        )
        window.append(source, frame)
        self.look()
        return True

    def _note(self, publishing: Publishing, content: tuple[str, bool, int, int], sequence: int) -> None:
        kind, ordered, number, _ = content
        publishing.id = publishing.source.id
        publishing.sent.append(content)
        published = self.net.history.publish(
            (publishing.id, sequence), self.site, kind, ordered=ordered, past=self.known
        )
        published.published_ns = number

    def _notice_new_id(self, publishing: Publishing) -> None:
        """What was in the window goes out again under another id (`Window.rename`)."""
        source = publishing.source
        self.net.history.dead.add(publishing.id)
        again = publishing.sent[len(publishing.sent) - source.pending_count :]
        publishing.id = source.id
        for sequence, content in enumerate(again, 1):
            self._note(publishing, content, sequence)

    # --- reading ---

    def _read(self, reading: Reading) -> None:
        """Take some deliveries, and come back for the others."""
        reading.is_due = False
        if reading.is_closed or self.is_over:
            return
        history = self.net.history
        for _ in range(reading.step):
            taken = reading.take(self.session.credit)
            if taken is None:
                break
            if isinstance(taken, Gap):
                history.gap(reading.line, taken)
            else:
                self.known |= history.deliver(reading.line, taken)
        self.look()

    def _look_at(self, reading: Reading) -> None:
        inbox, line = reading.inbox, reading.line
        if inbox.id and inbox.id != reading.id:
            if not reading.id and line.id not in {"", inbox.id}:
                self.net.history.gap(line, Gap(None, FORGOTTEN))
            reading.id = inbox.id
            if not reading.is_closed:
                line.id = inbox.id
        if inbox.is_ready and not line.is_open:
            line.is_open = True
        if inbox.ended is not None and not reading.is_ended:
            reading.is_ended = True
            self._ended(reading, inbox.ended)
        if not reading.is_empty and not reading.is_due and not reading.is_closed:
            reading.is_due = True
            wait_s = reading.pause_s * self.net.random.random()
            self.net.clock.after(wait_s, lambda: self._read(reading))

    def _ended(self, reading: Reading, error: ConcordError) -> None:
        """The broker has ended a subscription: too slow, or taken over by another program of this name."""
        line = reading.line
        if getattr(error, "code", "") == "taken-over":
            return
        line.is_ended = True
        if not isinstance(error, SlowSubscriberError):
            self.net.history.faults.append(("ended", f"{line.name} was ended: {error}"))

    # --- the shell ---

    def look(self) -> None:
        """Do what the machine wants, and write what there is to write."""
        if self.is_over:
            return
        machine, clock = self.machine, self.net.clock
        for publishing in self.publishing:
            if publishing.id and publishing.source.id != publishing.id:
                self._notice_new_id(publishing)
        for reading in self.reading:
            self._look_at(reading)
        self.session.touched.clear()
        if machine.wants_close:
            if self.end is not None:
                self.end.close()
                self.end = None
            machine.lost(clock.now_s)
        if machine.wants_dial:
            machine.dialling(clock.now_s)
            self.net.connect(self)
        self._write()
        if machine.failure is not None and not self.is_over:
            self.is_over = True
            self.net.history.faults.append(("error", f"{self.name} failed: {machine.failure}"))
        if machine.deadline_s < self._wakes_at_s:
            self._wakes_at_s = machine.deadline_s
            self._wake_number = number = self._wake_number + 1
            clock.at(self._wakes_at_s, lambda: self._tick(number))

    def _write(self) -> None:
        end = self.end
        while end is not None and end.is_open and self._is_written and self.session.has_output:
            output = self.session.take()
            if not output:
                return
            self._is_written = end.send(output)

    def _tick(self, number: int) -> None:
        if number == self._wake_number and not self.is_over:
            self._wakes_at_s = NEVER
            self.machine.tick(self.net.clock.now_s)
            self.look()

    def connected(self, end: End) -> None:
        """The connection is made."""
        self.end = end
        self._is_written = True
        self.machine.connected()
        self.look()

    def unreached(self) -> None:
        """It could not be made."""
        self.machine.lost(self.net.clock.now_s)
        self.look()

    def came(self, end: End, content: bytes) -> None:
        """Bytes have arrived."""
        if end is self.end:
            self.machine.received(content, self.net.clock.now_s)
            self.look()

    def over(self, end: End, reason: str | None) -> None:
        """The connection has ended."""
        del reason
        if end is self.end:
            end.close()
            self.end = None
            self.machine.lost(self.net.clock.now_s)
            self.look()

    def written(self, end: End) -> None:
        """Everything is with the system."""
        if end is self.end:
            self._is_written = True
            self.look()

    # --- the end of the process ---

    def vanish(self) -> None:
        """The process is killed."""
        self._end()
        if self.end is not None:
            self.end.close()
            self.end = None

    def leave(self) -> None:
        """The process ends in order: it says goodbye."""
        self.session.leave()
        self._write()
        self.vanish()

    def _end(self) -> None:
        self.is_over = True
        for publishing in self.publishing:
            self.net.history.dead.add(publishing.source.id)
        for reading in self.reading:
            reading.is_closed = True
            if not reading.line.durable:
                reading.line.is_ended = True
