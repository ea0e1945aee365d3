"""Algorithms 2 to 5: which hops are asked, which wait, and which an acknowledgement releases.

The package's docstring has the readings of the text. Names in capitals or with brackets are the paper's.

Laws.

1. Copies for links leave at once; only subscribers wait.
2. A copy carries REQUEST if its receiver is asked to answer once no conflict is possible there, and WAIT if
   it is to deliver to the subscribers concerned only after RELEASED: the acknowledgements are in.
3. The sender of WAIT sends RELEASED for it in the end, the receiver of REQUEST sends ANSWERED. Both are
   acknowledgements of the publication to the broker that gets them.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

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
    Subscription,
)
from ordering.published.detection import Detect, Lookup, Matching, all_conflicts, hop_pairs, members
from ordering.published.metadata import METADATA, ids_of, notes_of
from ordering.published.queues import Due, Flight, Queues, the_free_prefix, when_all_are_free

REQUEST: Final = 1
WAIT: Final = 2

ANSWERED: Final = 1
RELEASED: Final = 2

ACKNOWLEDGEMENT_LENGTH: Final = 2
"""Its kind, and the number of the copy it is about."""

NUMBER_BYTES: Final = 8
"""The size of a number of a note in `Measures.metadata_bytes`."""


class Form(NamedTuple):
    """The detection of conflicts, the rule of delivery, and whether subscriptions travel in notes."""

    detect: Detect
    due: Due
    carries_subscriptions: bool


FORMS: Final[Mapping[str, Form]] = {
    "basic": Form(all_conflicts, when_all_are_free, carries_subscriptions=True),
    "progressive": Form(all_conflicts, the_free_prefix, carries_subscriptions=True),
    "fast": Form(hop_pairs, the_free_prefix, carries_subscriptions=False),
}

DEFAULT_FORM: Final = "fast"


@define(eq=False)
class _Flags:
    """The result of `conflictDetection` and `safeDetection` for one publication."""

    asked: Hops = 0
    waiting: Hops = 0
    subscriptions: dict[str, None] = Factory(dict)


@define(eq=False)
class _Link:
    """Copies with flags, numbered per direction; those without their acknowledgement yet are kept."""

    sent_count: int = 0
    received_count: int = 0
    sent: dict[int, Flight] = Factory(dict)
    received: dict[int, Flight] = Factory(dict)
    carried: list[str] = Factory(list)


@define(eq=False)
class Published:
    """One broker's part in the paper's protocol."""

    CAUTION: ClassVar[str] = (
        "published breaks the order it is meant to keep; it is here for comparison, never for production"
    )

    ROUTING: ClassVar[str] = "simple+simple"
    """The paper detects conflicts between subscriptions that every broker knows by name."""

    DERIVED: ClassVar[frozenset[str]] = frozenset({"_form", "_lookup"})
    """Attributes that the constructor computes from options and tables: no part of a snapshot."""

    _context: Context = field(default=ALONE, repr=False)
    measures: Measures = field(factory=Measures, init=False)
    _form: Form = field(init=False)
    _lookup: Lookup = field(init=False)
    _queues: Queues = Factory(Queues)
    _links: dict[Hops, _Link] = Factory(dict)
    _flights: dict[Flight, None] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self._context.allow("form")
        name = self._context.options.get("form", DEFAULT_FORM)
        if name not in FORMS:
            raise OptionError(f"option form: expected one of {', '.join(FORMS)}, got {name!r}")
        self._form = FORMS[name]
        self._lookup = Lookup(self._context.tables)

    @property
    def waiting_count(self) -> int:
        """The number of delayed publications, each once per subscriber."""
        return self._queues.waiting_count

    def prepare(self) -> None:
        """Compute the hash tables of the detection now, not with the first publication that needs them."""
        self._lookup.prepare()

    # --- brokerForwarding (Algorithm 3) ---

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Detect conflicts, acknowledge or ask further brokers, and forward the publication."""
        flight, flags = Flight(event, origin), _Flags()
        emissions: list[Emission] = []
        if event.ordered:
            self._lookup.refresh()
            matching = self._matching(event, origin)
            if mark & WAIT:
                self._wait_for_origin(flight, flags, matching)
            self._detect(flight, flags, matching)
            if mark:
                self._answer_request(flight, flags, matching, mark, emissions)
        self._commit(flight, flags, route.targets, emissions)
        return emissions

    def _matching(self, event: Event, origin: Hops) -> Matching:
        by_hop: dict[Hops, list[Subscription]] = {}
        for subscription in self._context.tables.matching(event, origin):
            if subscription.ordered:
                by_hop.setdefault(subscription.hop, []).append(subscription)
        return by_hop

    def _wait_for_origin(self, flight: Flight, flags: _Flags, matching: Matching) -> None:
        """Lines 1 to 3. In the fast form every matching subscriber is taken to be concerned."""
        link = self._links[flight.origin]
        carried = dict.fromkeys(link.carried)
        link.carried.clear()
        flags.subscriptions |= carried
        for hop, subscriptions in matching.items():
            if not self._form.carries_subscriptions or any(each.id in carried for each in subscriptions):
                flags.waiting |= hop
                flight.await_from(hop, flight.origin)

    def _detect(self, flight: Flight, flags: _Flags, matching: Matching) -> None:
        """Line 4: Algorithm 1, with Algorithm 2 for each conflict (readings 1 and 2)."""
        for asked, waits, subscription in self._form.detect(matching, flight.origin, self._lookup):
            flags.asked |= asked
            flags.waiting |= waits
            flags.subscriptions[subscription.id] = None
            flight.await_from(waits, asked)

    def _answer_request(
        self, flight: Flight, flags: _Flags, matching: Matching, mark: int, emissions: list[Emission]
    ) -> None:
        """Lines 5 to 9: number the copy received; acknowledge it now, or record the hops to await first."""
        link = self._links[flight.origin]
        link.received_count += 1
        flight.number = link.received_count
        if mark & REQUEST:
            self._safe_detection(flight, flags, matching)
            awaited = flight.acks.get(flight.origin, 0)
            if not awaited:
                self._acknowledge(ANSWERED, flight.origin, flight.number, emissions)
            for hop in matching:
                if hop not in self._links:
                    flight.await_from(hop, awaited)
        if any(awaited & flight.origin for awaited in flight.acks.values()):
            link.received[flight.number] = flight

    def _safe_detection(self, flight: Flight, flags: _Flags, matching: Matching) -> None:
        """Algorithm 4 (readings 5 and 6)."""
        origin = flight.origin
        for hop, subscriptions in matching.items():
            additional = flight.acks.get(hop, 0) & ~origin
            if additional and hop not in self._links:
                flight.await_from(origin, additional)
            elif additional or any(self._lookup.pubs(each) for each in subscriptions):
                flight.await_from(origin, hop)
                flags.asked |= hop

    def _commit(self, flight: Flight, flags: _Flags, targets: Hops, emissions: list[Emission]) -> None:
        """Line 10: emit copies to links with their flags; deliver to subscribers, or delay."""
        delayed = plain = 0
        for hop in members(targets):
            mark = REQUEST * (hop & flags.asked != 0) | WAIT * (hop & flags.waiting != 0)
            if hop not in self._links:
                if self._queues.take(hop, flight):
                    delayed |= hop
                else:
                    plain |= hop
            elif mark:
                self._send_flagged(flight, flags, hop, mark, emissions)
            else:
                plain |= hop
        if plain:
            emissions.append(Emission(flight.event, plain, 0))
        self.measures.deferred += delayed != 0
        if flight.acks:
            self._flights[flight] = None

    def _send_flagged(
        self, flight: Flight, flags: _Flags, hop: Hops, mark: int, emissions: list[Emission]
    ) -> None:
        link = self._links[hop]
        link.sent_count += 1
        flight.numbers[hop] = link.sent_count
        if mark & REQUEST:
            link.sent[link.sent_count] = flight
            self.measures.requests += 1
        if mark & WAIT and self._form.carries_subscriptions:
            for note in notes_of(flags.subscriptions):
                self.measures.metadata_bytes += NUMBER_BYTES * len(note.content)
                emissions.append(Emission(note, hop, 0))
        emissions.append(Emission(flight.event, hop, mark))

    # --- ackProcess (Algorithm 5) ---

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Take an acknowledgement, or the subscriptions that the next publication is in conflict with."""
        link = self._links[origin]
        if content and content[0] == METADATA:
            link.carried += ids_of(content)
            return ()
        if len(content) != ACKNOWLEDGEMENT_LENGTH or content[0] not in (ANSWERED, RELEASED):
            raise ForeignNoteError(f"{content} is nothing that a broker with published says")
        kind, number = content
        if not 0 < number <= (link.sent_count if kind == ANSWERED else link.received_count):
            raise ForeignNoteError(f"{content} acknowledges a copy that there never was")
        flight = (link.sent if kind == ANSWERED else link.received).pop(number, None)
        return () if flight is None else self._acknowledged(flight, origin)

    def _acknowledged(self, flight: Flight, source: Hops) -> Sequence[Emission]:
        emissions: list[Emission] = []
        for hop in flight.acknowledged(source):
            if hop == flight.origin:
                self._acknowledge(ANSWERED, hop, flight.number, emissions)
            elif hop in self._links:
                self._acknowledge(RELEASED, hop, flight.numbers[hop], emissions)
            else:
                emissions += [
                    Emission(each.event, hop, 0) for each in self._queues.deliver(hop, self._form.due)
                ]
        if not flight.acks:
            self._flights.pop(flight, None)
        return emissions

    def _acknowledge(self, kind: int, link: Hops, number: int, emissions: list[Emission]) -> None:
        self.measures.acknowledgements += 1
        emissions.append(Emission(Note((kind, number)), link, 0))

    # --- the rest of the interface, which the paper does not cover ---

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Emit the message at once: no item is ever delayed on a link."""
        return (Emission(item, target, 0),)

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Begin to number the copies on the link."""
        self._links[link] = _Link()
        return ()

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Emit nothing: the uplink is a link like any other."""
        del uplink
        return ()

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Forget the hop; a publication that awaits its acknowledgement waits for ever (reading 10)."""
        self._links.pop(hop, None)
        self._queues.forget(hop)
        for flight in list(self._flights):
            flight.forget(hop)
            if not flight.acks:
                del self._flights[flight]
        return ()

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return None: every acknowledgement names its publication."""
        del earlier, later
        return None

    def blocked(self) -> Sequence[Blocked]:
        """Return the delayed publications, subscriber by subscriber, oldest first."""
        return [
            Blocked(
                flight.event,
                hop,
                "an earlier item for the same hop" if flight.is_free(hop) else "acknowledgements",
            )
            for hop, queue in self._queues.by_hop.items()
            for flight in queue
        ]
