"""The audit at each renewal of leases: what only this broker knows is made to agree with itself.

Theory. Leases compare routes with neighbours (`broker.core.leases`). What nobody else has cannot be compared;
so it is checked against what follows from the rest of this broker's state, as often as leases are renewed
and never for an event. What is wrong is made right by the smallest safe means: computed again, dropped, or
asked for; and all that may have missed something by it get a gap.

Laws.

1. Where nothing is wrong, an audit changes nothing and sends nothing but the plugin's question.
2. While this broker takes part in a step of a move nothing is looked at: its plugin is between two states.
"""

from attrs import define

from broker.core.hops import Hop
from broker.core.leases import Repairs
from broker.core.stepping import MoveSteps
from broker.routing.flooding import EVERYTHING


@define(eq=False)
class StateAudit:
    """Compares the state of this broker's plugin with its links; `repairs` counts what was wrong."""

    _steps: MoveSteps
    _repairs: Repairs

    def make(self, uplink: Hop | None) -> None:
        """Let the plugin look at its state, if it can."""
        steps = self._steps
        audit = getattr(steps.plugin, "audit", None)
        if audit is None or steps.present is not None or steps.rising is not None:
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
        routing.losses.missing(EVERYTHING.filter, is_from_uplink=True)
        routing.losses.missing(EVERYTHING.filter, is_from_uplink=False)
