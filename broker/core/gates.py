"""R7: which neighbours still owe an acknowledgement of which subscription.

Laws.

1. A gate is closed from the moment the subscription is sent to a neighbour until that request is answered.
2. Every request has a number of its own; the answer to an earlier one opens nothing.
3. The hop a subscription came from is answered once, when no gate of the subscription is closed but the one
   towards that hop itself: a broker that has moved is for a moment known two ways (R9).
"""

from attrs import Factory, define, frozen

from broker.core.hops import Hop
from ordering.interface import Hops


@frozen
class Asker:
    """Whom to answer: the link the subscription came through and its request's number, or a local client."""

    link: Hop | None
    number: int


@define(eq=False)
class Gates:
    """All closed gates, and who waits for them."""

    _closed: dict[str, dict[Hop, int]] = Factory(dict)
    _askers: dict[str, list[Asker]] = Factory(dict)
    _last_number: int = 0

    def close(self, subscription: str, link: Hop) -> int:
        """Close a gate; return the number that the request to the neighbour carries."""
        self._last_number += 1
        self._closed.setdefault(subscription, {})[link] = self._last_number
        return self._last_number

    def answer_to(self, subscription: str, asker: Asker) -> None:
        """Remember whom to answer when all gates of the subscription are open."""
        self.forget(subscription, asker.link)
        self._askers.setdefault(subscription, []).append(asker)

    def answered(self, subscription: str, link: Hop, number: int) -> bool:
        """Open the gate if this answers the request that closed it; say whether it does."""
        if self._closed.get(subscription, {}).get(link) != number:
            return False
        self.open(subscription, link)
        return True

    def open(self, subscription: str, link: Hop) -> None:
        """Open a gate, answered or not."""
        gates = self._closed.get(subscription)
        if gates is not None:
            gates.pop(link, None)
            if not gates:
                del self._closed[subscription]

    def is_closed(self, subscription: str, link: Hop) -> bool:
        """Whether this neighbour still owes its acknowledgement."""
        return link in self._closed.get(subscription, ())

    def closed_hops(self, subscription: str) -> Hops:
        """Return the same as a set of hops."""
        return sum(link.bit for link in self._closed.get(subscription, ()))

    def owed_by(self, link: Hop) -> list[str]:
        """Return the subscriptions of which this neighbour still owes an acknowledgement."""
        return [subscription for subscription, gates in self._closed.items() if link in gates]

    def due(self, subscription: str) -> list[Asker]:
        """Take out whom to answer now: those for whom every gate of the subscription is open."""
        askers = self._askers.get(subscription, [])
        closed = self._closed.get(subscription, {})
        due = [asker for asker in askers if all(link is asker.link for link in closed)]
        for asker in due:
            self.forget(subscription, asker.link)
        return due

    def forget(self, subscription: str, link: Hop | None) -> None:
        """Nobody there waits for the answer any more."""
        left = [asker for asker in self._askers.pop(subscription, []) if asker.link is not link]
        if left:
            self._askers[subscription] = left

    def __len__(self) -> int:
        return sum(len(gates) for gates in self._closed.values())
