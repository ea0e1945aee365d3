"""Connections of which nobody knows yet who they are: how many there may be, and whose has to go.

Law: one that comes never has to go for those that were there before. The address from which most have come
gives up its oldest: a peer that greets at all greets within a round trip, so what is old is silent.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define, field

__all__ = ["Newcomers", "address_of"]

T = TypeVar("T")


def address_of(peer: str) -> str:
    """Return the address of a peer without its port."""
    return peer.rpartition(":")[0] or peer


@define(eq=False)
class Newcomers(Generic[T]):
    """Who has come, by address, the oldest first."""

    limit: int
    _known: dict[str, dict[T, None]] = field(factory=dict, init=False)

    def add(self, peer: str, newcomer: T) -> None:
        """Somebody has come."""
        self._known.setdefault(address_of(peer), {})[newcomer] = None

    def discard(self, peer: str, newcomer: T) -> None:
        """It is known who it is, or it has gone."""
        crowd = self._known.get(address_of(peer), {})
        crowd.pop(newcomer, None)
        if not crowd:
            self._known.pop(address_of(peer), None)

    def keep(self, is_new: Callable[[T], bool]) -> None:
        """Forget those of whom it is known by now who they are."""
        kept = {
            address: {each: None for each in crowd if is_new(each)} for address, crowd in self._known.items()
        }
        self._known = {address: crowd for address, crowd in kept.items() if crowd}

    def pop_surplus(self) -> T | None:
        """Return the one that has to go, if there are more than the limit."""
        if len(self) <= self.limit:
            return None
        address, crowd = max(self._known.items(), key=lambda item: len(item[1]))
        oldest = next(iter(crowd))
        self.discard(f"{address}:", oldest)
        return oldest

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))
