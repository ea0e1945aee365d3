"""R7: the requests that one neighbour has not answered, and the entries whose gates wait for that.

Laws.

1. A gate is closed from the moment its entry is offered to a neighbour until every request that it waits for
   is answered. What was told before and is answered stands for it at once.
2. Every request has a number of its own; the answer to an earlier one opens nothing.
3. A gate that is open stays open while its entry is there: what serves in its place is never withdrawn before
   something else does (`broker.core.arrivals`).
"""

from collections.abc import Iterable

from attrs import Factory, define

from broker.core.tables import Entry, Place, place_of


@define(eq=False)
class _Request:
    """Adds what is told under these ids; the entries wait for the answer, and some may have moved (R9)."""

    told: dict[str, None]
    has_moved: bool = False
    waiting: dict[Place, Entry] = Factory(dict)


@define(eq=False)
class Gates:
    """The gates towards one neighbour."""

    _requests: dict[int, _Request] = Factory(dict)
    _unanswered: dict[str, int] = Factory(dict)
    _count: dict[Place, int] = Factory(dict)

    def asked(self, number: int, told: Iterable[str] = (), *, has_moved: bool = False) -> None:
        """A request goes to the neighbour, which adds what is told under these ids, or will go there."""
        if number not in self._requests:
            self._requests[number] = _Request(dict.fromkeys(told), has_moved)
        for each in self._requests[number].told:
            if each in self._unanswered:
                self._ask_anew(each, number)
            self._unanswered[each] = number

    def _ask_anew(self, told: str, number: int) -> None:
        """Whoever waits for an earlier request of this waits for the later one: only that will be answered.

        A broker that keeps all rules says nothing twice; one whose tables were mended may.
        """
        earlier = self._unanswered[told]
        request = self._requests[earlier]
        for entry in request.waiting.values():
            self.wait(entry, number)
        del request.told[told]
        if not request.told:
            del self._requests[earlier]
            self._released(request)

    @property
    def are_answered(self) -> bool:
        """Whether the neighbour has answered all that it has been told."""
        return not self._unanswered

    def request_of(self, told: str) -> int | None:
        """The request that added this, if the neighbour has not answered it."""
        return self._unanswered.get(told)

    def has_moved(self, told: str) -> bool:
        """Whether this waits for an answer, and stands for something that has moved."""
        number = self._unanswered.get(told)
        return number is not None and self._requests[number].has_moved

    def wait(self, entry: Entry, number: int) -> None:
        """The gate of this entry waits for the answer to that request."""
        waiting = self._requests[number].waiting
        place = place_of(entry)
        if place not in waiting:
            waiting[place] = entry
            self._count[place] = self._count.get(place, 0) + 1

    def is_closed(self, entry: Entry) -> bool:
        """Whether its gate waits for something."""
        return place_of(entry) in self._count

    def answered(self, number: int) -> tuple[list[str], list[Entry]]:
        """The neighbour answers: return what it has taken in, and the entries that wait for nothing more."""
        request = self._requests.pop(number, None)
        if request is None:
            return [], []
        for each in request.told:
            del self._unanswered[each]
        return list(request.told), self._released(request)

    def withdrawn(self, told: Iterable[str]) -> list[Entry]:
        """Something is told no more; return the entries that waited for it, or for what was asked with it.

        They have to wait for what is told instead.
        """
        touched: dict[Place, Entry] = {}
        for each in told:
            number = self._unanswered.pop(each, None)
            if number is not None:
                request = self._requests[number]
                touched.update(request.waiting)
                del request.told[each]
                if not request.told:
                    del self._requests[number]
                    self._released(request)
        return list(touched.values())

    def _released(self, request: _Request) -> list[Entry]:
        return [entry for place, entry in request.waiting.items() if self._waits_no_more(place)]

    def _waits_no_more(self, place: Place) -> bool:
        self._count[place] -= 1
        if self._count[place]:
            return False
        del self._count[place]
        return True

    def forget(self, entry: Entry) -> bool:
        """The entry is gone, or of no interest to the neighbour any more; say whether its gate was closed."""
        place = place_of(entry)
        if self._count.pop(place, None) is None:
            return False
        for request in self._requests.values():
            request.waiting.pop(place, None)
        return True

    def all_waiting(self) -> list[Entry]:
        """Return every entry whose gate is closed."""
        found = {p: entry for request in self._requests.values() for p, entry in request.waiting.items()}
        return list(found.values())

    def requests(self) -> list[int]:
        """Return the numbers of the requests that the neighbour has not answered."""
        return list(self._requests)

    def unanswered(self) -> list[str]:
        """Return what has been told and not been answered."""
        return list(self._unanswered)

    def __len__(self) -> int:
        return len(self._count)
