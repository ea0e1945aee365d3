"""R7, the other end: what a neighbour has asked for, and when that is answered.

Laws.

1. A request is answered once everything that it added and that is still there is open.
2. Make before break: what is withdrawn in a request that replaces it serves on until everything that overlaps
   it and is not open yet, of this request and of earlier ones, is open or gone. So what the sender counted
   as served stays served, although what serves it changes.
3. What is withdrawn and added again before that has never been away.
"""

from collections.abc import Iterable

from attrs import Factory, define


@define(eq=False)
class Arrivals:
    """The requests of one neighbour. Ids are those on the link."""

    _requests: dict[int, dict[str, None]] = Factory(dict)
    _closed: dict[str, int] = Factory(dict)
    _retiring: dict[str, dict[str, None]] = Factory(dict)

    def asked(self, number: int, added: list[str]) -> None:
        """A request comes; nothing that it adds is open yet."""
        self._requests[number] = dict.fromkeys(added)
        for each in added:
            self._leave_request(each)
            self._closed[each] = number

    @property
    def closed(self) -> list[str]:
        """Everything that is not open yet."""
        return list(self._closed)

    @property
    def retiring(self) -> Iterable[str]:
        """Everything that has been withdrawn and serves on."""
        return self._retiring.keys()

    def all(self) -> list[str]:
        """Everything that is not open yet, or serves on."""
        return [*self._closed, *self._retiring]

    def retire(self, withdrawn: str, awaited: list[str]) -> None:
        """This is gone as soon as all those are open or gone (law 2)."""
        self._retiring[withdrawn] = dict.fromkeys(awaited)

    def revive(self, added: str) -> bool:
        """Say whether this was about to go; now it stays (law 3)."""
        return self._retiring.pop(added, None) is not None

    def opened(self, each: str) -> list[int]:
        """This is open: return the numbers of the requests that are answered by it."""
        number = self._closed.pop(each, None)
        if number is None:
            return []
        adding = self._requests[number]
        del adding[each]
        if adding:
            return []
        del self._requests[number]
        return [number]

    def removed(self, each: str) -> list[int]:
        """This is gone: whoever else was added with it is waited for no less."""
        self._retiring.pop(each, None)
        return self.opened(each)

    def settled(self, each: str) -> list[str]:
        """Nobody waits for this any more: return what may go now."""
        for awaited in self._retiring.values():
            awaited.pop(each, None)
        return [gone for gone, awaited in self._retiring.items() if not awaited]

    def _leave_request(self, each: str) -> None:
        number = self._closed.pop(each, None)
        if number is not None:
            self._requests[number].pop(each, None)
            if not self._requests[number]:
                del self._requests[number]  # Who asks anew waits for the later answer.

    def __len__(self) -> int:
        return len(self._retiring)
