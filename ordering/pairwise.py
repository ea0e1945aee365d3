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
6. A run is kept as one item with one request for each of its events. What is acknowledged of it leaves before
   the rest, as if each event had been kept alone.
7. While a child is about to move to the broker above, or has just come from there, the uplink orders all that
   it gets: whatever it wants from below climbs with a request, unordered events and such that nobody above
   wants included. It moves when all requests of before are answered, for it has had those events already.
   When it comes from above, its publishers' events may still be pending there for others here: until they
   have come, all that climbs waits for the uplink's answer.
8. While a sibling is about to become a child, all that climbs is kept for it, with a request, and dropped
   when it is acknowledged: the sibling has it from above, in the step of that acknowledgement.
9. When a child is lowered below its sibling, what is pending for the two goes to the sibling, each item for
   those for whom it was pending. It is not lowered while the sibling keeps something for it that it did not
   want yet when that came here: others' items may have come to it since (`has_passed`).
10. An audit makes everything here follow from the items and from the broker's links again. If items await
    the uplink, it asks: the answer comes in its place behind all acknowledgements of earlier requests (R5).
    So with the answer those that were asked for before await nothing more, and the others await one each.

All sets are bits: the late targets are found in constant time, whatever the size of the tables. Sets may be
long, where a broker has many subscriptions of its own: what follows from a route comes with it, and what is
blocked is worked out when it is needed.
"""

from collections import deque
from collections.abc import Callable, Sequence

from attrs import Factory, define, evolve, field

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

QUESTION_LENGTH = 2
"""A question of an audit, and its answer, are 0 and the number of the question."""

REQUEST = 1
"""The mark of a publication whose sender waits for an acknowledgement."""

FOR_OTHERS = 2
"""The mark of a publication from the uplink that is not for the child that has come from there."""

FOR_TAKEN = 4
"""The mark of a publication from the uplink that is for that child alone."""


@define(eq=False)
class _Pending:
    """A pending item from below: so many events, or a message; None if it has left too early.

    `requester` is among the targets and gets an acknowledgement for each. `acknowledged` of them are already.
    To `marked` it goes with a mark.
    """

    item: object
    targets: Hops
    requester: Hops = 0
    awaits: bool = False
    together: bool = False
    count: int = 1
    acknowledged: int = 0
    marked: Hops = 0
    mark: int = 0

    def split(self) -> "_Pending":
        """Return the acknowledged part of a run as an item of its own, and keep the rest (law 6)."""
        assert isinstance(self.item, tuple)
        count, self.acknowledged = self.acknowledged, 0
        part = evolve(self, item=self.item[:count], awaits=False, count=count)
        self.item = self.item[count:]
        self.count -= count
        return part

    def parts(self) -> "list[_Pending]":
        """Return an item for each event of a run; those that are acknowledged await nothing."""
        if not isinstance(self.item, tuple):
            return [self]
        awaiting = [self.awaits and number >= self.acknowledged for number in range(self.count)]
        return [
            evolve(self, item=each, awaits=awaits, count=1, acknowledged=0)
            for each, awaits in zip(self.item, awaiting, strict=True)
        ]


@define(eq=False)
class Pairwise:
    """The pending items of one broker. `_blocked` is the union of the targets of the first `_summed`."""

    _context: Context = field(default=ALONE, repr=False)
    measures: Measures = field(factory=Measures, init=False)
    _uplink: Hops = 0
    _pending: list[_Pending] = field(factory=list, init=False)
    _awaiting: deque[_Pending] = Factory(deque)
    _blocked: Hops = 0
    _above: Hops = 0
    """The child for which the uplink orders everything."""
    _beside: Hops = 0
    """The link to a sibling for which all that climbs is kept."""
    _taken: Hops = 0
    """The child that has come from above, and that marks are about."""
    _child: Hops = 0
    """The child that gets what comes from `_sibling` in one step with the acknowledgement."""
    _sibling: Hops = 0
    _older: list[_Pending] = field(factory=list, init=False)
    _summed: int = 0
    _open_requests: int = 0
    _question: int = 0
    """The number of the last question to the uplink."""
    _since: list[tuple[_Pending, int]] | None = None
    """The items that were requested since, each with its count; None if the answer has come."""
    waiting_count: int = field(default=0, init=False)
    """The number of pending items, every event of a run counted."""

    def __attrs_post_init__(self) -> None:
        self._context.allow()

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Emit a publication from the uplink; detect the conflicts of one from below (R1, R2)."""
        return self._take(event, 1, origin, mark, route, is_ordered=event.ordered)

    def run(self, events: Sequence[Event], origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Do for several publications what `publication` does for each in turn (law 6)."""
        return self._take(tuple(events), len(events), origin, mark, route, is_ordered=events[0].ordered)

    def _take(  # noqa: PLR0913 - those of `publication`
        self, item: object, count: int, origin: Hops, mark: int, route: Route, *, is_ordered: bool
    ) -> Sequence[Emission]:
        """Take an event or a run of events."""
        targets, exposed, free = route
        uplink = self._uplink
        if origin and origin == uplink:
            if mark:
                targets = targets & self._taken if mark & FOR_TAKEN else targets & ~self._taken
            return (Emission(item, targets, 0),)
        if not is_ordered:
            exposed, free = 0, None
        if self._above | self._beside | self._child:
            targets, exposed = self._in_step(targets, exposed, origin)
            free = None
        requester = origin if mark & REQUEST else 0
        climbs = targets & uplink != 0
        if not (requester or (exposed and climbs) or (self._pending and targets & self._blocked_now())):
            return (Emission(item, targets, 0),)
        late = exposed | requester if requester else exposed
        rest = targets & ~uplink & ~exposed if free is None else free
        emissions: list[Emission] = []
        if climbs:
            emissions.append(Emission(item, uplink, REQUEST if late else 0))
            self.measures.requests += count if late else 0
        kept = len(self._pending)
        if late:
            self._add(_Pending(item, late, requester, awaits=climbs, together=True, count=count), emissions)
        if rest:
            self._add(_Pending(item, rest, count=count), emissions)
        if len(self._pending) > kept:
            self.measures.deferred += count
        return emissions

    def _in_step(self, targets: Hops, exposed: Hops, origin: Hops) -> tuple[Hops, Hops]:
        """Return targets and late targets while a child moves (laws 7 to 9)."""
        if targets & self._above:
            targets, exposed = targets | self._uplink, exposed | self._above
        if targets & self._uplink:
            if self._above & self._taken:
                exposed |= targets & ~self._uplink
            targets, exposed = targets | self._beside, exposed | self._beside
        if origin == self._sibling:
            exposed |= targets & self._child
        return targets, exposed

    def _blocked_now(self) -> Hops:
        """Return the union of the targets of all pending items."""
        pending = self._pending
        while self._summed < len(pending):
            self._blocked |= pending[self._summed].targets
            self._summed += 1
        return self._blocked

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Emit a message to the uplink at once, to other hops behind the items pending for each (R5)."""
        if target == self._uplink:
            return (Emission(item, target, 0),)
        emissions: list[Emission] = []
        self._add(_Pending(item, target), emissions)
        return emissions

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Take an acknowledgement of so many of the oldest requests (R4)."""
        if len(content) == QUESTION_LENGTH and content[0] == 0:
            return self._questioned(origin, content)
        if origin != self._uplink:
            raise ForeignNoteError("only the uplink acknowledges")
        if len(content) != 1 or not 0 < content[0] <= self._open_requests:
            raise ForeignNoteError(
                f"{content} acknowledges what was not requested: {self._open_requests} requests are open"
            )
        self._acknowledge(content[0])
        return self._release()

    def _acknowledge(self, count: int) -> None:
        """Take so many of the oldest requests as acknowledged (R4)."""
        self._open_requests -= count
        while count and self._awaiting:
            oldest = self._awaiting[0]
            taken = min(count, oldest.count - oldest.acknowledged)
            oldest.acknowledged += taken
            count -= taken
            if oldest.acknowledged == oldest.count:
                self._awaiting.popleft().awaits = False

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Emit nothing: a new link needs no notes."""
        del link
        return ()

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Take the new uplink, or 0 for none; no item waits for an acknowledgement any more (R8)."""
        self._uplink, self._since = uplink, None
        self._acknowledge(self._open_requests)
        return self._release()

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Take the hop out of every pending item; open requests keep their position (R4)."""
        self._blocked_now()
        for pending in self._pending:
            pending.targets &= ~hop
            pending.requester &= ~hop
            pending.marked &= ~hop
        self._forget_targetless()
        return self._release()

    # --- lifts ---

    @property
    def open_count(self) -> int:
        """The number of requests that the uplink has still to answer."""
        return self._open_requests

    @property
    def awaited(self) -> list[object]:
        """The items that the uplink has still to acknowledge."""
        return [part.item for pending in self._awaiting for part in pending.parts()]

    def order_above(self, child: Hops) -> None:
        """Send up, with a request, whatever a child wants from below (law 7); 0 ends that."""
        self._above, self._older = child, self._unfinished() if child else []

    @property
    def is_ordered_above(self) -> bool:
        """Whether nothing is unfinished any more that was when `order_above` was called."""
        unfinished = set(map(id, self._unfinished()))
        self._older = [each for each in self._older if id(each) in unfinished]
        return not self._older

    def _unfinished(self) -> list[_Pending]:
        """Return what is pending, or still to be acknowledged for targets that have gone."""
        return [*self._pending, *self._awaiting]

    def adopt(self, child: Hops, parent: Hops, wants: Callable[[object], bool]) -> None:
        """Add a child to the targets of all that is pending for its parent and that it wants."""
        self._take_runs_apart()
        for pending in self._pending:
            if pending.targets & parent and wants(pending.item):
                pending.targets |= child

    def drop(self, hop: Hops, is_old: Callable[[object], bool]) -> Sequence[Emission]:
        """Take a hop out of pending messages that say what is not so any more."""
        self._blocked_now()
        for pending in self._pending:
            if pending.targets & hop and is_old(pending.item):
                pending.targets &= ~hop
        self._forget_targetless()
        return self._release()

    def let_go(self, child: Hops) -> Sequence[Emission]:
        """Take a child out of the entries that await an acknowledgement, and emit the others to it."""
        self._above, self._older = self._above & ~child, []
        self._take_runs_apart()
        self._blocked_now()
        for pending in self._awaiting:
            pending.targets &= ~child
        self._forget_targetless()
        return self._release()

    def keep_for(self, link: Hops) -> Sequence[Emission]:
        """Keep for a link, with a request, all that climbs (law 8); 0 ends that."""
        gone, self._beside, self._taken = self._beside, link, 0
        return self.hop_lost(gone) if gone else ()

    def keep_wanted(self, child: Hops, wants: Callable[[object], bool]) -> None:
        """Let a link be that of a child, which gets what is kept for it and wanted (laws 7 and 8)."""
        self._beside, self._above, self._taken = 0, child, child
        self._take_runs_apart()
        self._blocked_now()
        for pending in self._awaiting:
            if pending.targets & child and not wants(pending.item):
                pending.targets &= ~child
        self._forget_targetless()

    def acknowledge_with(self, child: Hops, sibling: Hops) -> None:
        """Give a child what comes from its sibling in one step with the acknowledgement; 0 ends that."""
        self._child, self._sibling = child, sibling
        self._older = self._unfinished() if child else []

    def has_passed(self, child: Hops, sibling: Hops, wants: Callable[[object], bool]) -> bool:
        """Return whether something from the sibling is pending that the child wants, but not when it came."""
        return any(
            part.requester & sibling and not part.targets & child and wants(part.item)
            for pending in self._pending
            for part in pending.parts()
        )

    def redirect(self, child: Hops, sibling: Hops) -> Sequence[Emission]:
        """Let a sibling get what is pending for a child, but not what came from there (law 9)."""
        self.acknowledge_with(0, 0)
        for pending in self._pending:
            targets = pending.targets
            is_answer = isinstance(pending.item, Note)
            if is_answer or pending.requester & sibling or (targets & child and targets & sibling):
                pending.targets = targets & ~child
            elif targets & (child | sibling):
                pending.marked, pending.mark = sibling, FOR_TAKEN if targets & child else FOR_OTHERS
                pending.targets = targets & ~child | sibling
        self._blocked = self._summed = 0
        self._blocked_now()
        self._forget_targetless()
        return self._release()

    def _take_runs_apart(self) -> None:
        """Keep each event of a run as an item of its own; the uplink's answer would be about other items."""
        self._since = None
        parts = {id(each): each.parts() for each in (*self._pending, *self._awaiting)}
        self._pending = [part for each in self._pending for part in parts[id(each)]]
        self._awaiting = deque(part for each in self._awaiting for part in parts[id(each)] if part.awaits)
        self._blocked = self._summed = 0

    def _forget_targetless(self) -> None:
        """Forget the items whose targets have all gone; open requests keep their position (R4)."""
        self._pending = [pending for pending in self._pending if pending.targets]
        self._summed = len(self._pending)
        self.waiting_count = sum(pending.count for pending in self._pending)

    # --- the audit ---

    def audit(self, uplink: Hops, links: Hops, hops: Hops) -> tuple[bool, Sequence[Emission]]:
        """Make the state follow from the items and from the present links and hops (law 10).

        Return whether anything was wrong, and what is emitted now, a question to the uplink included.
        """
        before = self._summary()
        self._above = self._beside = self._taken = self._child = self._sibling = 0
        self._uplink, self._older = uplink, []
        self._audit_items(links & ~uplink, hops)
        is_wrong = self._summary() != before
        emissions = list(self._release())
        if self._awaiting:
            self._question += 1
            self._since = []
            emissions.append(Emission(Note((0, self._question)), uplink, 0))
        return is_wrong, emissions

    def _summary(self) -> tuple[object, ...]:
        items = [
            (id(each), each.targets, each.requester, each.awaits, each.count, each.acknowledged)
            for each in (*self._pending, *self._awaiting)
        ]
        steps = self._above, self._beside, self._child, self._sibling
        counts = len(self._pending), self._open_requests, self.waiting_count
        return self._uplink, steps, counts, items

    def _audit_items(self, links: Hops, hops: Hops) -> None:
        """Let each item be for open hops, once; the queue of those that await is right about who does."""
        awaiting = {id(each): each for each in self._awaiting} if self._uplink else {}
        pending = {id(each): each for each in self._pending}
        for key, each in awaiting.items():
            if key not in pending:
                each.targets = each.requester = each.marked = 0
        for key, each in (pending | awaiting).items():
            each.targets &= hops
            each.marked &= each.targets
            each.requester &= each.targets & links
            each.requester &= -each.requester
            each.awaits = key in awaiting
            if each.item is not None:
                each.count = len(each.item) if isinstance(each.item, tuple) else 1
            if each.awaits:
                each.acknowledged = min(max(each.acknowledged, 0), each.count - 1)
        self._pending, self._awaiting = list(pending.values()), deque(awaiting.values())
        self._open_requests = sum(each.count - each.acknowledged for each in self._awaiting)
        self._blocked = self._summed = 0
        self._blocked_now()
        self._forget_targetless()

    def _questioned(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Answer a question from below in its place; take the uplink's answer to the last one."""
        if origin != self._uplink:
            emissions: list[Emission] = []
            self._add(_Pending(Note(content), origin), emissions)
            return emissions
        if self._since is None or content[1] != self._question:
            return ()
        requested, self._since = self._since, None
        if [id(each) for each in self._awaiting] == [id(each) for each, _ in requested] and not any(
            each.acknowledged for each in self._awaiting
        ):
            return ()
        return self._resynchronise(requested)

    def _resynchronise(self, requested: Sequence[tuple[_Pending, int]]) -> Sequence[Emission]:
        """Let the items of these requests await an acknowledgement each, and no others.

        Where one was taken for acknowledged already, its acknowledgement is still to come, for nobody.
        """
        awaiting = set(map(id, self._awaiting))
        for each in self._awaiting:
            each.awaits = False
        self._awaiting.clear()
        for each, count in requested:
            is_open = id(each) in awaiting and each.count == count and not each.acknowledged
            each.awaits = is_open
            self._awaiting.append(each if is_open else _Pending(None, 0, awaits=True, count=count))
        self._open_requests = sum(each.count for each in self._awaiting)
        return self._release()

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return one acknowledgement with the sum of both counts; questions stay apart."""
        return (earlier[0] + later[0],) if len(earlier) == len(later) == 1 else None

    def blocked(self) -> Sequence[Blocked]:
        """Return the pending items, oldest first."""
        return [
            Blocked(
                item,
                pending.targets,
                "the uplink's acknowledgement" if pending.awaits else "an earlier item for the same hop",
            )
            for pending in self._pending
            for item in (pending.item if isinstance(pending.item, tuple) else (pending.item,))
        ]

    def _add(self, pending: _Pending, emissions: list[Emission]) -> None:
        if pending.awaits:
            self._awaiting.append(pending)
            self._open_requests += pending.count
            if self._since is not None:
                self._since.append((pending, pending.count))
        elif self._is_emitted(pending, self._blocked_now(), emissions):
            return
        self._pending.append(pending)
        self.waiting_count += pending.count

    def _release(self) -> Sequence[Emission]:
        """Emit the items that are free now, in order (R3). Stop once every pending target is blocked."""
        emissions: list[Emission] = []
        everything, blocked = self._blocked_now(), 0
        kept: list[_Pending] = []
        scanned = 0
        for pending in self._pending:
            if blocked == everything:
                break
            scanned += 1
            is_part = pending.awaits and pending.acknowledged and isinstance(pending.item, tuple)
            for part in (pending.split(), pending) if is_part else (pending,):
                if self._beside and part.together and not part.awaits:
                    part.targets &= ~self._beside
                if part.awaits or not self._is_emitted(part, blocked, emissions):
                    kept.append(part)
                    blocked |= part.targets
                else:
                    self.waiting_count -= part.count
        self._pending[:scanned] = kept
        self._blocked, self._summed = blocked, len(self._pending)
        return emissions

    def _is_emitted(self, pending: _Pending, blocked: Hops, emissions: list[Emission]) -> bool:
        """Emit to the targets that no earlier item blocks; return whether these were all targets."""
        if not self._emit_free(pending, blocked, emissions):
            return False
        if pending.requester:
            self.measures.acknowledgements += pending.count
        return True

    @staticmethod
    def _emit_free(pending: _Pending, blocked: Hops, emissions: list[Emission]) -> bool:
        """Emit to the targets that no earlier item blocks; return whether these were all targets (R3)."""
        free = pending.targets & ~blocked
        if pending.together and free != pending.targets:
            return False
        if marked := free & pending.marked:
            emissions.append(Emission(pending.item, marked, pending.mark))
        if unmarked := free & ~pending.requester & ~marked:
            emissions.append(Emission(pending.item, unmarked, 0))
        if pending.requester:
            emissions.append(Emission(Note((pending.count,)), pending.requester, 0))
        pending.targets &= ~free
        return not pending.targets
