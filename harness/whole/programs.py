"""Simulated programs: each has a client of the product, publishers and subscriptions, and a rate of its own.

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
from broker.client.offers import Offers
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

NEVER: Final = float("inf")

QUICK_S: Final = 0.02
"""Programs that read quickly acknowledge within this time."""


class ProgramNet(Protocol):
    """The parts of a world that a program uses."""

    clock: Clock
    random: Random
    history: WholeHistory
    events: Events

    def connect(self, program: "Program") -> None:
        """Open a connection to the program's broker, soon."""
        ...

    def known_at(self, name: str) -> tuple[str, int]:
        """Return a broker with the number of its memory losses."""
        ...

    def may_leave(self, away_s: float) -> bool:
        """Return whether a program that had no connection for so long may go to another broker."""
        ...

    def may_forget(self, program: "Program") -> bool:
        """Return whether the program's broker may have forgotten it."""
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
        """Return the client's part of it."""
        return self.outbox.source

    @property
    def is_closed(self) -> bool:
        """Return whether the program has withdrawn it."""
        return self.outbox.is_closed

    @property
    def is_usable(self) -> bool:
        """Return whether it may publish."""
        return self.source.phase is Phase.OPEN and not self.outbox.is_over


@define(eq=False)
class ProgramReading:
    """One subscription of a program. It reads `step` deliveries at a time, every so many seconds."""

    reader: Reader
    history: SubscriptionHistory
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
        """Return the client's part of it."""
        return self.reader.inbox

    def take(self) -> Delivery | Gap | None:
        """Return the next delivery or gap, or None if there is neither."""
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
        """Return the broker of the delivery that was taken last."""
        return self.brokers[self.inbox.read_era]

    @property
    def next_broker(self) -> str:
        """Return the broker of the next delivery or gap."""
        inbox = self.inbox
        next_run = inbox._entries[0] if inbox._entries else None  # noqa: SLF001 - only to look
        return self.brokers[getattr(next_run, "era", inbox.era)]

    @property
    def is_empty(self) -> bool:
        """Return whether all arrived deliveries were taken, and their credit given back or held for later."""
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
    offers: Offers | None = field(default=None, init=False)
    offered: dict[str, str] = field(factory=dict, init=False)
    """What it knows of what is on offer, if it watches."""
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
        """Return the client's session."""
        return self.machine.session

    @property
    def dialled(self) -> str:
        """Return the broker that it dials now."""
        return self.machine.address.partition(":")[0] if self.others else self.site

    # --- what the program does ---

    def advertise(self, interest: DrawnInterest) -> Publishing:
        """Ask for a publisher."""
        source = self.session.advertise(interest.text)
        publishing = Publishing(Outbox(source, _parsed(interest.text), self.machine), interest)
        self.publishing.append(publishing)
        self.look()
        return publishing

    def discover(self, filter_text: str) -> None:
        """Watch what is on offer."""
        self.offers = Offers(filter_text)
        self.session.discover(self.offers)
        self.look()

    def _look_at_offers(self, offers: Offers) -> None:
        while (change := offers.take()) is not None:
            if change.kind == "added":
                self.offered[change.publisher] = change.filter
            elif change.kind == "removed":
                del self.offered[change.publisher]
        if offers.ended is not None:
            self.net.history.faults.append(("ended", f"the watch of {self.name} was ended: {offers.ended}"))

    def unadvertise(self, publishing: Publishing) -> None:
        """End a publisher."""
        self.net.history.dead.add(publishing.source.id)
        publishing.outbox.close()
        self.look()

    def subscribe(
        self, interest: DrawnInterest, options: "Inbox", name: str, pause_s: float, step: int
    ) -> ProgramReading:
        """Ask for a subscription; a durable one resumes the history of its name."""
        known = self.net.history.subscriptions
        history = known.get(name)
        if history is None:
            history = known[name] = SubscriptionHistory(
                name, Stream(options.ordered, interest.kinds, self.site), options.durable
            )
        reading = ProgramReading(Reader(options, self.machine), history, pause_s, step)
        self.reading.append(reading)
        self.session.subscribe(options, self.net.clock.now_s)
        self.look()
        return reading

    def unsubscribe(self, reading: ProgramReading) -> None:
        """Leave a subscription."""
        reading.is_closed = True
        if not reading.inbox.durable:
            reading.history.is_ended = True
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
        """Note that the client sends its window again under another id (`SendWindow.rename`)."""
        source = publishing.source
        if not self.net.may_forget(self):
            text = f"{self.name} had to publish under a new id, and its broker has lost nothing"
            self.net.history.faults.append(("duplicate", text))
        self.net.history.dead.add(publishing.id)
        again = publishing.sent[len(publishing.sent) - source.pending_count :]
        is_elsewhere = _broker_in(publishing.id) != _broker_in(source.id)
        if is_elsewhere or publishing.id in self.net.history.returned:
            self.net.history.moved.update(number for _, _, number, _ in again)
        publishing.id = source.id
        if publishing.is_closed:
            self.net.history.dead.add(source.id)
        for sequence, content in enumerate(again, 1):
            self._note(publishing, content, sequence)

    # --- reading ---

    def _read(self, reading: ProgramReading) -> None:
        """Take some deliveries, and schedule reading the others."""
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
                history.gap(reading.history, taken, reading.next_broker)
                if taken.reason == FORGOTTEN:
                    reading.history.id = reading.inbox.id
            else:
                last = taken
                self._look_for_redelivery(reading, taken)
                self._look_for_repetition(reading, taken)
                history.deliver(reading.history, taken, self.net.known_at(reading.broker))
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
            reading.history.acknowledged = max(reading.history.acknowledged, delivery.position)
        self.look()

    def _look_for_redelivery(self, reading: ProgramReading, delivery: Delivery) -> None:
        """Note a fault if the first delivery is not the first that no program has acknowledged."""
        history = reading.history
        if reading.inbox.max_open and not reading.has_begun and delivery.position > history.acknowledged + 1:
            text = f"{history.name} began at {delivery.position}, and had acknowledged {history.acknowledged}"
            self.net.history.faults.append(("gap", text))

    def _look_for_repetition(self, reading: ProgramReading, delivery: Delivery) -> None:
        """Note a fault if a program at another broker gets an event again, or an earlier one."""
        key = delivery.publisher, delivery.ordered
        if self.others and delivery.sequence <= reading.last.get(key, 0):
            event = f"{delivery.publisher}:{delivery.sequence}"
            text = f"{reading.history.name} got {event} from {reading.broker}"
            self.net.history.faults.append(("duplicate", f"{text} behind {reading.last[key]}"))
        reading.last[key] = delivery.sequence

    def _look_at(self, reading: ProgramReading) -> None:
        inbox, history = reading.inbox, reading.history
        if inbox.is_placed:
            reading.brokers.setdefault(inbox.era, self.site)
        if inbox.id and inbox.id != reading.id:
            is_another = not reading.id and history.id not in {"", inbox.id}
            if is_another and not reading.is_closed:
                self.net.history.gap(history, Gap(None, FORGOTTEN), self.site)
                reading.has_begun = True
                history.id = inbox.id
            elif not history.id:
                history.stream.broker = self.site
                history.id = inbox.id
            reading.id = inbox.id
        if inbox.phase is Phase.OPEN and not history.is_open:
            history.is_open = True
        if inbox.ended is not None and not reading.is_ended:
            reading.is_ended = True
            self._ended(reading, inbox.ended)
        if not reading.is_empty and not reading.is_due and not reading.is_closed:
            reading.is_due = True
            wait_s = reading.pause_s * self.net.random.random()
            self.net.clock.after(wait_s, lambda: self._read(reading))

    def _ended(self, reading: ProgramReading, error: ConcordError) -> None:
        """Note that the broker has ended a subscription: too slow, or taken over by another program."""
        history = reading.history
        if getattr(error, "code", "") == "taken-over" and history.is_contested:
            return
        history.is_ended = True
        if not isinstance(error, SlowSubscriberError):
            self.net.history.faults.append(("ended", f"{history.name} was ended: {error}"))

    # --- the shell ---

    def look(self) -> None:
        """Do what the machine wants, and write its output."""
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
        """Note a move to another broker: allowed only when the own broker keeps its session no longer."""
        now_s, net = self.net.clock.now_s, self.net
        away_s = now_s - self._connected_s
        if net.may_leave(away_s):
            net.history.returned.update(each.id for each in self.publishing)
        if self.site != self.dialled:
            if not net.may_leave(away_s):
                text = f"{self.name} left {self.site} for {self.dialled} after {away_s:.3f} s"
                net.history.faults.append(("promise", text))
            self.site, self.has_moved = self.dialled, True
        self._connected_s = now_s

    def _look_around(self) -> None:
        """Check publishers and subscriptions for changes that the machine reports."""
        self.machine.is_changed = False
        self.machine.touched.clear()
        for publishing in self.publishing:
            if publishing.id and publishing.source.id != publishing.id:
                self._notice_new_id(publishing)
        for reading in self.reading:
            self._look_at(reading)
        if self.offers is not None:
            self._look_at_offers(self.offers)

    def _closed(self) -> None:
        """End the program: its client has left or failed."""
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
        """Take the connection that was made."""
        self.end = end
        self._is_written = True
        self.machine.connected(self.net.clock.now_s)
        self.look()

    def unreached(self) -> None:
        """Note that no connection could be made."""
        self.machine.connect_failed("nobody is there", self.net.clock.now_s)
        self.look()

    def received(self, end: CableEnd, content: bytes) -> None:
        """Feed bytes that have arrived."""
        if end is self.end:
            self.machine.received(content, self.net.clock.now_s)
            self.look()

    def ended(self, end: CableEnd, reason: str | None) -> None:
        """Feed the end of the connection."""
        if end is self.end:
            end.close()
            self.end = None
            self.machine.lost(reason, self.net.clock.now_s)
            self.look()

    def written(self, end: CableEnd) -> None:
        """Feed that the system has taken all output."""
        if end is self.end:
            self._is_written = True
            self.machine.written(self.net.clock.now_s)
            self.look()

    # --- the end of the process ---

    def vanish(self) -> None:
        """Kill the process; its last requests may arrive after those of the next process of its name."""
        self._end()
        for reading in self.reading:
            reading.history.is_contested |= not reading.inbox.is_placed
        if self.end is not None:
            self.end.close()
            self.end = None

    def leave(self) -> None:
        """End the process in order: its publications are taken over, and it sends a goodbye."""
        self._forget()
        self.machine.leave(self.net.clock.now_s)
        self.look()

    def _end(self) -> None:
        self.is_over = True
        self._forget()

    def _forget(self) -> None:
        """End its publishers and subscriptions."""
        for publishing in self.publishing:
            publishing.outbox.is_closed = True
            self.net.history.dead.add(publishing.source.id)
        for reading in self.reading:
            reading.is_closed = True
            if not reading.history.durable:
                reading.history.is_ended = True
