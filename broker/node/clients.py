"""A client's session: its publishers, its subscriptions, and its permissions.

Laws:

1. Messages that arrived together are handled in one step, in its order: runs of publications of one
   publisher go to the core in one call, and the core's effects are carried out once, at the end.
2. Credit is accounted for every publication that was read, taken or not.
3. When a client leaves, or breaks the protocol, its publishers and subscriptions are withdrawn. When its
   connection is lost, they wait for the client to resume them over another one.
4. A client resumes its publishers and subscriptions one after the other, each from a position. It names a
   durable subscription by its durable name, and every other by its id.
5. Notifications that follow from requests of other clients, and answers longer than a page, wait until the
   outbox has room, and only the newest is kept: a client that does not read fills no more than its outbox.
"""

from collections.abc import Callable, Sequence
from typing import Final, cast

from attrs import define, field

from broker import messages as m
from broker.discovery_messages import Discover, Undiscover
from broker.filters import Filter, FilterError, parse
from broker.interest_messages import FollowInterest
from broker.move_messages import Move
from broker.node.access import User
from broker.node.answers import Later, lines_about, pages_of
from broker.node.budget import Account, Resource
from broker.node.connection import Connection, fault_of
from broker.node.credit import CreditBatch, CreditWindow
from broker.node.discovery import Discovery
from broker.node.exchange import Exchange
from broker.node.overlay_questions import OverlayQuestions
from broker.node.publishers import LocalPublisher
from broker.node.queues import SubscriptionQueue
from broker.node.replaying import objection_to, past_of
from broker.node.starts import StartPosition, start_of, terms_of
from broker.node.subscriptions import CREDIT_MAX, LocalSubscription
from broker.station import SubscriptionTerms
from broker.wire import encode, going_on

ENDED_KEPT: Final = 1024
"""Ended publishers of a connection that are remembered: what they published is still on its way."""

CONTROL_UNITS: Final = 10
"""The cost of a request, in publications: about as much time as ten of them."""

UNIT_STEPS: Final = 10
"""So many steps of reading a filter (`broker.filters.limits`) cost as much as a publication; half of it is
for the tables that it goes into."""

EXPLAIN_UNITS: Final = 1000
"""The cost of an explanation: it reads all pending publications."""

_CHANGES: Final = frozenset({m.Advertise, Discover, m.Subscribe})
"""Requests that reach other brokers, there and when they end, or read all that these have advertised."""

_FROM_NOW_ON: Final = m.Advertise | m.Subscribe | Discover | FollowInterest
"""Requests that begin something."""

_NO_ROOM: Final = "was not taken: the disk of the broker's journal is full; try again when there is room"
_REPLACED: Final = "its client has come back on another connection"


@define(eq=False)
class ClientSession:
    """The publishers and subscriptions of one client, by the numbers of its requests."""

    name: str
    user: User
    window: CreditWindow
    connection: Connection
    _exchange: Exchange
    _link_timeout_s: float
    backlog: dict[LocalSubscription, None] = field(factory=dict, init=False)
    _publishers: dict[str, LocalPublisher] = field(factory=dict, init=False)
    _publisher_numbers: dict[int, LocalPublisher] = field(factory=dict, init=False)
    _ended_publishers: dict[str, None] = field(factory=dict, init=False)
    _subscriptions: dict[int, LocalSubscription] = field(factory=dict, init=False)
    _last_number: int = field(default=0, init=False)
    _has_left: bool = field(default=False, init=False)
    _account: Account = field(init=False)
    _replaying: dict[LocalSubscription, None] = field(factory=dict, init=False)
    notices: Later = field(init=False)
    _overlay: OverlayQuestions = field(init=False)
    _discovery: Discovery = field(init=False)
    _units: int = field(default=0, init=False)
    _label: str = field(init=False)
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
            Discover: self._discover,
            Undiscover: lambda request: self._discovery.end(request.number),
            m.Forget: self._forget_durable,
            Move: self._move,
            FollowInterest: self._follow_interest,
            m.Ping: lambda ping: self.connection.send_free(encode(m.Pong(ping.number))),
            m.Pong: lambda _: None,
            m.Fault: self._leave,
        }
        self._exchange.join_lower(self)
        self._account = self._exchange.budgets.connection()
        self.notices = Later(self.connection, self._exchange.config.limits.outbox_bytes)
        self._overlay = OverlayQuestions(self.connection, self._exchange, self._account, self._refuse)
        self._discovery = Discovery(self._exchange, self.user, self._account, self.notices)
        self._of_user.charge(Resource.CONNECTIONS)
        # Ids are public: where users are known, no client can put the name of another user into them.
        self._label = f"{self.user.name}/{self.name}" if self.user.name else self.name

    # --- connection ---

    def handle(self, messages: Sequence[object]) -> int:
        """Handle messages that arrived together; return how many the step had time for."""
        size_bytes = index = 0
        connection, exchange = self.connection, self._exchange
        if self.notices.is_pending:
            self.notices.go_on()
        self._units, now_s = exchange.config.limits.step_units, exchange.timers.now_s
        while index < len(messages) and self._units > 0:
            if connection.not_before_s > now_s or connection.is_ended:
                break
            message = messages[index]
            if type(message) is m.Publication:
                count, run_bytes = self._take_run(message, messages, index)
                size_bytes += run_bytes
                index += count
            else:
                self._units -= 1 if type(message) is m.Pong else CONTROL_UNITS
                self._handle_control(message)
                if type(message) in _CHANGES:
                    self._rest()
                index += 1
        batch = None
        if size_bytes:
            batch = CreditBatch(self.window, size_bytes)
            if not self.window.receive(size_bytes):
                self._fault("credit", "more bytes of publications were sent than granted")
        exchange.settle(batch)
        return len(messages) if connection.is_ended else index

    def _rest(self) -> None:
        """Pause this client if it, or its user, has exceeded its rate of requests."""
        now_s, of_user = self._exchange.now_s, self._of_user
        rest_s = max(account.changes.take(now_s) for account in (self._account, of_user) if account.changes)
        if rest_s:
            self._exchange.totals.rested += 1
            self.connection.not_before_s = now_s + rest_s

    @property
    def _of_user(self) -> Account:
        return self._exchange.budgets.user(self.user.name)

    def _handle_control(self, message: object) -> None:
        """Handle a request; a defect before anything was recorded ends this connection alone.

        What a lost connection asks for is overlooked. Handled late, it would take from a newer connection of
        the same client what that has resumed.
        """
        if self.connection.is_gone and isinstance(message, _FROM_NOW_ON):
            self._is_next(message.number)
            return
        touched = self._exchange.station.touched
        try:
            self._controls[type(message)](message)
        except Exception as error:
            if self._exchange.station.touched != touched:
                raise
            self._exchange.contain(self.connection, error)

    def _take_run(self, first: m.Publication, messages: Sequence[object], start: int) -> tuple[int, int]:
        """Take publications of one publisher while they go on; return how many were read and their size."""
        publisher = self._publishers.get(first.publisher)
        if publisher is None or not publisher.state.is_open or self._exchange.is_full:
            self._overlook_all(publisher, first)
            return 1, len(first.frame)
        state = publisher.state
        count, size_bytes = going_on(messages, start, state.id, state.taken, publisher.matches)
        if not count:
            self._units -= 1
            self._overlook(publisher, first)
            return 1, len(first.frame)
        run = cast("Sequence[m.Publication]", messages[start : start + count])
        self._units -= count
        self._exchange.totals.publications_in += count
        self._exchange.last_publication = run[-1]
        self._exchange.station.publish(state.id, run)
        return count, size_bytes

    def pump(self) -> None:
        """Fill the outbox: send pending answers first, then let every subscription send in turn."""
        if self.notices.is_pending:
            self.notices.go_on()
        for subscription in list(self.backlog):
            # A subscription with more to send goes to the end, behind those that had no turn.
            del self.backlog[subscription]
            subscription.pump()

    def grant(self) -> None:
        """Return credit to the client if there is enough to return."""
        if self._exchange.is_withholding or self._exchange.is_closing or not self._exchange.may_grant():
            return
        size_bytes = self.window.grant()
        if size_bytes:
            self.connection.send_free(encode(m.Grant(size_bytes)))

    def lost(self, reason: str) -> None:
        """Start the timeouts of all publishers and subscriptions, or withdraw them.

        A client that is lost while the broker shuts down may not know what was taken over: its publishers are
        lost with the broker, not withdrawn, so that what it publishes again comes behind a gap.
        """
        may_resume = not self._has_left and not self.connection.is_malformed
        publishers = list(self._publishers.values())
        subscriptions = list(self._subscriptions.values())
        self._publishers.clear()
        self._publisher_numbers.clear()
        self._subscriptions.clear()
        for publisher in publishers:
            if may_resume:
                publisher.detach()
            else:
                publisher.withdraw()
        for subscription in subscriptions:
            if (may_resume and self._exchange.is_kept) or subscription.state.terms.durable:
                subscription.detach()
            else:
                subscription.withdraw()
        self._overlay.forget()
        self._discovery.end_all()
        self._of_user.release(Resource.CONNECTIONS)
        self._exchange.leave_lower(self)
        self.window.close()
        self._exchange.settle()
        self._exchange.log.info("client left", client=self.name, peer=self.connection.peer, reason=reason)

    def abandon(self, reason: str) -> None:
        """End the connection now; publishers and subscriptions stay."""
        self.connection.end_now(reason)

    def _leave(self, fault: m.Fault) -> None:
        """End the session of a client that leaves."""
        self._has_left = True
        self.connection.end(f"client said {fault.code}: {fault.text}")

    def _fault(self, code: str, text: str) -> None:
        self._exchange.log.warning(
            "client refused", client=self.name, peer=self.connection.peer, code=code, text=text
        )
        self._exchange.totals.refused += 1
        self._has_left = True
        self.connection.end(f"{code}: {text}", fault_of(code, text))

    # --- publications ---

    def _overlook_all(self, publisher: LocalPublisher | None, publication: m.Publication) -> None:
        """Handle a publication of a publisher that may not publish; it may have ended meanwhile."""
        if publisher is None:
            if publication.publisher not in self._ended_publishers:
                self._fault("unexpected", f"{publication.publisher} is no publisher of this connection")
        elif publisher.is_open:
            self._end_publisher(publisher, "no-room", f"publication {publication.sequence} {_NO_ROOM}")
        else:
            self._fault("unexpected", f"{publisher.id} published before its advertisement was acknowledged")

    def _overlook(self, publisher: LocalPublisher, publication: m.Publication) -> None:
        """Handle a publication that is not the next matching one."""
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
        self._withdraw(publisher)
        self._ended_publishers[publisher.id] = None
        if len(self._ended_publishers) > ENDED_KEPT:
            del self._ended_publishers[next(iter(self._ended_publishers))]
        self._exchange.totals.refused += 1
        self.connection.send(encode(m.Ended(publisher.number, code, fault_of(code, text).text)))

    def _withdraw(self, publisher: LocalPublisher) -> None:
        del self._publishers[publisher.id]
        del self._publisher_numbers[publisher.number]
        self._account.release(Resource.REQUESTS)
        self._account.release(Resource.FILTER_BYTES, publisher.filter_bytes + publisher.followed_bytes)
        publisher.withdraw()

    # --- requests ---

    def _refuse(self, number: int, code: str, text: str) -> None:
        self._exchange.totals.refused += 1
        self._exchange.log.info("request refused", client=self.name, code=code, text=text)
        self.connection.send(encode(m.Refused(number, code, fault_of(code, text).text)))

    def _is_next(self, number: int) -> bool:
        """Check a request's number: all kinds together are numbered from 1, and answers refer to that."""
        if number == self._last_number + 1:
            self._last_number = number
            return True
        self._fault("unexpected", f"request {number} came after request {self._last_number}")
        return False

    def _wanted(self, number: int, verb: str, text: str) -> Filter | None:
        """Return the filter of a request that may be served, or None after refusing it.

        What costs nothing is looked at first: who has no right or no room makes nobody read its filter.
        """
        if not self._is_next(number):
            return None
        if (refusal := self._refusal(verb, len(text))) is not None:
            self._refuse(number, *refusal)
            return None
        try:
            wanted = parse(text)
        except FilterError as error:
            self._units -= error.cost // UNIT_STEPS
            self._refuse(number, "filter", str(error))
            return None
        self._units -= wanted.cost // UNIT_STEPS
        if (objection := self.user.objection(verb, wanted)) is not None:
            self._refuse(number, "not-allowed", objection)
            return None
        return wanted

    def _refusal(self, verb: str, size_bytes: int) -> tuple[str, str] | None:
        """Return why a filter of this size is refused before it is read, as a code and a text, or None."""
        if self._exchange.is_closing:
            return "closing", "the broker is shutting down"
        if self._exchange.is_full:
            return "no-room", f"the request {_NO_ROOM}"
        if not self.user.may(verb):
            return "not-allowed", f"user {self.user.name!r} may not {verb} at all"
        for account in (self._account, self._of_user):
            text = account.refusal(Resource.REQUESTS) or account.refusal(Resource.FILTER_BYTES, size_bytes)
            if text:
                return "too-many", text
        return None

    def _advertise(self, request: m.Advertise) -> None:
        wanted = self._wanted(request.number, "advertise", request.filter)
        if wanted is None:
            return
        publisher = self._resumed(request.resume, wanted) if request.resume else None
        if publisher is None:
            publisher = self._advertised_anew(request.resume, wanted)
        self._units -= len(self._exchange.watches)  # Each is compared with it, and may be notified.
        self._publishers[publisher.id] = self._publisher_numbers[request.number] = publisher
        self._account.charge(Resource.REQUESTS)
        self._account.charge(Resource.FILTER_BYTES, publisher.filter_bytes)
        publisher.attach(self, request.number)
        self.window.join()
        self.grant()

    def _resumed(self, identity: str, wanted: Filter) -> LocalPublisher | None:
        """Return the publisher of that id, if it is this client's and advertises the same."""
        known = self._exchange.publishers.get(identity)
        if known is None or not known.is_of(self.name, self.user.name):
            return None
        if known.owner is self:
            # The publisher could never be ended: this connection has it under another number.
            self._end_publisher(
                known, "resumed", "this connection has resumed the publisher under another number"
            )
            del self._ended_publishers[identity]
            return None
        if known.owner is not None:
            # Its old connection is broken, and this broker has not detected it yet.
            known.owner.abandon(_REPLACED)
        known = self._exchange.publishers.get(identity)
        if known is not None and known.filter != wanted:
            known.withdraw()
            return None
        return known

    def _advertised_anew(self, resume: str, wanted: Filter) -> LocalPublisher:
        """Advertise, under the id of a publisher that was withdrawn if this client had it."""
        station, client, user = self._exchange.station, self.name, self.user.name
        is_known = bool(resume) and station.resumable(resume, client, user) is not None
        identity = resume if is_known else station.mint(self._label)
        station.advertise(identity, wanted, client=client, user=user)
        return LocalPublisher(station.publishers[identity], self._exchange, self._link_timeout_s)

    def advertised(self, publisher: LocalPublisher) -> None:
        """Answer the advertisement: the publisher's barrier is passed."""
        answer = m.Advertised(publisher.number, publisher.id, publisher.taken, publisher.is_wanted)
        self.connection.send(encode(answer))

    def _follow_interest(self, request: FollowInterest) -> None:
        """Notify the client from now on of the filters that overlap the advertisement of a publisher."""
        publisher = self._publisher_numbers.get(request.publisher)
        if not self._is_next(request.number):
            return
        if publisher is None:
            self._refuse(request.number, "unknown", f"there is no publisher {request.publisher}")
        elif refusal := publisher.refusal_to_follow(self.user, (self._account, self._of_user)):
            self._refuse(request.number, *refusal)
        else:
            publisher.follow(request.number)
            self._account.charge(Resource.FILTER_BYTES, publisher.followed_bytes)

    def _unadvertise(self, request: m.Unadvertise) -> None:
        if (publisher := self._publisher_numbers.get(request.number)) is not None:
            self._units -= len(self._exchange.watches)
            self._withdraw(publisher)

    def _subscribe(self, request: m.Subscribe) -> None:
        wanted = self._wanted(request.number, "subscribe", request.filter)
        if wanted is None:
            return
        if request.replay and (objection := objection_to(request)):
            self._refuse(request.number, "replay", objection)
            return
        terms, known = terms_of(request, wanted, self.name, self.user.name), self._known(request)
        if known is None:
            self._subscribe_anew(request, terms)
            return
        before = known.state.terms
        if (before.filter, before.ordered) != (terms.filter, terms.ordered):
            text = f"the subscription has another filter or order: {before.filter}; forget it first"
            self._refuse(request.number, "another-filter", text)
        elif known.has_newer_reader(self.connection):
            self.connection.end(_REPLACED, fault_of("replaced", _REPLACED))
        else:
            known.taken_over()
            self._go_on(request, terms, known, start_of(request, known.state))

    def _known(self, request: m.Subscribe) -> LocalSubscription | None:
        """Return the subscription to resume, by its durable name or by its id, or None."""
        if request.durable:
            state = self._exchange.station.durable(self.user.name, self.name, request.durable)
            return None if state is None else self._exchange.subscribers[state.id]
        known = self._exchange.subscribers.get(request.resume)
        is_mine = (
            known is not None and not known.state.terms.durable and known.is_of(self.name, self.user.name)
        )
        return known if is_mine else None

    def _subscribe_anew(self, request: m.Subscribe, terms: SubscriptionTerms) -> None:
        exchange, station = self._exchange, self._exchange.station
        if refusal := self._refusal_of_new(request):
            self._refuse(request.number, "too-many", refusal)
            return
        identity = station.mint(self._label)
        past = past_of(request, exchange.replaying.wall_ns()) if request.replay else ()
        station.subscribe(identity, terms, past)
        known = LocalSubscription(station.subscriptions[identity], exchange, self._link_timeout_s)
        if request.replay:
            self._replaying[known] = None
        self._go_on(request, terms, known, StartPosition(0, 0, goes_on=False))

    def _refusal_of_new(self, request: m.Subscribe) -> str:
        """Return why one more subscription that is durable or asks for a replay is refused, or ""."""
        if request.durable and (text := self._of_user.refusal(Resource.DURABLE)):
            return text
        return self._refusal_of_replay() if request.replay else ""

    def _refusal_of_replay(self) -> str:
        """Return why one more replay is refused now, or ""."""
        limits, replays = self._exchange.config.limits, self._exchange.core.replays
        open_here = [each for each in self._replaying if replays.is_replaying(each.hop)]
        self._replaying = dict.fromkeys(open_here)
        if len(open_here) >= limits.replays:
            return f"a connection has at most {limits.replays} open replays at a time"
        if not replays.can_replay or replays.playing_count >= limits.broker_replays:
            return "this broker plays as many pasts as it can: ask again when some have been played"
        return ""

    def _go_on(
        self,
        request: m.Subscribe,
        terms: SubscriptionTerms,
        subscription: LocalSubscription,
        start: StartPosition,
    ) -> None:
        """Resume a subscription on this connection from its start position."""
        number = request.number
        self.connection.send(encode(m.Placed(number, subscription.id, start.position, start.goes_on)))
        if start.missing_count:
            self.connection.send(encode(m.Gap(number, start.missing_count, "taken")))
        if start.is_had:
            self._exchange.station.taken(subscription.id, start.position)
        queue = SubscriptionQueue(number, terms.bound_bytes, terms.policy, min(request.credit, CREDIT_MAX))
        self._subscriptions[number] = subscription
        self._account.charge(Resource.REQUESTS)
        self._account.charge(Resource.FILTER_BYTES, subscription.filter_bytes)
        subscription.attach(self, queue, start.position + start.missing_count)

    def let_go(self, number: int) -> None:
        """Forget the subscription of that number: another connection has it."""
        if (subscription := self._subscriptions.pop(number, None)) is not None:
            self._account.release(Resource.REQUESTS)
            self._account.release(Resource.FILTER_BYTES, subscription.filter_bytes)

    def _unsubscribe(self, request: m.Unsubscribe) -> None:
        if (subscription := self._subscriptions.get(request.number)) is None:
            return
        if subscription.state.terms.durable:
            self.let_go(request.number)
            subscription.detach()
        else:
            subscription.withdraw()

    def _credit(self, credit: m.Credit) -> None:
        if (subscription := self._subscriptions.get(credit.number)) is None:
            return
        if objection := subscription.credited(credit.count, credit.taken):
            self._fault("credit", f"subscription {credit.number}: {objection}")
            return
        subscription.pump()

    def _forget_durable(self, request: m.Forget) -> None:
        if not self._is_next(request.number):
            return
        state = self._exchange.station.durable(self.user.name, self.name, request.durable)
        if state is None:
            text = f"{self.name!r} has no durable subscription {request.durable!r} here"
            self._refuse(request.number, "unknown", text)
            return
        subscription = self._exchange.subscribers[state.id]
        subscription.end(m.Ended(subscription.queue.number, "forgotten", "the subscription was forgotten"))
        self.connection.send(encode(m.Forgotten(request.number)))

    def _flush(self, request: m.Flush) -> None:
        """Answer a flush: all messages before it have been handled, in their order."""
        if self._is_next(request.number):
            self.connection.send(encode(m.Flushed(request.number)))

    def _explain(self, request: m.Explain) -> None:
        """Answer which publications are pending here, or ask all that the publication has reached."""
        if not self._is_next(request.number):
            return
        # Filters are what others look for: only who may move brokers sees them.
        verb = "administer" if request.about == "traffic" else "explain"
        if request.about != "durable" and not self.user.may(verb):
            text = f"user {self.user.name!r} may not ask what goes on at the broker"
            self._refuse(request.number, "not-allowed", text)
            return
        self._units -= EXPLAIN_UNITS
        if request.publisher and request.about not in {"durable", "uplinks", "brokers", "traffic"}:
            station, publisher, sequence = self._exchange.station, request.publisher, request.sequence
            self._overlay.ask(
                request.number, lambda question: station.explain_way(question, publisher, sequence)
            )
        else:
            lines = lines_about(request.about, self._exchange, self.name, self.user.name)
            self.notices.say(pages_of(request.number, lines))

    def _discover(self, request: Discover) -> None:
        """Begin to show what is on offer."""
        content = self._wanted(request.number, "discover", request.filter)
        if content is None:
            return
        if refusal := self._discovery.refusal():
            self._refuse(request.number, "too-many", refusal)
            return
        self._units -= EXPLAIN_UNITS
        self._discovery.begin(request.number, content)

    def _move(self, request: Move) -> None:
        """Ask a broker of the overlay to move; it answers how that goes."""
        if not self._is_next(request.number):
            return
        if not self.user.may("administer"):
            text = f"user {self.user.name!r} may not move brokers"
            self._refuse(request.number, "not-allowed", text)
            return
        station = self._exchange.station
        self._overlay.ask(
            request.number,
            lambda question: station.move(question, request.broker, request.uplink, request.method),
        )
