"""Compares tapes and decisions of those who follow one market. It decides nothing for them.

A *disagreement* is a trade that was delivered to an investor and to its auditor, and on which one of the two
decided something else than the other: to buy or to sell, how much, or nothing.

A trade is *out of place* between two tapes if it stands there at another position among what both were
delivered. Tapes count from the bell; while one of two has a gap, they are not compared until the next bell.

Profits are compared at the last trade that both were delivered: not at one moment, when one of the two may
simply be later.
"""

from collections import deque
from typing import Final

from attrs import define, field, frozen

from concord import Delivery, Filter, parse
from examples.ticker.investor import Book, Decision, PriceTick

LINES_MAX: Final = 400
"""Of a tape, for pages."""

FINDINGS_MAX: Final = 40

DECIDED_MAX: Final = 2000
"""Trades that the other of the two may still be delivered: half a minute of them."""

TradeId = tuple[str, int]


@frozen
class AuditLine:
    """One trade on one tape."""

    trade: TradeId
    tick: PriceTick


@frozen
class AuditFinding:
    """What an investor and its auditor decided on one trade, or nothing."""

    investor: str
    tick: PriceTick
    decided: tuple[Decision | None, Decision | None]

    @property
    def is_disputed(self) -> bool:
        """Whether they decided differently."""
        return self.decided[0] != self.decided[1]


@define(eq=False)
class Tape:
    """What one follower was delivered since the bell, and what it decided; day 0 is: closed, after a gap."""

    name: str
    filter: Filter
    day: int = 0
    lines: deque[AuditLine] = field(factory=lambda: deque(maxlen=LINES_MAX))
    decided: dict[TradeId, tuple[Decision | None, float]] = field(factory=dict)

    def note(self, line: AuditLine, decision: Decision | None, profit: float) -> None:
        """One more trade, what was decided on it, and the profit then."""
        self.lines.append(line)
        self.decided[line.trade] = (decision, profit)
        if len(self.decided) > DECIDED_MAX:
            del self.decided[next(iter(self.decided))]


@define(eq=False)
class _AuditPair:
    """Two tapes, and what they have in common day by day: a bell may be delivered to one first."""

    one: Tape
    other: Tape
    days: dict[int, tuple[list[TradeId], list[TradeId]]] = field(factory=dict)

    def is_displaced(self, tape: Tape, trade: TradeId, delivery: Delivery) -> bool:
        """A trade came on one of the tapes: whether the other has another one at its position."""
        if not (self.other if tape is self.one else self.one).filter.match(delivery.attributes):
            return False
        both = self.days.setdefault(tape.day, ([], []))
        for day in [each for each in self.days if each < tape.day - 1]:
            del self.days[day]
        mine, theirs = both if tape is self.one else both[::-1]
        mine.append(trade)
        return len(mine) <= len(theirs) and theirs[len(mine) - 1] != trade


@define(eq=False)
class Audit:
    """Counts for one market. Tapes come in pairs: an investor's, and its auditor's after it."""

    tapes: dict[str, Tape] = field(factory=dict)
    shared_count: int = 0
    disputed_count: int = 0
    displaced_count: int = 0
    findings: deque[AuditFinding] = field(factory=lambda: deque(maxlen=FINDINGS_MAX))
    displaced: deque[TradeId] = field(factory=lambda: deque(maxlen=LINES_MAX))
    differences: dict[str, float] = field(factory=dict)
    settled: float = 0.0
    _auditors: dict[str, str] = field(factory=dict)
    _pairs: list[_AuditPair] = field(factory=list)

    def add(self, investor: str, auditor: str, wanted: str) -> None:
        """Compare these two, and both with all who are there."""
        for name in (investor, auditor):
            tape = Tape(name, parse(wanted))
            self._pairs += [_AuditPair(each, tape) for each in self.tapes.values()]
            self.tapes[name] = tape
        self._auditors |= {investor: auditor, auditor: investor}

    def record(
        self, name: str, delivery: Delivery, tick: PriceTick, decision: Decision | None, book: Book
    ) -> None:
        """Record that a follower has taken a tick into its book."""
        tape = self.tapes[name]
        if book.day != tape.day:
            tape.day = book.day
            tape.lines.clear()
            self.settled += abs(self.differences.pop(name, 0.0))
        if tick.kind != "trade" or not book.day:
            return
        trade = (delivery.publisher, delivery.sequence)
        tape.note(AuditLine(trade, tick), decision, book.profit)
        for pair in self._pairs:
            if tape in (pair.one, pair.other) and pair.is_displaced(tape, trade, delivery):
                self.displaced_count += 1
                self.displaced.append(trade)
        self._compare(name, trade, tick)

    def _compare(self, name: str, trade: TradeId, tick: PriceTick) -> None:
        """Compare an investor and its auditor, when both have been delivered a trade."""
        mine, theirs = self.tapes[name], self.tapes[self._auditors[name]]
        if trade not in theirs.decided:
            return
        first, second = (mine, theirs) if name in self.investors else (theirs, mine)
        (one, profit), (other, reached) = first.decided[trade], second.decided[trade]
        finding = AuditFinding(first.name, tick, (one, other))
        if mine.day == theirs.day:
            self.differences[first.name] = profit - reached
        self.shared_count += 1
        self.disputed_count += finding.is_disputed
        if any(finding.decided):
            self.findings.append(finding)

    @property
    def money(self) -> float:
        """By how much profits differ: of the days that are over as they ended, and of this one so far."""
        return self.settled + sum(map(abs, self.differences.values()))

    @property
    def investors(self) -> list[str]:
        """Those who are audited."""
        return list(self.tapes)[::2]

    def auditor(self, investor: str) -> str:
        """Who audits them."""
        return self._auditors[investor]
