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
6. Where subscriptions are many, a step sends a part of the gaps; the others are *owed*, and sent in further
   steps. A subscription gets an owed gap before the plugin takes anything new for it. So each gap stands
   where it would have stood if all had been sent at once.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from operator import attrgetter
from typing import ClassVar, Final

from attrs import Factory, define

from broker.core.hops import Hop, HopTable, members, united
from broker.core.tables import RouteEntry, RoutingTables
from broker.filters import Filter
from broker.messages import PublicationsLost
from ordering.interface import Hops

LOST_COUNT_MAX: Final = 10_000
"""Lost advertisements that are remembered, a megabyte: an overlay's worth. A subscription that overlaps one
that is found after it was forgotten gets one more gap."""

TESTS_PER_GAP: Final = 16
"""So many comparisons of filters take about as long as one gap: with more of them a part is smaller."""

_NEVER: Final = -1

SendGap = Callable[[PublicationsLost, Hops], None]
"""Sends a gap to hops, behind what is pending for each."""

Missed = Mapping[tuple[Filter, Filter], int]
"""Of each advertisement what it says now and what it said when it was lost, with the number of that loss."""


@define(eq=False)
class Absence:
    """What may be missing, and the hops that have not been looked at for it."""

    is_from_uplink: bool
    hops: Hops
    missed: dict[tuple[Filter, Filter], int] = Factory(dict)

    def concerns(self, entry: RouteEntry) -> bool:
        """Return whether a local subscription gets a gap."""
        return any(
            entry.filter.overlaps(content) and (number <= entry.since or not entry.filter.overlaps(lost))
            for (content, lost), number in self.missed.items()
        )


@define(eq=False)
class Losses:
    """The advertisements that were lost and not found again, each with the number of its loss.

    An entry's `since` is the number of the last loss before it: it got no gap for those before. `owed` are
    the hops that have to be looked at before they get anything new.
    """

    DERIVED: ClassVar = frozenset({"_part_count"})

    _tables: RoutingTables
    _hops: HopTable
    _part_count: int
    _send: SendGap
    count: int = 0
    owed: Hops = 0
    _absences: list[Absence] = Factory(list)
    _lost: OrderedDict[str, tuple[int, Filter]] = Factory(OrderedDict)

    def lost(self, advertisement: str, content: Filter) -> None:
        """Record that a link took this advertisement along, and send gaps (law 1)."""
        self.count += 1
        self._lost[advertisement] = self.count, content
        self._lost.move_to_end(advertisement)
        if len(self._lost) > LOST_COUNT_MAX:
            self._lost.popitem(last=False)
        self._owe({(content, content): _NEVER}, is_from_uplink=False)

    def is_lost(self, advertisement: str) -> bool:
        """Return whether an advertisement was lost and not found again."""
        return advertisement in self._lost

    def missing(self, content: Filter, *, is_from_uplink: bool) -> None:
        """Send gaps for an advertisement that another covers: earlier gaps for it are unknown (law 5)."""
        self.count += 1
        self._owe({(content, content): _NEVER}, is_from_uplink=is_from_uplink)

    def found(self, advertisements: Iterable[tuple[str, Filter]], link: Hop) -> None:
        """Send gaps for advertisements that came across a newly attached link, here or elsewhere (law 2)."""
        missed: dict[tuple[Filter, Filter], int] = {}
        for advertisement, content in advertisements:
            number, lost = self._lost.pop(advertisement, (_NEVER, content))
            if not self._tables.is_advertised(advertisement, link):
                missed[content, lost] = min(number, missed.get((content, lost), number))
        if missed:
            self._owe(missed, is_from_uplink=False)

    # --- gaps that are owed ---

    def _owe(self, missed: Missed, *, is_from_uplink: bool) -> None:
        """Owe a gap to every local subscription that this concerns; send it now if they are few."""
        hops = self._hops.opened
        absence = Absence(is_from_uplink, hops)
        for each in self._absences:
            if each.hops == hops and each.is_from_uplink is is_from_uplink:
                absence = each
                break
        else:
            self._absences.append(absence)
        for key, number in missed.items():
            absence.missed[key] = min(number, absence.missed.get(key, number))
        self.owed = hops
        if len(self._hops) <= self._part_count:
            self.settle(hops)

    def settle(self, hops: Hops) -> None:
        """Send these hops the gaps that they are owed."""
        # Those that keep their place come first: one that has it at once is also ahead of what follows.
        for each in sorted(self._absences, key=attrgetter("is_from_uplink")):
            numbers = [hop.number for hop in self._hops.those(each.hops & hops) if self._is_due(hop, each)]
            if numbers:
                send = self._hops.append if each.is_from_uplink else self._send
                send(PublicationsLost(), united(numbers))
        self.forget(hops)

    def _is_due(self, hop: Hop, absence: Absence) -> bool:
        if hop.is_link or (hop.outbox and isinstance(hop.outbox[-1], PublicationsLost)):
            return False
        return any(map(absence.concerns, self._tables.entries_of(hop).values()))

    def forget(self, hops: Hops) -> None:
        """Owe nothing to these hops: they have got it, or are closed."""
        if self.owed & hops:
            self.owed &= ~hops
            for each in self._absences:
                each.hops &= ~hops
            self._absences = [each for each in self._absences if each.hops]

    def go_on(self) -> None:
        """Send the next part of the gaps that are owed, if there still are any."""
        if self._absences:
            first, tests = self._absences[0].hops, sum(len(each.missed) for each in self._absences)
            count = max(1, self._part_count // (1 + tests // TESTS_PER_GAP))
            *_, last = islice(members(first), count)
            self.settle(first & (2 << last) - 1)
