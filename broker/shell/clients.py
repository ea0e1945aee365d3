"""A client's connection: its publishers, its subscriptions, and what it may do.

Laws:

1. Everything that arrived together is handled in one step, in its order: runs of publications of one
   publisher go to the core in one call, and the core's effects are carried out once, at the end.
2. Credit is accounted for every publication that was read, taken or not.
3. A client that goes away withdraws everything of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from time import perf_counter
from typing import Final

import structlog
from attrs import define, field

from broker import messages as m
from broker.filters import Filter, FilterError, parse
from broker.healing import describe_search
from broker.shell.auth import User
from broker.shell.connection import Connection, fault_of
from broker.shell.credit import Batch, Window
from broker.shell.exchange import Exchange
from broker.shell.pacing import Pace
from broker.shell.publishers import LocalPublisher, Retired, RetiredPublishers
from broker.shell.queues import SubscriptionQueue
from broker.shell.subscriptions import Subscription
from broker.wire import encode

__all__ = ["ClientSession"]

REQUESTS_MAX: Final = 10_000
"""Publishers and subscriptions of one connection together; each costs a few kilobytes here and everywhere."""

BOUND_BYTES_MIN: Final = 64 * 1024
BOUND_BYTES_MAX: Final = 256 * 1024 * 1024
"""A subscription's bound is taken into these limits: with less than a read's worth of events every burst
would be a gap, and with more one client could fill the memory of a small machine."""

CREDIT_MAX: Final = 2**31
"""What a client can have granted at most; more is a client that counts wrong."""

_log = structlog.get_logger()


@define(eq=False)
class ClientSession:
    """What one client has asked for, by its numbers."""

    name: str
    user: User
    window: Window
    _connection: Connection
    _exchange: Exchange
    _retired: RetiredPublishers
    _publishers: dict[str, LocalPublisher] = field(factory=dict, init=False)
    _publisher_numbers: dict[int, LocalPublisher] = field(factory=dict, init=False)
    _ended_publishers: set[str] = field(factory=set, init=False)
    _subscriptions: dict[int, Subscription] = field(factory=dict, init=False)
    _backlog: dict[Subscription, None] = field(factory=dict, init=False)
    _last_number: int = field(default=0, init=False)
    _controls: dict[type, Callable[..., None]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._controls = {
            m.Advertise: self._advertise,
            m.Unadvertise: self._unadvertise,
            m.Subscribe: self._subscribe,
            m.Unsubscribe: self._unsubscribe,
            m.Credit: self._credit,
            m.Flush: self._flush,
            m.Explain: self._explain,
            m.Forget: self._forget_durable,
            m.Ping: lambda ping: self._connection.send(encode(m.Pong(ping.number))),
            m.Pong: lambda _: None,
            m.Fault: lambda fault: self._connection.end(f"client said {fault.code}: {fault.text}"),
        }
        self._exchange.join_lower(self)

    # --- connection ---

    def handle(self, messages: Sequence[object]) -> None:
        """Handle everything that arrived together."""
        size_bytes = place = 0
        while place < len(messages) and not self._connection.is_ended:
            message = messages[place]
            if type(message) is m.Publication:
                count, run_bytes = self._take_run(message, islice(messages, place, None))
                size_bytes += run_bytes
                place += count
            else:
                self._controls[type(message)](message)
                place += 1
        self._account(size_bytes)

    def _take_run(self, first: m.Publication, messages: Iterable[object]) -> tuple[int, int]:
        """Take publications of one publisher while they go on; return how many were read and their size."""
        publisher = self._publisher_of(first)
        if publisher is None:
            return 1, len(first.frame)
        identity, matches, sequence = publisher.id, publisher.matches, publisher.taken
        run: list[m.Publication] = []
        other: m.Publication | None = None
        for message in messages:
            if type(message) is not m.Publication or message.publisher != identity:
                break
            if message.sequence != sequence + 1 or not matches(message.attributes):
                other = message
                break
            sequence += 1
            run.append(message)
        publisher.taken = sequence
        if run:
            self._publish(publisher, run)
        size_bytes = sum([len(each.frame) for each in run])
        if other is None:
            return len(run), size_bytes
        self._overlook(publisher, other)
        return len(run) + 1, size_bytes + len(other.frame)

    def _account(self, size_bytes: int) -> None:
        batch = None
        if size_bytes:
            batch = Batch(self.window, size_bytes)
            if not self.window.receive(size_bytes):
                self._fault("credit", "more bytes of publications were sent than granted")
        self._exchange.settle(batch)

    def pump(self) -> None:
        """The outbox has room again: let every subscription that waited send in turn."""
        for subscription in list(self._backlog):
            # Whoever still has something to send goes to the end, behind those that had no turn.
            del self._backlog[subscription]
            subscription.pump()

    def grant(self) -> None:
        """Return credit to the client if there is enough to return."""
        if self._exchange.is_withholding or self._exchange.is_closing:
            return
        size_bytes = self.window.grant()
        if size_bytes:
            self._connection.send(encode(m.Grant(size_bytes)))

    def lost(self, reason: str) -> None:
        """Withdraw everything the client had."""
        for publisher in list(self._publishers.values()):
            self._forget(publisher)
            self._retired.retire(publisher.id, Retired(self.name, self.user.name, publisher.taken))
            self._exchange.core.unadvertise(publisher.id)
        for subscription in list(self._subscriptions.values()):
            subscription.withdraw()
        self._exchange.leave_lower(self)
        self.window.close()
        self._exchange.settle()
        _log.info("client left", client=self.name, peer=self._connection.peer, reason=reason)

    def abandon(self, reason: str) -> None:
        """Withdraw everything now and close the connection."""
        self._connection.end_now(reason)

    def _fault(self, code: str, text: str) -> None:
        _log.warning("client refused", client=self.name, peer=self._connection.peer, code=code, text=text)
        self._exchange.totals.refused += 1
        self._connection.end(f"{code}: {text}", fault_of(code, text))

    # --- publications ---

    def _publish(self, publisher: LocalPublisher, run: Sequence[m.Publication]) -> None:
        started_s = perf_counter()
        self._exchange.core.publish(publisher.id, run)
        self._exchange.timed(started_s, len(run), run[-1])

    def _publisher_of(self, publication: m.Publication) -> LocalPublisher | None:
        """Whose publication this is; None for one of a publisher that was ended while it was on its way."""
        publisher = self._publishers.get(publication.publisher)
        if publisher is not None and publisher.is_open:
            return publisher
        if publisher is not None:
            self._fault("unexpected", f"{publisher.id} published before its advertisement was acknowledged")
        elif publication.publisher not in self._ended_publishers:
            self._fault("unexpected", f"{publication.publisher} is no publisher of this connection")
        return None

    def _overlook(self, publisher: LocalPublisher, publication: m.Publication) -> None:
        """Handle a publication that cannot simply be taken."""
        sequence = publication.sequence
        if sequence <= publisher.taken:
            return
        if sequence > publisher.taken + 1:
            self._fault("sequence", f"{publisher.id} published {sequence} after {publisher.taken}")
            return
        text = (
            f"publication {sequence} does not match the advertisement {publisher.filter}: "
            f"{publisher.filter.failing(publication.attributes)}"
        )
        self._end_publisher(publisher, "not-advertised", text)

    def _end_publisher(self, publisher: LocalPublisher, code: str, text: str) -> None:
        self._forget(publisher)
        self._exchange.core.unadvertise(publisher.id)
        self._ended_publishers.add(publisher.id)
        self._exchange.totals.refused += 1
        self._connection.send(encode(m.Ended(publisher.number, code, fault_of(code, text).text)))

    def _forget(self, publisher: LocalPublisher) -> None:
        del self._publishers[publisher.id]
        del self._publisher_numbers[publisher.number]
        del self._exchange.publishers[publisher.id]

    # --- requests ---

    def _refuse(self, number: int, code: str, text: str) -> None:
        self._exchange.totals.refused += 1
        _log.info("request refused", client=self.name, code=code, text=text)
        self._connection.send(encode(m.Refused(number, code, fault_of(code, text).text)))

    def _is_next(self, number: int) -> bool:
        """Requests are numbered from 1, all kinds together; so an answer says what it answers."""
        if number == self._last_number + 1:
            self._last_number = number
            return True
        self._fault("unexpected", f"request {number} came after request {self._last_number}")
        return False

    def _wanted(self, number: int, verb: str, text: str) -> Filter | None:
        """The filter of a request that may be served, or None after it has been refused."""
        if len(self._publishers) + len(self._subscriptions) >= REQUESTS_MAX:
            self._refuse(number, "too-many", f"a connection has at most {REQUESTS_MAX} requests at a time")
            return None
        if self._exchange.is_closing:
            self._refuse(number, "closing", "the broker is shutting down")
            return None
        try:
            wanted = parse(text)
        except FilterError as error:
            self._refuse(number, "filter", str(error))
            return None
        objection = self.user.objection(verb, wanted)
        if objection is not None:
            self._refuse(number, "not-allowed", objection)
            return None
        return wanted

    def _advertise(self, request: m.Advertise) -> None:
        if not self._is_next(request.number):
            return
        wanted = self._wanted(request.number, "advertise", request.filter)
        if wanted is None:
            return
        taken = self._resumed(request.resume) if request.resume else None
        identity = request.resume if taken is not None else self._exchange.mint(self.name)
        publisher = LocalPublisher(identity, request.number, wanted, taken or 0, self)
        self._publishers[identity] = self._publisher_numbers[request.number] = publisher
        self._exchange.publishers[identity] = publisher
        self._exchange.core.advertise(identity, wanted)
        self.window.join()
        self.grant()

    def _resumed(self, publisher: str) -> int | None:
        """How far the publisher that is to go on had come, or None if it is not known as this client's."""
        open_one = self._exchange.publishers.get(publisher)
        if open_one is not None and open_one.is_of(self.name, self.user.name):
            # Its old connection is broken, and nobody has noticed here yet.
            open_one.abandon("its client has come back on another connection")
        return self._retired.resume(publisher, self.name, self.user.name)

    def advertised(self, publisher: LocalPublisher) -> None:
        """The publisher's barrier is passed."""
        self._connection.send(encode(m.Advertised(publisher.number, publisher.id, publisher.taken)))

    def _unadvertise(self, request: m.Unadvertise) -> None:
        publisher = self._publisher_numbers.get(request.number)
        if publisher is not None:
            self._forget(publisher)
            self._exchange.core.unadvertise(publisher.id)

    def _subscribe(self, request: m.Subscribe) -> None:
        if not self._is_next(request.number):
            return
        wanted = self._wanted(request.number, "subscribe", request.filter)
        if wanted is None:
            return
        if request.durable:
            self._refuse(request.number, "not-kept", "this broker keeps no durable subscriptions")
            return
        identity = self._exchange.mint(self.name)
        self._connection.send(encode(m.Placed(request.number, identity, 0, goes_on=False)))
        hop = self._exchange.core.subscribe(identity, wanted, ordered=request.ordered)
        bound_bytes = min(max(request.bound_bytes, BOUND_BYTES_MIN), BOUND_BYTES_MAX)
        subscription = Subscription(
            identity,
            hop,
            SubscriptionQueue(request.number, bound_bytes, request.policy, request.credit),
            Pace(bound_bytes),
            self._connection,
            self._exchange,
            self._subscriptions,
            self._backlog,
        )
        self._subscriptions[request.number] = subscription
        self._exchange.subscribers[identity] = subscription
        self._exchange.sinks[hop] = subscription

    def _unsubscribe(self, request: m.Unsubscribe) -> None:
        subscription = self._subscriptions.get(request.number)
        if subscription is not None:
            subscription.withdraw()

    def _credit(self, credit: m.Credit) -> None:
        subscription = self._subscriptions.get(credit.number)
        if subscription is None:
            return
        subscription.queue.credit += credit.count
        if subscription.queue.credit > CREDIT_MAX:
            self._fault("credit", f"subscription {credit.number} was given more than {CREDIT_MAX} deliveries")
            return
        subscription.pump()

    def _forget_durable(self, request: m.Forget) -> None:
        if self._is_next(request.number):
            self._refuse(request.number, "unknown", f"there is no durable subscription {request.durable!r}")

    def _flush(self, request: m.Flush) -> None:
        """Everything before it has been handed to the core, by the order in which messages are handled."""
        if self._is_next(request.number):
            self._connection.send(encode(m.Flushed(request.number)))

    def _explain(self, request: m.Explain) -> None:
        """Say what waits here, or ask the overlay for the way of one publication."""
        if not self._is_next(request.number):
            return
        core = self._exchange.core
        if request.about == "durable":
            self._connection.send(encode(m.Explained(request.number, ())))
            return
        if request.about == "uplinks":
            uplink = core.uplink.name if core.uplink is not None else None
            line = describe_search(self._exchange.search, core.roster, uplink, core.below)
            self._connection.send(encode(m.Explained(request.number, (line,))))
            return
        if not request.publisher:
            self._connection.send(encode(m.Explained(request.number, tuple(core.explain_waiting()))))
            return
        question = self._exchange.question(
            lambda steps: self._connection.send(encode(m.Explained(request.number, steps)))
        )
        core.explain_way(question, request.publisher, request.sequence)
