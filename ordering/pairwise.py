"""`pairwise`: two ordered subscriptions deliver what both deliver in the same order (uplink commit).

Rules R1 to R4 and R8 of the protocol (`docs/explanation/protocol.md`, with a reason and a scenario for
each); R5 by `control`.

Publications that travel down need no coordination: a link carries one sequence. A publication from below that
also goes up waits for its position in the sequence that comes down: the uplink's acknowledgement marks it.

Laws.

1. A publication from the uplink leaves at once (R1).
2. A publication from below that climbs is marked with `REQUEST` if late targets wait for it here: the exposed
   targets, and the hop it came from if its mark was `REQUEST`. All late targets get it in one step (R2, R3).
3. No item overtakes an earlier pending item with a shared target (R3).
4. Acknowledgements arrive in the order of the requests, so one needs no id, and several in a row are one note
   with their count (R4). An entry whose targets are all lost keeps its position in that order.
5. Without an uplink no item waits for an acknowledgement (R8).
6. While a child is about to move to the broker above, the uplink orders all that it gets: whatever it wants
   from below climbs with a request, unordered events and such that nobody above wants included.

All sets are bits: the late targets are found in constant time, whatever the size of the tables.
"""

from collections import deque
from collections.abc import Callable, Sequence

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
    Route,
)

REQUEST = 1
"""The mark of a publication whose sender waits for an acknowledgement."""

ACKNOWLEDGED = Note((1,))


@define(eq=False)
class _Pending:
    """A pending item from below. `requester` is among the targets and gets an acknowledgement."""

    item: object
    targets: Hops
    requester: Hops = 0
    awaits: bool = False
    together: bool = False


@define(eq=False)
class Pairwise:
    """The pending items of one broker. `_blocked` is exactly the union of their targets."""

    _context: Context = field(default=ALONE, repr=False)
    measures: Measures = field(factory=Measures, init=False)
    _uplink: Hops = 0
    _pending: list[_Pending] = field(factory=list, init=False)
    _awaiting: deque[_Pending] = Factory(deque)
    _blocked: Hops = 0
    _above: Hops = 0
    """The child for which the uplink orders everything."""
    _older: list[_Pending] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._context.allow()

    @property
    def waiting_count(self) -> int:
        """The number of pending items."""
        return len(self._pending)

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Emit a publication from the uplink; detect the conflicts of one from below (R1, R2)."""
        targets, exposed = route
        uplink = self._uplink
        if origin and origin == uplink:
            return (Emission(event, targets, 0),)
        if not event.ordered:
            exposed = 0
        if targets & self._above:
            targets, exposed = targets | uplink, exposed | self._above
        requester = origin if mark & REQUEST else 0
        climbs = targets & uplink != 0
        if not (requester or (exposed and climbs) or targets & self._blocked):
            return (Emission(event, targets, 0),)
        # Sets may be long, where a broker has many subscriptions of its own: so few operations, none in vain.
        late = exposed | requester if requester else exposed
        lower = targets ^ uplink if climbs else targets
        emissions: list[Emission] = []
        if climbs:
            emissions.append(Emission(event, uplink, REQUEST if late else 0))
            self.measures.requests += late != 0
        kept = len(self._pending)
        if late:
            self._add(_Pending(event, late, requester, awaits=climbs, together=True), emissions)
        if lower != exposed:
            self._add(_Pending(event, lower ^ exposed), emissions)
        self.measures.deferred += len(self._pending) > kept
        return emissions

    def forwards(self, event: Event, origin: Hops, route: Route) -> bool:
        """Return whether a publication without a mark leaves at once, for all targets (R1, R2)."""
        targets, exposed = route
        if origin and origin == self._uplink:
            return True
        return not targets & self._above and not (
            (event.ordered and exposed and targets & self._uplink) or targets & self._blocked
        )

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Emit a message to the uplink at once, one to another hop behind the items pending for it (R5)."""
        if target == self._uplink:
            return (Emission(item, target, 0),)
        emissions: list[Emission] = []
        self._add(_Pending(item, target), emissions)
        return emissions

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Take an acknowledgement of so many of the oldest requests (R4)."""
        if origin != self._uplink:
            raise ForeignNoteError("only the uplink acknowledges")
        if len(content) != 1 or not 0 < content[0] <= len(self._awaiting):
            raise ForeignNoteError(
                f"{content} acknowledges what was not requested: {len(self._awaiting)} requests are open"
            )
        for _ in range(content[0]):
            self._awaiting.popleft().awaits = False
        return self._release()

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Emit nothing: a new link needs no notes."""
        del link
        return ()

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Take the new uplink, or 0 for none; no item waits for an acknowledgement any more (R8)."""
        self._uplink = uplink
        while self._awaiting:
            self._awaiting.popleft().awaits = False
        return self._release()

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Take the hop out of every pending item; open requests keep their position (R4)."""
        for pending in self._pending:
            pending.targets &= ~hop
            pending.requester &= ~hop
        self._pending = [pending for pending in self._pending if pending.targets]
        return self._release()

    # --- lifts ---

    @property
    def open_count(self) -> int:
        """The number of requests that the uplink has still to answer."""
        return len(self._awaiting)

    def order_above(self, child: Hops) -> None:
        """Send up, with a request, whatever a child wants from below (law 6); 0 ends that."""
        self._above, self._older = child, list(self._pending) if child else []

    @property
    def is_ordered_above(self) -> bool:
        """Whether nothing is pending any more that was when `order_above` was called."""
        pending = set(map(id, self._pending))
        self._older = [each for each in self._older if id(each) in pending]
        return not self._older

    def adopt(self, child: Hops, parent: Hops, wants: Callable[[object], bool]) -> None:
        """Add a child to the targets of all that is pending for its parent and that it wants."""
        for pending in self._pending:
            if pending.targets & parent and wants(pending.item):
                pending.targets |= child
                self._blocked |= child

    def let_go(self, child: Hops) -> Sequence[Emission]:
        """Take a child out of the entries that await an acknowledgement, and emit the others to it."""
        self._above, self._older = self._above & ~child, []
        for pending in self._awaiting:
            pending.targets &= ~child
        self._pending = [pending for pending in self._pending if pending.targets]
        return self._release()

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return one acknowledgement with the sum of both counts."""
        return (earlier[0] + later[0],)

    def blocked(self) -> Sequence[Blocked]:
        """Return the pending items, oldest first."""
        return [
            Blocked(
                pending.item,
                pending.targets,
                "the uplink's acknowledgement" if pending.awaits else "an earlier item for the same hop",
            )
            for pending in self._pending
        ]

    def _add(self, pending: _Pending, emissions: list[Emission]) -> None:
        if pending.awaits:
            self._awaiting.append(pending)
        elif self._emit_free(pending, self._blocked, emissions):
            self.measures.acknowledgements += pending.requester != 0
            return
        self._pending.append(pending)
        self._blocked |= pending.targets

    def _release(self) -> Sequence[Emission]:
        """Emit the items that are free now, in order (R3). Stop once every pending target is blocked."""
        emissions: list[Emission] = []
        everything, blocked = self._blocked, 0
        kept = []
        scanned = 0
        for pending in self._pending:
            if blocked == everything:
                break
            scanned += 1
            if pending.awaits or not self._emit_free(pending, blocked, emissions):
                kept.append(pending)
                blocked |= pending.targets
            elif pending.requester:
                self.measures.acknowledgements += 1
        self._pending[:scanned] = kept
        self._blocked = blocked
        return emissions

    @staticmethod
    def _emit_free(pending: _Pending, blocked: Hops, emissions: list[Emission]) -> bool:
        """Emit to the targets that no earlier item blocks; return whether these were all targets (R3)."""
        free = pending.targets & ~blocked
        if pending.together and free != pending.targets:
            return False
        if free & ~pending.requester:
            emissions.append(Emission(pending.item, free & ~pending.requester, 0))
        if pending.requester:
            emissions.append(Emission(ACKNOWLEDGED, pending.requester, 0))
        pending.targets &= ~free
        return not pending.targets
