"""One rule broken per function: each replaces a method of the product in a mutant.

A function does what the method does, except for what its docstring says.
"""

from collections.abc import Iterable, Sequence

from broker.core.advertising import Advertising
from broker.core.announcements import Announcements, Difference
from broker.core.attachment import Attachments, Send
from broker.core.barrier import Awaited, Barrier, Passed
from broker.core.broker import BrokerCore
from broker.core.demand import Demand
from broker.core.hops import Hop
from broker.core.losses import Losses
from broker.core.membership import Membership
from broker.core.routing import Announced
from broker.core.subscribing import Subscribing
from broker.core.synchronisation import Synchronisation
from broker.core.tables import RouteEntry, RoutingTables
from broker.filters import Filter
from broker.messages import (
    AdvertisementWithdrawn,
    AttachAnswer,
    AttachRequest,
    Control,
    FloodDone,
    RouteIds,
    SubscriptionAcknowledged,
    Synchronise,
)
from broker.routing.strategy import RouteFilter
from ordering.interface import Emission, Event, Hops, Note, Route
from ordering.pairwise import REQUEST, Pairwise, _Pending

_publication = Pairwise.publication
_add = Pairwise._add
_acknowledge = Pairwise._acknowledge
_emit_free = Pairwise._emit_free
_start = Barrier.start
_answered = Subscribing.answered
_edit = Announcements.edit
_synchronise = Synchronisation.synchronise
_flood = Synchronisation._flood
_settle, _go_on = Losses.settle, Losses.go_on
_synchronisation_done = Synchronisation.done


# --- the plugin (R1 to R4, R8) ---


def never_late(self: Pairwise, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
    """Detect no conflict."""
    del mark
    return _publication(self, event, origin, 0, Route(route.targets, 0))


def queues_what_comes_down(
    self: Pairwise, event: Event, origin: Hops, mark: int, route: Route
) -> Sequence[Emission]:
    """Let an event from the uplink wait behind what is pending (R1)."""
    if origin and origin == self._uplink:
        emissions: list[Emission] = []
        self._add(_Pending(event, route.targets), emissions)
        return emissions
    return _publication(self, event, origin, mark, route)


def takes_one_by_one(
    self: Pairwise, events: Sequence[Event], origin: Hops, mark: int, route: Route
) -> Sequence[Emission]:
    """Do for each event of a run what this mutant does for a single one."""
    return [each for event in events for each in self.publication(event, origin, mark, route)]


def acknowledges_whole_runs(self: Pairwise, count: int) -> None:
    """Let all of a run leave with its first acknowledgement (R4)."""
    if count:
        self._awaiting[0].awaits = False
    _acknowledge(self, count)


def acknowledges_at_once(
    self: Pairwise, event: Event, origin: Hops, mark: int, route: Route
) -> Sequence[Emission]:
    """Acknowledge a request when it comes, not in its place in the sequence (R4)."""
    emissions = _publication(self, event, origin, 0, route)
    if mark & REQUEST and origin != self._uplink:
        return [*emissions, Emission(Note((1,)), origin, 0)]
    return emissions


def asks_only_for_itself(self: Pairwise, pending: _Pending, emissions: list[Emission]) -> None:
    """Acknowledge a request without waiting for the uplink's own acknowledgement (R2)."""
    if pending.requester and pending.awaits:
        emissions[-1] = emissions[-1]._replace(mark=0)
        pending.awaits = False
    _add(self, pending, emissions)


def passes_earlier(pending: _Pending, blocked: Hops, emissions: list[Emission]) -> bool:
    """Wait for no earlier entry with a shared target (R3)."""
    del blocked
    return _emit_free(pending, 0, emissions)


def goes_one_by_one(pending: _Pending, blocked: Hops, emissions: list[Emission]) -> bool:
    """Emit late targets as they become free instead of in one step (R3)."""
    free = pending.targets & ~blocked
    if free & ~pending.requester:
        emissions.append(Emission(pending.item, free & ~pending.requester, 0))
    if free & pending.requester:
        emissions.append(Emission(Note((pending.count,)), pending.requester, 0))
    pending.targets &= ~free
    return not pending.targets


def unordered_passes(
    self: Pairwise, event: Event, origin: Hops, mark: int, route: Route
) -> Sequence[Emission]:
    """Let unordered publications overtake what is pending (R3, per-publisher order)."""
    if not event.ordered:
        return [Emission(event, route.targets, 0)]
    return _publication(self, event, origin, mark, route)


def goes_on_waiting(self: Pairwise, uplink: Hops) -> Sequence[Emission]:
    """Wait for the acknowledgements of an uplink that is lost (R8)."""
    self._uplink = uplink
    return ()


def loses_its_place(self: Pairwise, hop: Hops) -> Sequence[Emission]:
    """Forget the place of a request when its targets have gone (R4)."""
    for pending in self._pending:
        pending.targets &= ~hop
        pending.requester &= ~hop
    self._pending = [pending for pending in self._pending if pending.targets]
    for gone in [pending for pending in self._awaiting if not pending.targets]:
        self._awaiting.remove(gone)
        self._open_requests -= gone.count - gone.acknowledged
    self.waiting_count = sum(pending.count for pending in self._pending)
    return self._release()


def merges_badly(self: Pairwise, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...]:
    """Merge several acknowledgements into one without their count (R4)."""
    del self, later
    return earlier


# --- routes (R5 to R7) ---


def overtakes(self: BrokerCore, link: Hop, message: Control) -> None:
    """Send control messages at once, past what is pending (R5)."""
    self._send_now(link, message)


def waits_for_nobody(
    self: Barrier,
    route: RouteFilter,
    link: Hop | None,
    announcements: Iterable[Awaited],
    subscriptions: Iterable[str],
) -> list[Passed]:
    """Acknowledge an advertisement at once (R6)."""
    del self, announcements, subscriptions
    return [Passed(route.id, link)]


def waits_for_no_subscription(
    self: Barrier,
    route: RouteFilter,
    link: Hop | None,
    announcements: Iterable[Awaited],
    subscriptions: Iterable[str],
) -> list[Passed]:
    """Acknowledge an advertisement before the subscriptions on their way to it are (R6)."""
    del subscriptions
    return _start(self, route, link, announcements, ())


def leaves_open(self: RoutingTables, entry: RouteEntry, link: Hop) -> None:
    """Leave every gate open (R7)."""
    del self, entry, link


def keeps_old_routes(self: RoutingTables, entry: RouteEntry, link: Hop) -> None:
    """Open a gate, but go on with the cached routes (R7)."""
    del self
    entry.closed &= ~link.bit


def takes_any_answer(self: Subscribing, message: SubscriptionAcknowledged, link: Hop) -> None:
    """Let the answer to an earlier request open a gate (R7)."""
    for number in [each for each in self.neighbours[link].gates._requests if each >= message.number]:
        _answered(self, SubscriptionAcknowledged(number), link)


def exposes_nothing_new(self: RoutingTables, content: Filter, change: int) -> None:
    """Compute what is exposed when the uplink is attached, and not when it advertises more (section 3)."""
    del self, content, change


def withdraws_for_all(
    self: Advertising, route: RouteFilter, came_by: Hop | None, *, is_lost: bool = False
) -> list[Passed]:
    """Withdraw an advertisement from all neighbours although it is known through another link (R9)."""
    for link, announced in self.announced.items():
        if link is not came_by:
            announced.edit(remove=[route.id])
            self._send(link, AdvertisementWithdrawn(route.id, is_lost))
    return self.barrier.withdrawn(route.id, came_by)


def withdraws_nothing(
    self: Announcements, add: Iterable[RouteFilter] = (), remove: Iterable[str] = ()
) -> Difference:
    """Never withdraw anything from a neighbour (R8)."""
    return _edit(self, add) if remove == () else Difference()


# --- re-attachment (R9) ---


def never_stale(self: Membership, announced: RouteIds) -> bool:
    """Attach although one side still knows a route that the other announces."""
    del self, announced
    return False


def knows_nothing(self: Membership) -> frozenset[str]:
    """Check nothing, neither before the attachment nor when it happens."""
    del self
    return frozenset()


def says_once(self: Membership, link: Hop, newcomer: object) -> None:
    """Announce routes once, although some of them have gone since."""
    del self, link, newcomer


def crosses_early(self: Synchronisation, message: Synchronise, link: Hop) -> None:
    """Send subscriptions over a new link before the own tree has acknowledged the flood."""
    _synchronise(self, message, link)
    self._routing.synchronised(link)


def floods_settled_links(
    self: Synchronisation, token: str | None, advertisements: Announced, link: Hop
) -> None:
    """Leave links that synchronise themselves out of floods."""
    every = self._routing.links
    self._routing.links = {
        n: hop for n, hop in every.items() if hop is link or hop not in self._routing.tables.synchronising
    }
    _flood(self, token, advertisements, link)
    self._routing.links = every


def remembers_floods(self: Synchronisation, link: Hop) -> None:
    """Keep the flood of an attachment that is lost: it will open the next one to the same broker."""
    for token in [token for token, passing in self._passing.items() if passing.link is not link]:
        self._answered(token, link)


def opens_by_name(self: Synchronisation, message: FloodDone, neighbour: Hop) -> None:
    """Take the present link to a broker for the one that a flood came across."""
    passing = self._passing.get(message.token)
    if passing is not None:
        passing.link = self._routing.links.get(passing.link.name, passing.link)
    _synchronisation_done(self, message, neighbour)


def asks_nobody_behind_new_links(self: Subscribing, link: Hop, entries: Iterable[RouteEntry]) -> None:
    """Acknowledge a subscription without the brokers behind a link over which it may not go yet."""
    del self, link, entries


# --- gaps ---


def sends_no_gap_for_a_loss(self: Losses, advertisement: str, content: Filter) -> None:
    """Send no gap for a lost advertisement, and count it as sent."""
    self.count += 1
    self._lost[advertisement] = self.count, content


def sends_no_gap_for_an_absence(self: Losses, advertisements: Announced, link: Hop) -> None:
    """Send no gap for what was missed of publishers behind a new link."""
    del self, advertisements, link


def sends_owed_gaps_late(self: Losses, hops: Hops) -> None:
    """Send owed gaps in further steps alone, whatever is delivered before."""
    del self, hops


def goes_on_all_the_same(self: Losses) -> None:
    """Send the next part of the gaps that are owed."""
    if self._absences:
        _settle(self, self._absences[0].hops)


def forgets_owed_gaps(self: Losses) -> None:
    """Send one part of the gaps that are owed, and no other."""
    _go_on(self)
    self.forget(self.owed)


def grants_everybody(self: Attachments, request: AttachRequest, came_by: Hop) -> list[Send]:
    """Grant every request, even while asking to be attached."""
    self._grants[request.asker, request.number] = came_by
    return [(came_by, AttachAnswer(request.asker, request.number, "granted"))]


# --- interest ---


def keeps_interest(self: Demand, interest: Filter) -> None:
    """Count a filter as wanted after its last entry has gone."""
    del self, interest
