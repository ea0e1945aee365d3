"""The client's side of the protocol over all its connections: requests and answers. No I/O.

Laws:

* A request is an intent (`Source`, `Inbox`) that outlives connections: it is sent again on each, under a new
  number. Numbers count from 1 on every connection, over all kinds of requests.
* After a reconnection no publication leaves before the broker has stated the last sequence number that it
   took from every publisher with publications in the window.
* A subscription resumes on each connection behind its last arrived position. Only if the broker does not know
  it any more, it has a gap of unknown size there.
* A message for a request that has been withdrawn meanwhile is dropped: its answer was on the way.
"""

from attrs import define, field

from broker import messages as m
from broker.client.endings import CLOSING, LEFT, reason_of
from broker.client.inbox import Inbox
from broker.client.interest import FollowedInterest
from broker.client.life import Phase
from broker.client.limits import Limits
from broker.client.offers import Offers
from broker.client.questions import BROKERS, Asked, Forgetting, Moving, Question
from broker.client.seen import SeenEvents
from broker.client.window import PendingFlush, SendWindow, Source
from broker.discovery_messages import Discovered, Undiscover
from broker.errors import BrokerFaultError
from broker.interest_messages import InterestListed
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, DeliveredBatch, Peer, WireError, encode

Request = Source | Inbox | PendingFlush | FollowedInterest | Offers | Asked


@define(eq=False)
class Session:
    """One client. `receive` and `take` are for the machine, the other methods are for the user's calls.

    `touched` holds the inboxes that got something since it was last cleared, `is_changed` says that anything
    else did change.
    """

    name: str
    incarnation: str
    token: str
    limits: Limits
    window: SendWindow = field(init=False)
    welcome: m.Welcome | None = None
    roams: bool = False
    """Whether this client may go to another broker: its subscriptions know what they have had."""
    learns: bool = False
    home: str = ""
    """Where the broker is found again, if the address that was dialled is not its own."""
    learned: tuple[str, ...] = ()
    """Where the brokers of the overlay are, if this client is to learn that."""
    touched: list[Inbox] = field(factory=list)
    is_changed: bool = False
    _sources: list[Source] = field(factory=list)
    _followed: dict[Source, FollowedInterest] = field(factory=dict)
    _inboxes: list[Inbox] = field(factory=list)
    _offers: list[Offers] = field(factory=list)
    _questions: list[Asked] = field(factory=list)
    _requests: dict[int, Request] = field(factory=dict)
    _requested_count: int = 0
    _awaited: set[int] = field(factory=set)
    _controls: list[bytes] = field(factory=list)
    _decoder: Decoder = field(factory=lambda: Decoder(DEFAULT_LIMITS, Peer.SERVER))

    def __attrs_post_init__(self) -> None:
        self.window = SendWindow(self.limits)

    # --- connections ---

    def connect(self) -> None:
        """Send the Hello on a new connection. Nothing else is sent before the answer."""
        self._decoder = Decoder(DEFAULT_LIMITS, Peer.SERVER)
        self._requests.clear()
        self._requested_count = 0
        self._controls = [encode(m.Hello(VERSION, "client", self.name, self.incarnation, "", self.token))]

    def disconnect(self) -> None:
        """Forget the connection, and the requests that were sent on it."""
        self.welcome = None
        self._controls = []
        self._awaited.clear()
        self.window.rewind()
        self.is_changed = True

    @property
    def has_output(self) -> bool:
        """Whether there may be something to write."""
        return bool(self._controls) or self.window.has_unsent

    def take(self) -> bytes:
        """Return the bytes to write now; none if there are none, or if they have to wait for credit."""
        chunks, self._controls = self._controls, []
        if self.welcome is not None and not self._awaited:
            for item in self.window.take(self.limits.write_bytes):
                if isinstance(item, PendingFlush):
                    chunks.append(encode(m.Flush(self._number(item))))
                else:
                    chunks += item
        return b"".join(chunks)

    def receive(self, received: bytes | bytearray, now_s: float) -> None:
        """Take what was read. Raises `BrokerFaultError` if the broker closes, or breaks the protocol."""
        refusal: WireError | None = None
        try:
            items = self._decoder.feed(received)
        except WireError as error:
            items, refusal = error.messages, error
        for item in items:
            if type(item) is DeliveredBatch:
                self._deliver(item)
            else:
                self._handle(item, now_s)
        if refusal is not None:
            text = f"the broker sent what it must not send: {refusal.text}"
            raise BrokerFaultError(text, refusal.code) from refusal

    def leave(self) -> None:
        """Send the goodbye as the last message: this client withdraws everything."""
        if self.welcome is not None:
            self._controls.append(encode(m.Fault(LEFT, "the client has left")))
            self.welcome = None

    def ping(self, number: int) -> None:
        """Send a ping."""
        self._controls.append(encode(m.Ping(number)))

    def send_keepalive(self) -> None:
        """Send a pong, as a sign of life that needs no answer."""
        self._controls.append(encode(m.Pong(0)))

    def _number(self, request: Request) -> int:
        self._requested_count += 1
        self._requests[self._requested_count] = request
        return self._requested_count

    # --- what the user asks for ---

    def advertise(self, text: str, resume: str = "") -> Source:
        """Request a publisher, or one that an earlier client had; it may publish when it is open."""
        source = Source(text, resume)
        self._sources.append(source)
        if self.welcome is not None:
            self._ask_source(source)
        return source

    def unadvertise(self, source: Source) -> None:
        """End a publisher when its publications are acknowledged."""
        if source.phase in {Phase.LEAVING, Phase.ENDED}:
            return
        if source.pending_count:
            source.enter(Phase.LEAVING)
            self.window.flush()
        else:
            self._withdraw(source)

    def _withdraw(self, source: Source) -> None:
        source.enter(Phase.ENDED)
        self._sources.remove(source)
        self._followed.pop(source, None)
        if self.welcome is not None:
            del self._requests[source.number]
            self._awaited.discard(source.number)
            self._controls.append(encode(m.Unadvertise(source.number)))

    def follow_interest(self, source: Source) -> FollowedInterest:
        """Return the filters that overlap a publisher's advertisement; ask for them if that was not done."""
        known = self._followed.get(source)
        if known is None:
            known = self._followed[source] = FollowedInterest(source)
            if self.welcome is not None:
                self._ask_interest(known)
        return known

    def followed(self, source: Source) -> FollowedInterest | None:
        """Return the filters that overlap a publisher's advertisement, if the program has asked for them."""
        return self._followed.get(source)

    def flush(self) -> PendingFlush:
        """Return a flush of everything published so far; it `is_done` when all of it is acknowledged."""
        return self.window.flush()

    def subscribe(self, inbox: Inbox, now_s: float) -> None:
        """Request a subscription; all of its gates are open when it is."""
        if self.roams and inbox.seen is None:
            inbox.seen = SeenEvents()
        self._inboxes.append(inbox)
        if self.welcome is not None:
            self._ask_inbox(inbox, now_s)

    def unsubscribe(self, inbox: Inbox) -> None:
        """End a subscription; later deliveries for it are dropped."""
        if inbox.phase is Phase.ENDED:
            return
        if inbox not in self._inboxes:
            inbox.enter(Phase.ENDED)  # It was left before the broker was asked for it.
            return
        self._inboxes.remove(inbox)
        if self.welcome is not None:
            self._confirm_position(inbox)
            del self._requests[inbox.number]
            self._controls.append(encode(m.Unsubscribe(inbox.number)))
        inbox.enter(Phase.ENDED)

    def credit(self, inbox: Inbox, count: int) -> None:
        """Count deliveries that the user has had, and return credit when it is due."""
        self._give_credit(inbox, inbox.consumed(count))

    def acknowledge(self, inbox: Inbox, position: int) -> None:
        """Take the program's acknowledgement of all deliveries up to this position."""
        self._give_credit(inbox, inbox.acknowledge(position))

    def _give_credit(self, inbox: Inbox, credit_count: int) -> None:
        if (credit_count or inbox.owes_confirmation) and self._reaches(inbox):
            inbox.unconfirmed_position()
            self._controls.append(encode(m.Credit(inbox.number, credit_count, inbox.had)))

    def confirm_progress(self) -> None:
        """Confirm the positions of durable subscriptions, which outlive this client."""
        for inbox in self._inboxes:
            if inbox.durable:
                inbox.notice_progress()
                self._confirm_position(inbox)

    def _confirm_position(self, inbox: Inbox) -> None:
        if inbox.durable and self._reaches(inbox) and (had := inbox.unconfirmed_position()) is not None:
            self._controls.append(encode(m.Credit(inbox.number, 0, had)))

    def _reaches(self, inbox: Inbox) -> bool:
        """Return whether the broker knows this subscription by its present number."""
        return self.welcome is not None and inbox.is_placed and inbox.phase is not Phase.ENDED

    def discover(self, offers: Offers) -> None:
        """Request the advertisements on offer, and their changes."""
        self._offers.append(offers)
        if self.welcome is not None:
            self._ask_offers(offers)

    def undiscover(self, offers: Offers) -> None:
        """End a request for advertisements; later changes are dropped."""
        if offers in self._offers:
            self._offers.remove(offers)
            if self.welcome is not None:
                del self._requests[offers.number]
                self._controls.append(encode(Undiscover(offers.number)))

    def ask(self, question: Asked) -> None:
        """Ask a question that is answered once."""
        self._questions.append(question)
        if self.welcome is not None:
            self._ask(question)

    def dismiss(self, question: Asked) -> None:
        """Forget a question."""
        if question in self._questions:
            self._questions.remove(question)

    def _ask(self, question: Asked) -> None:
        self._controls.append(encode(question.ask(self._number(question))))

    def _ask_offers(self, offers: Offers) -> None:
        self._controls.append(encode(offers.ask(self._number(offers))))

    def _ask_source(self, source: Source) -> None:
        """Advertise on this connection; a resumed publisher sends nothing before the answer."""
        source.number = self._number(source)
        if source.id:
            self._awaited.add(source.number)
        self._controls.append(encode(m.Advertise(source.number, source.filter, source.id)))

    def _ask_interest(self, followed: FollowedInterest) -> None:
        self._controls.append(encode(followed.ask(self._number(followed))))

    def _ask_inbox(self, inbox: Inbox, now_s: float) -> None:
        number = self._number(inbox)
        credit_count = inbox.open(number)
        asked = m.Subscribe(
            number,
            inbox.filter,
            inbox.ordered,
            credit_count,
            inbox.bound_bytes,
            inbox.policy,
            inbox.durable,
            inbox.age_s,
            inbox.id or inbox.resume,
            inbox.resume_position,
            inbox.replay(now_s),
        )
        self._controls.append(encode(asked))

    # --- what the broker says ---

    def _deliver(self, batch: DeliveredBatch) -> None:
        """Take deliveries of a subscription; those of one that was left are dropped."""
        inbox = self._requests.get(batch.number)
        if not isinstance(inbox, Inbox):
            return
        if not inbox.is_placed:
            text = "the broker delivered before it had said from where it counts"
            raise BrokerFaultError(text, "unexpected")
        if len(batch.frames) > inbox.outstanding_count:
            raise BrokerFaultError("the broker delivered more than it had credit for", "credit")
        inbox.put(batch.frames, batch.size_bytes)
        if inbox.seen is not None:
            # What was left out gives its credit back at once: nobody takes it.
            self._give_credit(inbox, inbox.credit_due())
        self.touched.append(inbox)

    def _handle(self, message: object, now_s: float) -> None:  # noqa: C901, PLR0912 - one case per message, a line or two each
        match message:
            case m.Grant():
                self.window.credit_bytes += message.size_bytes
            case m.Flushed():
                self._on_flushed(message)
            case m.Gap():
                self._on_gap(message)
            case m.Explained():
                self._on_explained(message)
            case Discovered():
                self._on_discovered(message)
            case m.Ping():
                self._controls.append(encode(m.Pong(message.number)))
            case m.Placed():
                self._on_placed(message)
            case m.Forgotten():
                self._on_forgotten(message)
            case m.Pong():
                pass  # That anything was received is all that counts.
            case m.Advertised():
                self._on_advertised(message)
            case m.Wanted():
                self._on_wanted(message)
            case InterestListed():
                self._on_interest(message)
            case m.Subscribed():
                self._on_subscribed(message)
            case m.Refused() | m.Ended():
                self._end(message.number, message)
            case m.Welcome():
                self._on_welcome(message, now_s)
            case m.ReturnAddress():
                self._on_return_address(message)
            case m.Fault():
                raise BrokerFaultError(f"the broker closed the connection: {message.text}", message.code)
            case _:
                kind = type(message).__name__
                raise BrokerFaultError(f"the broker sent a {kind} to a client", "unexpected")

    def _on_welcome(self, welcome: m.Welcome, now_s: float) -> None:
        self.welcome = welcome
        self.home = ""
        self.is_changed = True
        self.window.credit_bytes = welcome.credit_bytes
        # Subscriptions first: what this client has still to publish may be meant for itself.
        for inbox in self._inboxes:
            self._ask_inbox(inbox, now_s)
        for source in self._sources:
            self._ask_source(source)
        for offers in self._offers:
            self._ask_offers(offers)
        for followed in self._followed.values():
            self._ask_interest(followed)
        for question in self._questions:
            self._ask(question)
        if self.learns:
            self._ask(Question("", 0, BROKERS))

    def _on_return_address(self, message: m.ReturnAddress) -> None:
        """The address that was dialled may lead to another broker next time."""
        self.home = message.address
        self.roams = True
        for inbox in self._inboxes:
            inbox.seen = inbox.seen or SeenEvents()

    def _on_explained(self, answer: m.Explained) -> None:
        question = self._requests.get(answer.number)
        if not isinstance(question, Question | Moving):
            return
        question.put(answer)
        if question.is_answered:
            del self._requests[answer.number]
            self.dismiss(question)
            if self.learns and isinstance(question, Question) and question.about == BROKERS:
                self.learned = question.addresses()
            self.is_changed = True

    def _on_discovered(self, page: Discovered) -> None:
        offers = self._requests.get(page.number)
        if isinstance(offers, Offers):
            offers.put(page)
            if offers.ended is not None:
                self.undiscover(offers)
            self.is_changed = True

    def _on_forgotten(self, answer: m.Forgotten) -> None:
        request = self._requests.pop(answer.number, None)
        if isinstance(request, Forgetting):
            request.is_answered = True
            self.dismiss(request)
            self.is_changed = True

    def _on_advertised(self, answer: m.Advertised) -> None:
        source = self._requests.get(answer.number)
        if not isinstance(source, Source):
            return
        if source.phase is Phase.OPENING:
            source.name(answer.publisher)
            source.sequence = answer.taken
        elif answer.publisher != source.id:
            self.window.rename(source, answer.publisher)
        elif answer.number in self._awaited:
            self.window.taken(source, answer.taken)
        if source.phase is Phase.OPENING:
            source.enter(Phase.OPEN)
        source.is_wanted = answer.is_wanted
        self._answered(source)

    def _on_wanted(self, notice: m.Wanted) -> None:
        source = self._requests.get(notice.number)
        if isinstance(source, Source):
            source.is_wanted = notice.is_wanted
            self.is_changed = True

    def _on_interest(self, page: InterestListed) -> None:
        followed = self._requests.get(page.number)
        if isinstance(followed, FollowedInterest) and followed.put(page):
            self.is_changed = True

    def _answered(self, source: Source) -> None:
        self._awaited.discard(source.number)
        self.is_changed = True
        if source.phase is Phase.LEAVING and not source.pending_count:
            self._withdraw(source)

    def _on_flushed(self, answer: m.Flushed) -> None:
        flush = self._requests.pop(answer.number, None)
        if not isinstance(flush, PendingFlush):
            raise BrokerFaultError(f"the broker answered a flush {answer.number} nobody asked", "unexpected")
        self.window.flushed(flush)
        self.is_changed = True
        for source in [s for s in self._sources if s.phase is Phase.LEAVING and not s.pending_count]:
            self._withdraw(source)

    def _on_subscribed(self, answer: m.Subscribed) -> None:
        inbox = self._requests.get(answer.number)
        if isinstance(inbox, Inbox) and inbox.phase is Phase.OPENING:
            inbox.enter(Phase.OPEN)
            self.is_changed = True

    def _on_placed(self, answer: m.Placed) -> None:
        inbox = self._requests.get(answer.number)
        if isinstance(inbox, Inbox):
            inbox.placed(answer.subscription, answer.position, goes_on=answer.goes_on)
            # Deliveries may have been had since it was asked for, or cannot be acknowledged any more.
            self._give_credit(inbox, inbox.credit_due())
            self.touched.append(inbox)

    def _on_gap(self, notice: m.Gap) -> None:
        inbox = self._requests.get(notice.number)
        if isinstance(inbox, Inbox):
            inbox.gap(notice.count, notice.reason)
            self.touched.append(inbox)

    def _end(self, number: int, notice: m.Refused | m.Ended) -> None:
        """Take the end or refusal of a request: it is sent again only at another run of the broker."""
        if isinstance(notice, m.Refused) and notice.code == CLOSING:
            return
        request = self._requests.pop(number, None)
        if isinstance(request, Asked) and isinstance(notice, m.Refused):
            request.refused(notice)
            self.dismiss(request)
            self.is_changed = True
        if isinstance(request, Offers) and isinstance(notice, m.Refused):
            request.refused(notice)
            self._offers.remove(request)
            self.is_changed = True
        if isinstance(request, FollowedInterest) and isinstance(notice, m.Refused):
            request.refused(notice)
            self.is_changed = True
        if not isinstance(request, Source | Inbox):
            return
        request.ended = reason_of(request, notice)
        request.enter(Phase.ENDED)
        self.is_changed = True
        if isinstance(request, Inbox):
            self._inboxes.remove(request)
            self.touched.append(request)
        else:
            self._sources.remove(request)
            self._followed.pop(request, None)
            self._awaited.discard(number)
            self.window.forget(request)
