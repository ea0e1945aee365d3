"""What one publisher has published, under which ids and numbers.

A broker that was restarted without a journal has forgotten its publishers: the client gets a new id, and what
was left in its window is published again under that, numbered from 1. The first number after the change
says how many those were, and so which.
"""

from array import array
from collections import deque
from collections.abc import Iterator
from typing import Final

from attrs import define, field

from broker.trace import RowFiles

__all__ = ["Ledger"]

RECENT_MAX: Final = 200_000
"""Publications remembered for the case that they are published again: more than a client's window holds."""


@define
class _Span:
    """Publications in a row under one id. `first` is the own number of the one numbered `sequence`."""

    id: str
    sequence: int
    first: int
    count: int


@define(eq=False)
class Ledger:
    """Notes every publication. `times_ns` says when each was published, however often it was sent."""

    broker: str
    _rows: RowFiles
    id: str = ""
    times_ns: "array[int]" = field(factory=lambda: array("q"), init=False, repr=False)
    _recent: deque[tuple[int, bool]] = field(factory=lambda: deque(maxlen=RECENT_MAX), init=False)
    _spans: list[_Span] = field(factory=list, init=False)

    def note(self, publisher: str, sequence: int, published_ns: int, *, ordered: bool) -> None:
        """Note that `publish` gave the next publication this number, under the id it has by now."""
        if publisher != self.id:
            self._rename(publisher, min(sequence - 1, len(self._recent)))
        self._row(sequence, published_ns, ordered=ordered)
        self._recent.append((published_ns, ordered))
        self._spans[-1].count += 1
        self.times_ns.append(published_ns)

    @property
    def count(self) -> int:
        """How many there have been."""
        return len(self.times_ns)

    def _rename(self, publisher: str, resent: int) -> None:
        """From here on it has another id, and the latest publications have been sent again under that."""
        self.id = publisher
        self._forget(resent)
        self._spans.append(_Span(publisher, 1, self.count - resent, resent))
        latest = list(self._recent)[len(self._recent) - resent :]
        for sequence, (published_ns, ordered) in enumerate(latest, 1):
            self._row(sequence, published_ns, ordered=ordered)

    def _forget(self, count: int) -> None:
        """The last publications are known under another id now."""
        while count:
            span = self._spans[-1]
            taken = min(count, span.count)
            span.count -= taken
            count -= taken
            if not span.count:
                self._spans.pop()

    def _row(self, sequence: int, published_ns: int, *, ordered: bool) -> None:
        self._rows.append(self.id, sequence, self.broker, ordered, published_ns)

    def identities(self) -> Iterator[tuple[str, int]]:
        """Every publication's last id and number, in the order in which they were published."""
        for span in self._spans:
            for offset in range(span.count):
                yield span.id, span.sequence + offset
