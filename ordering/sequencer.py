"""`sequencer`: one broker places every publication in one sequence, and all subscribers deliver in its order.

The central baseline: total order of all publications, at the price of one broker that all of them pass, and
of a detour for those whose path does not lead by it. The option `sequencer` names the broker, and `form` one
of two forms: `placing`, in which the publication itself goes to the sequencer, and `asking`, in which the
publisher's broker asks for a number first, and may be refused.

Laws.

1. A publication that is not placed goes only towards the sequencer. Each broker on its way records the hops
   to send it to later: the hops that match at that moment, and the hop it came from, because subscriptions
   behind that hop travelled towards the publisher and need not be known nearer to the sequencer.
2. The sequencer places publications in the order in which they reach it, marked with `PLACED`. They return
   over the links they came by, in that order, so a broker knows the answer by its publication.
3. Only placed publications are delivered, and a broker takes them only from its way, the link towards the
   sequencer. Every broker thus delivers a part of one sequence, in its order.
4. A control message waits for the items pending for the same link (R5), but not while there is no way: the
   attachment of the sequencer may depend on just this message (R9).
5. At most `requests` publications of local publishers are under way. Those beyond the limit, and those
   without a way, wait in a queue of `queue` publications. When the queue is full, a publication is dropped
   and counted as refused, and no subscriber delivers it, as when the request for its number is discarded.

6. In the form `asking`, a publication of law 5 is sent only when its request for a number was granted.
   Answers return over the links that requests came by, in their order. The sequencer refuses a request while
   `grants` publications are granted and have not reached it; what is refused is dropped and counted. A grant
   whose publication was lost with a link stays granted.

How a broker knows the way. The sequencer sends HERE over each new link, and HERE floods: from then on a
publication that comes by this link is placed. A broker that knows the way and gets a new link must not send
HERE at once: placed publications that it has not yet received may have reached the other side already, by a
link that is lost now. So it asks (ASK climbs to the sequencer), and sends HERE when the answer has come down
behind them. GONE floods when a way is lost. With its way a broker drops the publications under way: it cannot
know whether they were placed, and placing one twice would be worse than losing it.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final
from zlib import crc32

from attrs import Factory, define, field

from ordering.interface import (
    ALONE,
    Blocked,
    Context,
    Emission,
    Event,
    ForeignNoteError,
    Hops,
    Measures,
    Note,
    OptionError,
    Route,
)

PLACED: Final = 1
"""The mark of a publication that the sequencer has placed."""

GONE: Final = Note((2,))
ASK: Final = Note((3,))
ANSWER: Final = Note((4,))
NUMBER: Final = Note((5,))
GRANTED: Final = Note((6,))
REFUSED: Final = Note((7,))

PLACING: Final = "placing"
ASKING: Final = "asking"

HERE_LENGTH: Final = 2
"""HERE is 1 and a checksum of the sequencer's name, see `here`."""

DEFAULT_SEQUENCER: Final = "B1"
"""The first broker, as scenarios name it."""

DEFAULT_REQUESTS: Final = 1_000
"""Enough for 100,000 publications a second, ten milliseconds away."""

DEFAULT_QUEUE: Final = 10_000
"""A second of a busy broker's publications, some megabytes of small ones."""

DEFAULT_GRANTS: Final = 1_000
"""As many as one broker may have under way."""

_Key = tuple[str, int]


def here(sequencer: str) -> Note:
    """Return the note HERE for a sequencer of this name: all brokers must have configured the same one."""
    return Note((1, crc32(sequencer.encode())))


@define(eq=False)
class _PendingRequest:
    """A publication that is not placed yet, or a control message behind one.

    `is_sent` means that it is on its way to the sequencer, `is_own` that its publisher is local, `is_asked`
    that the request for its number is under way.
    """

    item: object
    targets: Hops
    is_control: bool = False
    is_own: bool = False
    is_sent: bool = False
    is_asked: bool = False


@define(eq=False)
class _Asker:
    """A link that waits for an answer from the sequencer; a newcomer sent no ASK and is to receive HERE."""

    link: Hops
    is_newcomer: bool


@define(eq=False)
class Sequencer:
    """One broker's part in the protocol. `_pending` holds items in their order of arrival.

    `_requesters` are the links that requests for a number came by, 0 for an own one and None where the link
    is lost; `_asked` are the publications of the own ones. `_granted_count` is of the sequencer alone.
    """

    _context: Context = field(default=ALONE, repr=False)
    measures: Measures = field(factory=Measures, init=False)
    _is_sequencer: bool = field(init=False)
    _here: Note = field(init=False)
    _requests_max: int = field(init=False)
    _queue_max: int = field(init=False)
    _grants_max: int = field(init=False)
    _is_asking: bool = field(init=False)
    _links: Hops = 0
    _way: Hops = 0
    _askers: deque[_Asker] = Factory(deque)
    _pending: dict[_Key, _PendingRequest] = Factory(dict)
    _queue: deque[_Key] = Factory(deque)
    _under_way_count: int = 0
    _control_count: int = 0
    _control_number: int = 0
    _requesters: deque[Hops | None] = Factory(deque)
    _asked: deque[_Key] = Factory(deque)
    _granted_count: int = 0

    def __attrs_post_init__(self) -> None:
        context = self._context
        context.allow("sequencer", "requests", "queue", "grants", "form")
        name = context.options.get("sequencer", DEFAULT_SEQUENCER)
        self._is_sequencer = context.broker == name
        self._here = here(name)
        self._requests_max = context.count("requests", DEFAULT_REQUESTS)
        self._queue_max = context.count("queue", DEFAULT_QUEUE)
        self._grants_max = context.count("grants", DEFAULT_GRANTS)
        form = context.options.get("form", PLACING)
        if form not in (PLACING, ASKING):
            raise OptionError(f"option form: expected {PLACING} or {ASKING}, got {form!r}")
        self._is_asking = form == ASKING

    @property
    def waiting_count(self) -> int:
        """The number of items under way, queued, or blocked by these."""
        return len(self._pending)

    # --- publications ---

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Place the publication, forward it towards the sequencer, or deliver it if it is placed."""
        if self._is_sequencer:
            return () if mark & PLACED else self._place(event, origin, route.targets)
        if mark & PLACED:
            # Over another link it was sent before the way changed (law 3).
            return self._deliver(event, route.targets) if origin == self._way else ()
        if origin:
            # Only while ways change does one return or find no way; its sender drops it as well.
            return self._pass_on(event, origin, route.targets) if self._way not in (0, origin) else ()
        return self._request(event, route.targets)

    def _place(self, event: Event, origin: Hops, targets: Hops) -> Sequence[Emission]:
        self.measures.acknowledgements += origin != 0
        if origin and self._granted_count:
            self._granted_count -= 1
        return self._emit_placed(event, targets | origin)

    def _emit_placed(self, item: object, targets: Hops) -> list[Emission]:
        emissions = []
        if targets & self._links:
            emissions.append(Emission(item, targets & self._links, PLACED))
        if targets & ~self._links:
            emissions.append(Emission(item, targets & ~self._links, 0))
        return emissions

    def _deliver(self, event: Event, targets: Hops) -> Sequence[Emission]:
        """Deliver a placed publication to the hops recorded on its way up, or else to the matching hops."""
        pending = self._pending.pop((event.publisher, event.sequence), None)
        if pending is None:
            return self._emit_placed(event, targets)
        emissions = self._emit_placed(event, pending.targets)
        if pending.is_own:
            self._under_way_count -= 1
        else:
            self.measures.acknowledgements += 1
        self._release(emissions)
        return emissions

    def _pass_on(self, event: Event, origin: Hops, targets: Hops) -> Sequence[Emission]:
        key = event.publisher, event.sequence
        self._pending[key] = _PendingRequest(event, targets & ~self._way | origin, is_sent=True)
        self.measures.requests += 1
        return (Emission(event, self._way, 0),)

    def _request(self, event: Event, targets: Hops) -> Sequence[Emission]:
        """Queue the publication of a local publisher if it has targets."""
        if not targets:
            return ()
        if len(self._queue) >= self._queue_max:
            self.measures.refused += 1
            return ()
        key = event.publisher, event.sequence
        self._pending[key] = _PendingRequest(event, targets, is_own=True)
        self._queue.append(key)
        self.measures.deferred += 1
        return self._send_queued()

    def _send_queued(self) -> list[Emission]:
        emissions = []
        while self._queue and self._way and self._under_way_count < self._requests_max:
            key = self._queue.popleft()
            self._under_way_count += 1
            self.measures.requests += 1
            emissions.append(self._ask_number(key) if self._is_asking else self._send(self._pending[key]))
        return emissions

    def _send(self, pending: _PendingRequest) -> Emission:
        pending.is_sent, pending.is_asked = True, False
        pending.targets &= ~self._way
        return Emission(pending.item, self._way, 0)

    # --- numbers (law 6) ---

    def _ask_number(self, key: _Key) -> Emission:
        self._pending[key].is_asked = True
        self._asked.append(key)
        self._requesters.append(0)
        return Emission(NUMBER, self._way, 0)

    def _requested(self, origin: Hops) -> Sequence[Emission]:
        """Grant or refuse a number, or pass the request on."""
        if not self._is_sequencer:
            # The broker that asks is about to learn that it has no way either.
            if self._way in (0, origin):
                return ()
            self._requesters.append(origin)
            return (Emission(NUMBER, self._way, 0),)
        if self._granted_count >= self._grants_max:
            return (Emission(REFUSED, origin, 0),)
        self._granted_count += 1
        return (Emission(GRANTED, origin, 0),)

    def _number_answered(self, origin: Hops, answer: Note) -> Sequence[Emission]:
        """Answer the oldest requester; if that is this broker, send its publication or drop it."""
        if origin != self._way or not self._requesters:
            return ()
        link = self._requesters.popleft()
        if link != 0:
            return (Emission(answer, link, 0),) if link else ()
        key = self._asked.popleft()
        if answer == GRANTED:
            return (self._send(self._pending[key]),)
        del self._pending[key]
        self._under_way_count -= 1
        self.measures.refused += 1
        emissions: list[Emission] = []
        self._release(emissions)
        return emissions

    # --- control messages ---

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Emit the message to each hop behind the items pending for it (law 4)."""
        blocked: Hops = 0
        for pending in self._pending.values() if self._way else ():
            blocked |= pending.targets
        if late := target & blocked:
            self._control_number += 1
            self._pending["", self._control_number] = _PendingRequest(item, late, is_control=True)
            self._control_count += 1
        return (Emission(item, target & ~late, 0),) if target != late else ()

    def _release(self, emissions: list[Emission]) -> None:
        """Append the emissions that are free now: control messages, and queued publications."""
        blocked: Hops = 0
        for key, pending in list(self._pending.items()) if self._control_count else ():
            if pending.is_control and (free := pending.targets & ~blocked):
                emissions.append(Emission(pending.item, free, 0))
                pending.targets &= ~free
                if not pending.targets:
                    del self._pending[key]
                    self._control_count -= 1
            if self._way:
                blocked |= pending.targets
        emissions.extend(self._send_queued())

    # --- the way ---

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Send HERE over the link if this is the sequencer; else, if there is a way, ask first."""
        self._links |= link
        if self._is_sequencer:
            return (Emission(self._here, link, 0),)
        return self._ask(link, is_newcomer=True)

    def _ask(self, link: Hops, *, is_newcomer: bool) -> Sequence[Emission]:
        """Send ASK along the way; without a way the link receives HERE as soon as there is one."""
        if self._way in (0, link):
            return ()
        self._askers.append(_Asker(link, is_newcomer))
        return (Emission(ASK, self._way, 0),)

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Take a neighbour's note."""
        match Note(content):
            case note if note == self._here:
                return () if self._is_sequencer else self._change_way(origin, note)
            case note if note == GONE:
                return self._change_way(0, GONE) if origin == self._way else ()
            case note if note == ASK:
                is_here = self._is_sequencer
                return (Emission(ANSWER, origin, 0),) if is_here else self._ask(origin, is_newcomer=False)
            case note if note == NUMBER:
                return self._requested(origin)
            case note if note in (GRANTED, REFUSED):
                return self._number_answered(origin, note)
            case note if note == ANSWER:
                return self._answered(origin)
        if content[:1] == self._here.content[:1] and len(content) == HERE_LENGTH:
            raise ForeignNoteError("the option sequencer must name the same broker at all brokers")
        raise ForeignNoteError(f"brokers with a sequencer do not say {content}")

    def _answered(self, origin: Hops) -> Sequence[Emission]:
        """Pass an answer on to the oldest asker: answers come in the order of the questions."""
        if origin != self._way or not self._askers:
            return ()
        asker = self._askers.popleft()
        return (Emission(self._here if asker.is_newcomer else ANSWER, asker.link, 0),) if asker.link else ()

    def _change_way(self, way: Hops, news: Note) -> Sequence[Emission]:
        """Forward the news over all other links; drop the publications under way, then send queued ones."""
        others = self._links & ~(way or self._way)
        self._way = way
        self._askers.clear()
        self._requesters.clear()
        self._queue.extendleft(reversed(self._asked))
        self._asked.clear()
        self._pending = {key: pending for key, pending in self._pending.items() if not pending.is_sent}
        self._under_way_count = 0
        emissions = [Emission(news, others, 0)] if others else []
        self._release(emissions)
        return emissions

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Emit nothing: the sequencer may be anywhere in the tree, so the uplink is a link like any other."""
        del uplink
        return ()

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Take the hop out of every pending item; if it was the way, there is none now."""
        self._links &= ~hop
        for key, pending in list(self._pending.items()):
            pending.targets &= ~hop
            if pending.is_control and not pending.targets:
                del self._pending[key]
                self._control_count -= 1
        for asker in self._askers:
            asker.link &= ~hop
        self._requesters = deque(None if link == hop else link for link in self._requesters)
        if hop == self._way:
            return self._change_way(0, GONE)
        emissions: list[Emission] = []
        self._release(emissions)
        return emissions

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return None: every note counts."""
        del earlier, later
        return None

    def blocked(self) -> Sequence[Blocked]:
        """Return the pending items, oldest first."""
        return [Blocked(each.item, each.targets, self._reason(each)) for each in self._pending.values()]

    def _reason(self, pending: _PendingRequest) -> str:
        if pending.is_sent:
            return "its place from the sequencer"
        if pending.is_asked:
            return "its number from the sequencer"
        if pending.is_control:
            return "an earlier item for the same hop"
        return "earlier requests" if self._way else "a way to the sequencer"
