"""Simulated programs: each has a client of the product, publishers and subscriptions, and a pace of its own.

A program publishes and reads as the client's API lets it: it waits while the window is full, and gives credit
back when it asks for more than it was handed.
"""

from functools import cache, partial
from operator import length_hint
from random import Random
from typing import Final, Protocol

from attrs import define, field

from broker.backoff import Backoff
from broker.client.delivery import FORGOTTEN, Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.life import ClientLife, Phase, Wants
from broker.client.limits import Limits
from broker.client.machine import ClientMachine
from broker.client.outbox import Outbox
from broker.client.reading import Reading as Reader
from broker.client.session import Session
from broker.client.window import Source
from broker.errors import ConcordError, SlowSubscriberError
from broker.filters import Filter, parse
from harness.simulator.record import Stream
from harness.whole.cables import CableEnd
from harness.whole.clock import Clock
from harness.whole.history import SubscriptionHistory, WholeHistory
from harness.whole.interests import DrawnInterest, Events
from harness.whole.sites import HONEST_TOKEN, PORT

__all__ = ["Program", "ProgramNet", "ProgramReading", "Publishing"]

NEVER: Final = float("inf")

QUICK_S: Final = 0.02
"""Programs that read quickly acknowledge within this time."""


class ProgramNet(Protocol):
    """What a program needs of its world."""

    clock: Clock
    random: Random
    history: WholeHistory
    events: Events

    def connect(self, program: "Program") -> None:
        """Open a connection to the program's broker, soon."""
        ...

    def known_at(self, name: str) -> tuple[str, int]:
        """Name the present memory of a broker."""
        ...

    def may_leave(self, away_s: float) -> bool:
        """Whether a program that had no connection for so long may go to another broker."""
        ...

    def may_forget(self, program: "Program") -> bool:
        """Whether the program's broker may have forgotten it."""
        ...


@define(eq=False)
class Publishing:
    """One publisher of a program. `sent` is everything that it published: kind, flag, number and size."""

    outbox: Outbox
    interest: DrawnInterest
    id: str = ""
    sent: list[tuple[str, bool, int, int]] = field(factory=list)

    @property
    def source(self) -> Source:
        """What the client has of it."""
        return self.outbox.source

    @property
    def is_closed(self) -> bool:
        """Whether the program has left it."""
        return self.outbox.is_closed

    @property
    def is_usable(self) -> bool:
        """Whether it may publish."""
        return self.source.phase is Phase.OPEN and not self.outbox.is_over


@define(eq=False)
class ProgramReading:
    """One subscription of a program. It reads `step` deliveries at a time, every so many seconds."""

    reader: Reader
    line: SubscriptionHistory
    pause_s: float
    step: int
    is_closed: bool = False
    is_ended: bool = False
    is_due: bool = False
    has_begun: bool = False
    id: str = ""
    brokers: dict[int, str] = field(factory=dict)
    """Where positions were counted, each time that they began anew."""
    last: dict[tuple[str, bool], int] = field(factory=dict)
    """The last number that it got of each publisher, in order or not."""

    @property
    def inbox(self) -> Inbox:
        """What the client has of it."""
        return self.reader.inbox

    def take(self) -> Delivery | Gap | None:
        """The next delivery or gap, or None if neither is there."""
        delivery = next(self.reader.batch, None)
        if delivery is not None:
            return delivery
        try:
            arrived = self.reader.advance()
        except ConcordError:
            return None
        if isinstance(arrived, Gap):
            return arrived
        return next(self.reader.batch) if arrived else None

    @property
    def broker(self) -> str:
        """The broker of the delivery that was taken last."""
        return self.brokers[self.inbox.first_era]

    @property
    def next_broker(self) -> str:
        """The broker of what comes next."""
        inbox = self.inbox
        next_run = inbox._entries[0] if inbox._entries else None  # noqa: SLF001 - only to look
        return self.brokers[getattr(next_run, "era", inbox.era)]

    @property
    def is_empty(self) -> bool:
        """Whether everything that has arrived was taken, and its credit given back or acknowledged later."""
        reader, inbox = self.reader, self.inbox
        is_read = inbox._reading is None or not length_hint(inbox._reading)  # noqa: SLF001 - only to look
        return is_read and not reader._count and not inbox._entries  # noqa: SLF001 - as above


@cache
def _parsed(text: str) -> Filter:
    return parse(text)


def _broker_in(identity: str) -> str:
    return identity.rpartition("@")[2].rpartition(".")[0]


@define(eq=False)
class Program:
    """One process with a client. `site` is its broker; it goes to `others`, or to those that it `learns`."""

    name: str
    site: str
    net: ProgramNet
    limits: Limits
    others: tuple[str, ...] = ()
    learns: bool = False
    machine: ClientMachine = field(init=False)
    end: CableEnd | None = field(default=None, init=False)
    publishing: list[Publishing] = field(factory=list, init=False)
    reading: list[ProgramReading] = field(factory=list, init=False)
    is_over: bool = field(default=False, init=False)
    _is_written: bool = field(default=True, init=False)
    _wakes_at_s: float = field(default=NEVER, init=False)
    _wake_number: int = field(default=0, init=False)
    isolated_until_s: float = field(default=0.0, init=False)
    has_moved: bool = field(default=False, init=False)
    _connected_s: float = field(default=-NEVER, init=False)
    """When it had a connection last."""

    def __attrs_post_init__(self) -> None:
        random = Random(self.net.random.getrandbits(32))  # noqa: S311 - a schedule
        session = Session(self.name, f"{random.getrandbits(32):x}", HONEST_TOKEN, self.limits)
        address, *others = (f"{each}:{PORT}" for each in (self.site, *self.others))
        self.machine = ClientMachine(session, address, Backoff(random), tuple(others), self.learns)
        self.machine.start(self.net.clock.now_s, retry=True)

    @property
    def session(self) -> Session:
        """The client's side of the protocol."""
        return self.machine.session

    @property
    def dialled(self) -> str:
        """The broker that it dials now."""
        return self.machine.address.partition(":")[0] if self.others else self.site

    # --- what the program does ---

    def advertise(self, interest: DrawnInterest) -> Publishing:
        """Ask for a publisher."""
        source = self.session.advertise(interest.text)
        publishing = Publishing(Outbox(source, _parsed(interest.text), self.machine), interest)
        self.publishing.append(publishing)
        self.look()
        return publishing

    def unadvertise(self, publishing: Publishing) -> None:
        """End a publisher."""
        self.net.history.dead.add(publishing.source.id)
        publishing.outbox.close()
        self.look()

    def subscribe(
        self, interest: DrawnInterest, options: "Inbox", name: str, pause_s: float, step: int
    ) -> ProgramReading:
        """Ask for a subscription; a durable one goes on with the line of its name."""
        lines = self.net.history.lines
        line = lines.get(name)
        if line is None:
            line = lines[name] = SubscriptionHistory(
                name, Stream(options.ordered, interest.kinds, self.site), options.durable
            )
        reading = ProgramReading(Reader(options, self.machine), line, pause_s, step)
        self.reading.append(reading)
        self.session.subscribe(options, self.net.clock.now_s)
        self.look()
        return reading

    def unsubscribe(self, reading: ProgramReading) -> None:
        """Leave a subscription."""
        reading.is_closed = True
        if not reading.inbox.durable:
            reading.line.is_ended = True
        reading.reader.close(had_last=True)
        self.reading.remove(reading)
        self.look()

    def publish(self, publishing: Publishing, kind: str, payload: bytes, *, ordered: bool) -> bool:
        """Publish an event; false if the window has no room."""
        outbox, net = publishing.outbox, self.net
        if not publishing.is_usable or not outbox.has_room:
            return False
        number = len(net.history.publications) + 1
        attributes = {**net.events.attributes[kind], "n": number}
        sequence = outbox.put(attributes, payload, 1_000_000 * number, ordered)
        if not sequence:
            outbox.refill()
            sequence = outbox.put(attributes, payload, 1_000_000 * number, ordered)
        self._note(publishing, (kind, ordered, number, len(payload)), sequence)
        self.look()
        return True

    def _note(self, publishing: Publishing, content: tuple[str, bool, int, int], sequence: int) -> None:
        kind, ordered, number, _ = content
        publishing.id = publishing.source.id
        publishing.sent.append(content)
        published = self.net.history.publish(
            (publishing.id, sequence), self.net.known_at(self.site), kind, ordered=ordered
        )
        published.published_ns = number

    def _notice_new_id(self, publishing: Publishing) -> None:
        """What was in the window goes out again under another id (`Window.rename`)."""
        source = publishing.source
        if not self.net.may_forget(self):
            text = f"{self.name} had to publish under a new id, and its broker has lost nothing"
            self.net.history.faults.append(("duplicate", text))
        self.net.history.dead.add(publishing.id)
        again = publishing.sent[len(publishing.sent) - source.pending_count :]
        if _broker_in(publishing.id) != _broker_in(source.id):
            self.net.history.moved.update(number for _, _, number, _ in again)
        publishing.id = source.id
        for sequence, content in enumerate(again, 1):
            self._note(publishing, content, sequence)

    # --- reading ---

    def _read(self, reading: ProgramReading) -> None:
        """Take some deliveries, and come back for the others."""
        reading.is_due = False
        if reading.is_closed or self.is_over:
            return
        history = self.net.history
        last: Delivery | None = None
        for _ in range(reading.step):
            taken = reading.take()
            if taken is None:
                break
            if isinstance(taken, Gap):
                history.gap(reading.line, taken, reading.next_broker)
                if taken.reason == FORGOTTEN:
                    reading.line.id = reading.inbox.id
            else:
                last = taken
                self._look_for_redelivery(reading, taken)
                self._look_for_repetition(reading, taken)
                history.deliver(reading.line, taken, self.net.known_at(reading.broker))
            reading.has_begun = True
        if last is not None and reading.inbox.max_open:
            wait_s = (reading.pause_s + QUICK_S) * self.net.random.random()
            self.net.clock.after(wait_s, partial(self._acknowledge, reading, last, reading.inbox.era))
        self._look_at(reading)
        self.look()

    def _acknowledge(self, reading: ProgramReading, delivery: Delivery, era: int) -> None:
        """The program is done with a delivery, and all before it."""
        if reading.is_closed or self.is_over:
            return
        delivery.ack()
        if era == reading.inbox.era:
            reading.line.acknowledged = max(reading.line.acknowledged, delivery.position)
        self.look()

    def _look_for_redelivery(self, reading: ProgramReading, delivery: Delivery) -> None:
        """What no program has acknowledged comes first to the next one."""
        line = reading.line
        if reading.inbox.max_open and not reading.has_begun and delivery.position > line.acknowledged + 1:
            text = f"{line.name} began at {delivery.position}, and had acknowledged {line.acknowledged}"
            self.net.history.faults.append(("gap", text))

    def _look_for_repetition(self, reading: ProgramReading, delivery: Delivery) -> None:
        """A program that goes to another broker gets nothing again, and nothing earlier of a publisher."""
        key = delivery.publisher, delivery.ordered
        if self.others and delivery.sequence <= reading.last.get(key, 0):
            text = f"{reading.line.name} got {delivery.publisher}:{delivery.sequence} from {reading.broker}"
            self.net.history.faults.append(("duplicate", f"{text} behind {reading.last[key]}"))
        reading.last[key] = delivery.sequence

    def _look_at(self, reading: ProgramReading) -> None:
        inbox, line = reading.inbox, reading.line
        if inbox.is_placed:
            reading.brokers.setdefault(inbox.era, self.site)
        if inbox.id and inbox.id != reading.id:
            if not reading.id and line.id not in {"", inbox.id}:
                self.net.history.gap(line, Gap(None, FORGOTTEN), self.site)
                reading.has_begun = True
                line.id = inbox.id
            elif not line.id:
                line.stream.broker = self.site
                line.id = inbox.id
            reading.id = inbox.id
        if inbox.phase is Phase.OPEN and not line.is_open:
            line.is_open = True
        if inbox.ended is not None and not reading.is_ended:
            reading.is_ended = True
            self._ended(reading, inbox.ended)
        if not reading.is_empty and not reading.is_due and not reading.is_closed:
            reading.is_due = True
            wait_s = reading.pause_s * self.net.random.random()
            self.net.clock.after(wait_s, lambda: self._read(reading))

    def _ended(self, reading: ProgramReading, error: ConcordError) -> None:
        """The broker has ended a subscription: too slow, or taken over by another program of this name."""
        line = reading.line
        if getattr(error, "code", "") == "taken-over" and line.is_contested:
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
        if machine.life is ClientLife.CONNECTED:
            self._look_for_a_move()
        if machine.is_changed or machine.touched:
            self._look_around()
        if machine.wants is Wants.CLOSE:
            if self.end is not None:
                self._write()
                self.end.close()
                self.end = None
            machine.lost(None, clock.now_s)
        if machine.wants is Wants.DIAL:
            machine.dialling(clock.now_s)
            self.net.connect(self)
        self._write()
        if machine.life is ClientLife.CLOSED:
            self._closed()
            return
        deadline_s = machine.next_deadline()
        if deadline_s < self._wakes_at_s:
            self._wakes_at_s = deadline_s
            self._wake_number = number = self._wake_number + 1
            clock.at(self._wakes_at_s, lambda: self._tick(number))

    def _look_for_a_move(self) -> None:
        """Notice that it has gone to another broker, which it may only when its own keeps it no more."""
        now_s, net = self.net.clock.now_s, self.net
        if self.site != self.dialled:
            away_s = now_s - self._connected_s
            if not net.may_leave(away_s):
                text = f"{self.name} left {self.site} for {self.dialled} after {away_s:.3f} s"
                net.history.faults.append(("promise", text))
            self.site, self.has_moved = self.dialled, True
        self._connected_s = now_s

    def _look_around(self) -> None:
        """Look at everything, as the machine says that something is new."""
        self.machine.is_changed = False
        self.machine.touched.clear()
        for publishing in self.publishing:
            if publishing.id and publishing.source.id != publishing.id:
                self._notice_new_id(publishing)
        for reading in self.reading:
            self._look_at(reading)

    def _closed(self) -> None:
        """The client has ended, because its program left or something failed."""
        if self.end is not None:
            self.end.close()
            self.end = None
        if self.machine.failure is not None:
            self.net.history.faults.append(("error", f"{self.name} failed: {self.machine.failure!r}"))
        self._end()

    def _write(self) -> None:
        end, machine = self.end, self.machine
        while end is not None and end.is_open and self._is_written and machine.has_output:
            output = machine.take_output()
            if not output:
                return
            self._is_written = end.send(output)
            if self._is_written:
                machine.written(self.net.clock.now_s)

    def _tick(self, number: int) -> None:
        if number == self._wake_number and not self.is_over:
            self._wakes_at_s = NEVER
            self.machine.tick(self.net.clock.now_s)
            self.look()

    def connected(self, end: CableEnd) -> None:
        """The connection is made."""
        self.end = end
        self._is_written = True
        self.machine.connected(self.net.clock.now_s)
        self.look()

    def unreached(self) -> None:
        """It could not be made."""
        self.machine.connect_failed("nobody is there", self.net.clock.now_s)
        self.look()

    def came(self, end: CableEnd, content: bytes) -> None:
        """Bytes have arrived."""
        if end is self.end:
            self.machine.received(content, self.net.clock.now_s)
            self.look()

    def over(self, end: CableEnd, reason: str | None) -> None:
        """The connection has ended."""
        if end is self.end:
            end.close()
            self.end = None
            self.machine.lost(reason, self.net.clock.now_s)
            self.look()

    def written(self, end: CableEnd) -> None:
        """Everything is with the system."""
        if end is self.end:
            self._is_written = True
            self.machine.written(self.net.clock.now_s)
            self.look()

    # --- the end of the process ---

    def vanish(self) -> None:
        """The process is killed; what was not answered may come after what the next of its name says."""
        self._end()
        for reading in self.reading:
            reading.line.is_contested |= not reading.inbox.is_placed
        if self.end is not None:
            self.end.close()
            self.end = None

    def leave(self) -> None:
        """The process ends in order: what it has published is taken over, and it says goodbye."""
        self._forget()
        self.machine.leave(self.net.clock.now_s)
        self.look()

    def _end(self) -> None:
        self.is_over = True
        self._forget()

    def _forget(self) -> None:
        """Its publishers and subscriptions are no more."""
        for publishing in self.publishing:
            publishing.outbox.is_closed = True
            self.net.history.dead.add(publishing.source.id)
        for reading in self.reading:
            reading.is_closed = True
            if not reading.line.durable:
                reading.line.is_ended = True
