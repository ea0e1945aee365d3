"""The limit on connections that have not greeted yet, and which of them is ended when it is exceeded.

Law: a new connection is never ended in favour of older ones. The address with the most connections loses its
oldest: a peer that greets at all greets within a round trip, so an old one is silent.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define, field

T = TypeVar("T")


def address_of(peer: str) -> str:
    """Return the address of a peer without its port."""
    return peer.rpartition(":")[0] or peer


@define(eq=False)
class Newcomers(Generic[T]):
    """The connections that have not greeted, by address, the oldest first."""

    limit: int
    _known: dict[str, dict[T, None]] = field(factory=dict, init=False)

    def add(self, peer: str, newcomer: T) -> None:
        """Add a new connection."""
        self._known.setdefault(address_of(peer), {})[newcomer] = None

    def discard(self, peer: str, newcomer: T) -> None:
        """Remove a connection that has greeted or ended."""
        crowd = self._known.get(address_of(peer), {})
        crowd.pop(newcomer, None)
        if not crowd:
            self._known.pop(address_of(peer), None)

    def keep(self, is_new: Callable[[T], bool]) -> None:
        """Remove the connections that have greeted by now."""
        kept = {
            address: {each: None for each in crowd if is_new(each)} for address, crowd in self._known.items()
        }
        self._known = {address: crowd for address, crowd in kept.items() if crowd}

    def pop_surplus(self) -> T | None:
        """Return the connection to end, if there are more than the limit."""
        if len(self) <= self.limit:
            return None
        address, crowd = max(self._known.items(), key=lambda item: len(item[1]))
        oldest = next(iter(crowd))
        self.discard(f"{address}:", oldest)
        return oldest

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))
