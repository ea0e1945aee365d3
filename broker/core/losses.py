"""Gaps: which local subscriptions are notified that publications may be missing, and where in their stream.

Laws.

1. When an advertisement is lost with a link (R8), every local subscription that overlaps it gets a gap,
   behind what is pending for it (R5). What its publisher publishes until it is found again is missing there,
   too.
2. When an advertisement comes across a link that has just been attached (R9), its publisher may have
   published for as long as the trees were apart: every local subscription that overlaps it gets a gap.
3. No subscription gets two gaps for one absence: one that got a gap when the advertisement was lost gets none
   when it is found. For one that was never lost here, such as that of a broker without a memory, law 2 alone
   holds. An advertisement that covers others may have another filter when it is found: who did not overlap
   what was lost got no gap then.
4. A loss is one gap, however many advertisements it takes along.
5. Where one advertisement covers others, a loss may cause two gaps, never none. A gap from the uplink is sent
   at once, as publications from the uplink are (R1), and comes before those that follow it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from attrs import Factory, define

from broker.core.hops import Hop
from broker.core.tables import RouteEntry, RoutingTables
from broker.filters import Filter
from broker.messages import PublicationsLost

LOST_COUNT_MAX: Final = 10_000
"""Lost advertisements that are remembered, a megabyte: an overlay's worth. A subscription that overlaps one
that is found after it was forgotten gets one more gap."""

_NEVER: Final = -1


@define(eq=False)
class Losses:
    """The advertisements that were lost and not found again, each with the number of its loss.

    An entry's `since` is the number of the last loss before it: it got no gap for those before.
    """

    _tables: RoutingTables
    _send: Callable[[Hop, PublicationsLost], None]
    _send_now: Callable[[Hop, PublicationsLost], None]
    count: int = 0
    _lost: OrderedDict[str, tuple[int, Filter]] = Factory(OrderedDict)

    def lost(self, advertisement: str, content: Filter) -> None:
        """Record that a link took this advertisement along, and send gaps (law 1)."""
        self.count += 1
        self._lost[advertisement] = self.count, content
        self._lost.move_to_end(advertisement)
        if len(self._lost) > LOST_COUNT_MAX:
            self._lost.popitem(last=False)
        self._send_gaps(lambda entry: entry.filter.overlaps(content), self._send)

    def is_lost(self, advertisement: str) -> bool:
        """Return whether an advertisement was lost and not found again."""
        return advertisement in self._lost

    def missing(self, content: Filter, *, is_from_uplink: bool) -> None:
        """Send gaps for an advertisement that another covers: earlier gaps for it are unknown (law 5)."""
        self.count += 1
        self._send_gaps(
            lambda entry: entry.filter.overlaps(content), self._send_now if is_from_uplink else self._send
        )

    def found(self, advertisements: Iterable[tuple[str, Filter]], link: Hop) -> None:
        """Send gaps for advertisements that came across a newly attached link, here or elsewhere (law 2)."""
        absences: dict[tuple[Filter, Filter], int] = {}
        for advertisement, content in advertisements:
            number, lost = self._lost.pop(advertisement, (_NEVER, content))
            if not self._tables.is_advertised(advertisement, link):
                absences[content, lost] = min(number, absences.get((content, lost), number))
        if absences:
            self._send_gaps(
                lambda entry: any(
                    entry.filter.overlaps(content)
                    and (number <= entry.since or not entry.filter.overlaps(lost))
                    for (content, lost), number in absences.items()
                ),
                self._send,
            )

    def _send_gaps(
        self, concerns: Callable[[RouteEntry], bool], send: Callable[[Hop, PublicationsLost], None]
    ) -> None:
        for entry in [entry for entry in self._tables.entries() if not entry.hop.is_link]:
            last = entry.hop.outbox[-1] if entry.hop.outbox else None
            if not isinstance(last, PublicationsLost) and concerns(entry):
                send(entry.hop, PublicationsLost())
