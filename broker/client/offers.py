"""What is on offer, as a client's watch knows it: the advertisements that stand, and their changes. No I/O.

Laws:

* What was yielded as added, and not as removed since, is what stood last; so a program that applies all
  changes needs no other list.
* A snapshot that comes again, behind a lost connection, is compared with what was yielded: only differences
  come out, and "complete" behind them.
* What waits to be yielded is compared with what stands when it is asked for: it grows with the advertisements
  that stand, not with the changes.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import define, field, frozen

from broker import messages as m
from broker.discovery_messages import Discover, Discovered
from broker.errors import ConcordError, RefusedError
from broker.page_limits import ANSWER_BYTES_MAX


@frozen
class AdvertisementChange:
    """A change of what is on offer.

    `kind` is "added" (a publisher has advertised the `filter`, or another one than before), "removed", or
    "complete": all that stood when the client connected, or connected again, has come.
    """

    kind: Literal["added", "removed", "complete"]
    publisher: str = ""
    filter: str = ""


COMPLETE = AdvertisementChange("complete")


@define(eq=False)
class Offers:
    """One request for advertisements, over all connections. `number` is its number on the present one."""

    filter: str
    number: int = 0
    is_complete: bool = field(default=False, init=False)
    """Whether the snapshot of this connection has come whole."""
    ended: ConcordError | None = field(default=None, init=False)
    _standing: dict[str, str] = field(factory=dict, init=False)
    _yielded: dict[str, str] = field(factory=dict, init=False)
    _touched: dict[str, None] = field(factory=dict, init=False)
    _owes_complete: bool = field(default=False, init=False)
    _size_bytes: int = field(default=0, init=False)

    @property
    def standing(self) -> Mapping[str, str]:
        """What the broker has said that stands: filters by publisher."""
        return self._standing

    def ask(self, number: int) -> Discover:
        """Make the message that asks under this number."""
        self.number = number
        return Discover(number, self.filter)

    def put(self, page: Discovered) -> None:
        """Take a page of a snapshot, or changes."""
        if page.anew:
            self._standing.clear()
            self._size_bytes, self.is_complete = 0, False
        for publisher, text in page.added:
            self._remove(publisher)
            self._standing[publisher] = text
            self._size_bytes += len(publisher) + len(text)
            self._touched[publisher] = None
        for publisher in page.removed:
            self._remove(publisher)
            self._touched[publisher] = None
        if not (page.more or self.is_complete):
            self._touched.update(dict.fromkeys(self._yielded))
            self.is_complete = self._owes_complete = True
        if self._size_bytes > ANSWER_BYTES_MAX:
            text = (
                f"more is on offer than the {ANSWER_BYTES_MAX} bytes that are kept: ask by a narrower filter"
            )
            self.ended = ConcordError(text)

    def _remove(self, publisher: str) -> None:
        text = self._standing.pop(publisher, None)
        if text is not None:
            self._size_bytes -= len(publisher) + len(text)

    def refused(self, refusal: m.Refused) -> None:
        """Take a refusal."""
        text = f"the broker does not show advertisements {self.filter!r}: {refusal.text}"
        self.ended = RefusedError(text, refusal.code)

    def take(self) -> AdvertisementChange | None:
        """Return the next change, or None if there is none now."""
        while self._touched:
            publisher = next(iter(self._touched))
            del self._touched[publisher]
            before, now = self._yielded.get(publisher), self._standing.get(publisher)
            if now is not None and now != before:
                self._yielded[publisher] = now
                return AdvertisementChange("added", publisher, now)
            # Before the snapshot is complete nobody knows whether it is gone.
            if now is None and before is not None and self.is_complete:
                del self._yielded[publisher]
                return AdvertisementChange("removed", publisher, before)
        if self._owes_complete:
            self._owes_complete = False
            return COMPLETE
        return None
