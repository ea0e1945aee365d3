"""The audit at each renewal of leases: what only this broker knows is made to agree with itself.

Theory. Leases compare routes with neighbours (`broker.core.leases`). What no neighbour has cannot be compared
there; so it is checked against what follows from the rest of this broker's state, as often as leases are
renewed and never for an event. The plugin's state follows from its links, and local entries follow from the
sessions of clients. What is wrong is made right by the smallest safe means: computed again, dropped, or asked
for; and all that may have missed something by it get a gap.

Laws.

1. Where nothing is wrong, an audit changes nothing and sends nothing but the plugin's question.
2. While this broker takes part in a step of a move nothing is looked at: its plugin is between two states.
3. After an audit the local entries are exactly what clients have asked for. Every client whose gates are all
   open, or whose barrier is passed, has been notified of it, once.
"""

from collections.abc import Collection, Mapping

from attrs import define, frozen

from broker.core.hops import Hop
from broker.core.leases import Repairs
from broker.core.replays import Replays
from broker.core.stepping import MoveSteps
from broker.core.tables import RouteEntry
from broker.filters import Filter
from broker.routing.flooding import EVERYTHING


@frozen
class LocalClients:
    """What clients have asked for, as their sessions have it, by id.

    `publishers` have advertised a filter; `subscriptions` have one, and are ordered or not. Those that are
    `opened` have been notified that they may publish, or that all gates are open.
    """

    publishers: Mapping[str, Filter]
    subscriptions: Mapping[str, tuple[Filter, bool]]
    opened: Collection[str]


@define(eq=False)
class StateAudit:
    """Compares the plugin's state with the links, and local entries with what clients have asked for.

    `repairs` counts what was wrong.
    """

    _steps: MoveSteps
    _repairs: Repairs
    _replays: Replays

    @property
    def _is_due(self) -> bool:
        return self._steps.present is None and self._steps.rising is None

    # --- local entries ---

    def make_local(self, clients: LocalClients, hops: Mapping[str, Hop]) -> None:
        """Make local entries agree with the clients'; `hops` are those of the local subscriptions."""
        if not self._is_due:
            return
        tables = self._steps.routing.tables
        self._repairs.count += tables.restore_local_advertisements(clients.publishers)
        waiting = {each: at for each, at in clients.publishers.items() if each not in clients.opened}
        self._repairs.count += self._steps.routing.wait_again(waiting)
        asked = clients.subscriptions
        known = {e.id: e for e in tables.entries() if e.id in asked and hops[e.id] is e.hop}
        for wrong in [e for e in tables.entries() if not e.hop.is_link and known.get(e.id) is not e]:
            self._repairs.count += 1
            self._steps.routing.unsubscribe(wrong.id, wrong.hop)
        notified = {*clients.opened, *self._steps.routing.subscribing.subscribed}
        for each, terms in asked.items():
            entry, is_notified = known.get(each), each in notified
            if entry is None or (entry.filter, entry.ordered) != terms:
                self._restore(RouteEntry(each, *terms, hops[each]), is_notified=is_notified)
            elif entry.is_answered is not is_notified or not (is_notified or entry.closed):
                self._notify(entry, is_notified=is_notified)

    def _restore(self, entry: RouteEntry, *, is_notified: bool) -> None:
        """Put the right entry in the place of a wrong one, or of none."""
        self._repairs.count += 1
        entry.is_answered = is_notified or self._replays.is_asked(entry.hop)
        self._steps.routing.restore(entry)

    def _notify(self, entry: RouteEntry, *, is_notified: bool) -> None:
        """Notify a client that waits for nothing more; one that is sent its past is notified behind it."""
        if self._replays.is_replaying(entry.hop):
            return
        self._repairs.count += 1
        if is_notified:
            entry.is_answered = True
        else:
            self._steps.routing.subscribing.ask_again(entry)

    # --- the plugin ---

    def make(self, uplink: Hop | None) -> None:
        """Let the plugin look at its state, if it can."""
        steps = self._steps
        audit = getattr(steps.plugin, "audit", None)
        if audit is None or not self._is_due:
            return
        links = sum(link.bit for link in steps.routing.links.values())
        is_wrong, emissions = audit(uplink.bit if uplink is not None else 0, links, steps.hops.opened)
        steps.carry_out(emissions)
        if is_wrong:
            self._repairs.count += 1
            self._report()

    def _report(self) -> None:
        """Send a gap to all to whom something was pending: what it was is unknown."""
        routing = self._steps.routing
        for link in list(routing.links.values()):
            routing.missed_by(link, [EVERYTHING.filter])
        routing.losses.missing(EVERYTHING.filter, is_from_uplink=False)
        routing.losses.missing(EVERYTHING.filter, is_from_uplink=True)
