"""R7 with one neighbour: requests that it has not acknowledged (`Gates`), and its own (`Arrivals`).

Laws of gates.

1. A gate is closed from the moment its entry is offered to a neighbour until every request that it waits for
   is acknowledged. An announcement that was acknowledged before and covers it opens it at once.
2. Every request has a number of its own; the acknowledgement of an earlier one opens nothing.
3. A gate that is open stays open while its entry is there: an announcement that covers it is never withdrawn
   before a replacement serves (law 5).

Laws of arrivals.

4. A request is acknowledged once everything that it added and that is still there is open.
5. Make before break: a subscription that is withdrawn in a request that replaces it serves on until all
   overlapping subscriptions that are not open yet, of this request and of earlier ones, are open or gone. So
   what the sender counted as served stays served, although another subscription serves it.
6. A subscription that is withdrawn and added again before that has never been away.

Where a subscription that has moved is suppressed (R9), because an announced one covers it, publications may
be on their way that have been delivered to it by its old way. So a question goes along the routes of the
announcement that covers it, and returns behind all of them; until then its gate is closed (`Settling`).

7. A question is answered once all neighbours that it was passed on to have answered, or are lost.
"""

from collections.abc import Iterable
from itertools import islice

from attrs import Factory, define

from broker.core.hops import Hop
from broker.core.tables import EntryKey, RouteEntry, entry_key


@define(eq=False)
class _Request:
    """Adds what is announced under these ids; the entries wait for its acknowledgement."""

    announced: dict[str, None]
    has_moved: bool = False
    waiting: dict[EntryKey, RouteEntry] = Factory(dict)


@define(eq=False)
class Gates:
    """The gates towards one neighbour."""

    _requests: dict[int, _Request] = Factory(dict)
    _unanswered: dict[str, int] = Factory(dict)
    _count: dict[EntryKey, int] = Factory(dict)

    def asked(self, number: int, announced: Iterable[str] = (), *, has_moved: bool = False) -> None:
        """Record a request to the neighbour that adds these ids, or one that will be sent there."""
        if number not in self._requests:
            self._requests[number] = _Request(dict.fromkeys(announced), has_moved)
        for each in self._requests[number].announced:
            if each in self._unanswered:
                self._ask_anew(each, number)
            self._unanswered[each] = number

    def _ask_anew(self, announced: str, number: int) -> None:
        """Let all that wait for an earlier request of this id wait for the later one.

        Only the later request will be acknowledged. A broker that keeps all rules announces nothing twice;
        one whose tables were repaired may.
        """
        earlier = self._unanswered[announced]
        request = self._requests[earlier]
        for entry in request.waiting.values():
            self.wait(entry, number)
        del request.announced[announced]
        if not request.announced:
            del self._requests[earlier]
            self._released(request)

    @property
    def are_answered(self) -> bool:
        """Return whether the neighbour has acknowledged all that was announced to it."""
        return not self._unanswered

    def request_of(self, announced: str) -> int | None:
        """Return the request that added this id, if the neighbour has not acknowledged it."""
        return self._unanswered.get(announced)

    def is_pending(self, number: int) -> bool:
        """Return whether this request is not over."""
        return number in self._requests

    def has_moved(self, announced: str) -> bool:
        """Return whether this id is pending, and covers a subscription that has moved."""
        number = self._unanswered.get(announced)
        return number is not None and self._requests[number].has_moved

    def wait(self, entry: RouteEntry, number: int) -> None:
        """Let the gate of this entry wait for the acknowledgement of that request."""
        waiting = self._requests[number].waiting
        key = entry_key(entry)
        if key not in waiting:
            waiting[key] = entry
            self._count[key] = self._count.get(key, 0) + 1

    def is_closed(self, entry: RouteEntry) -> bool:
        """Return whether the gate of this entry waits for a request."""
        return entry_key(entry) in self._count

    def answered(self, number: int) -> tuple[list[str], list[RouteEntry]]:
        """End a request; return the ids that it added, and the entries that wait for nothing more."""
        request = self._requests.pop(number, None)
        if request is None:
            return [], []
        for each in request.announced:
            del self._unanswered[each]
        return list(request.announced), self._released(request)

    def waiting_for(self, number: int, count: int) -> list[RouteEntry]:
        """Return the first entries that wait for a request, so many at most."""
        return list(islice(self._requests[number].waiting.values(), count))

    def released(self, entry: RouteEntry, number: int) -> bool:
        """Let an entry wait for a request no longer; return whether it waits for nothing more."""
        waiting, key = self._requests[number].waiting, entry_key(entry)
        return waiting.pop(key, None) is not None and self._waits_no_more(key)

    def withdrawn(self, announced: Iterable[str]) -> list[RouteEntry]:
        """Remove withdrawn ids; return the entries that waited for them, or for others of their requests.

        These entries have to wait for the replacements.
        """
        touched: dict[EntryKey, RouteEntry] = {}
        for each in announced:
            number = self._unanswered.pop(each, None)
            if number is not None:
                request = self._requests[number]
                touched.update(request.waiting)
                del request.announced[each]
                if not request.announced:
                    del self._requests[number]
                    self._released(request)
        return list(touched.values())

    def _released(self, request: _Request) -> list[RouteEntry]:
        return [entry for key, entry in request.waiting.items() if self._waits_no_more(key)]

    def _waits_no_more(self, key: EntryKey) -> bool:
        self._count[key] -= 1
        if self._count[key]:
            return False
        del self._count[key]
        return True

    def forget(self, entry: RouteEntry) -> bool:
        """Remove the gate of an entry that is gone or retracted; return whether it was closed."""
        key = entry_key(entry)
        if self._count.pop(key, None) is None:
            return False
        for request in self._requests.values():
            request.waiting.pop(key, None)
        return True

    def all_waiting(self) -> list[RouteEntry]:
        """Return every entry whose gate is closed."""
        found = {p: entry for request in self._requests.values() for p, entry in request.waiting.items()}
        return list(found.values())

    def requests(self) -> list[int]:
        """Return the numbers of the requests that the neighbour has not acknowledged."""
        return list(self._requests)

    def unanswered(self) -> list[str]:
        """Return the ids that have been announced and not been acknowledged."""
        return list(self._unanswered)

    def __len__(self) -> int:
        return len(self._count)


@define(eq=False)
class Arrivals:
    """The requests of one neighbour. Ids are those on the link."""

    _requests: dict[int, dict[str, None]] = Factory(dict)
    _closed: dict[str, int] = Factory(dict)
    _retiring: dict[str, dict[str, None]] = Factory(dict)

    def asked(self, number: int, added: list[str]) -> None:
        """Record a request; nothing that it adds is open yet."""
        self._requests[number] = dict.fromkeys(added)
        for each in added:
            self._leave_request(each)
            self._closed[each] = number

    @property
    def closed(self) -> list[str]:
        """Return the ids that are not open yet."""
        return list(self._closed)

    @property
    def retiring(self) -> Iterable[str]:
        """Return the ids that have been withdrawn and serve on."""
        return self._retiring.keys()

    def all(self) -> list[str]:
        """Return the ids that are not open yet, or serve on."""
        return [*self._closed, *self._retiring]

    def retire(self, withdrawn: str, awaited: list[str]) -> None:
        """Let a withdrawn id serve on until all those awaited are open or gone (law 5)."""
        self._retiring[withdrawn] = dict.fromkeys(awaited)

    def revive(self, added: str) -> bool:
        """Cancel the retirement of an id that is added again (law 6); return whether there was one."""
        return self._retiring.pop(added, None) is not None

    def opened(self, each: str) -> list[int]:
        """Record that this id is open; return the numbers of the requests that are acknowledged by it."""
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
        """Record that this id is gone; return the numbers of the requests that are acknowledged by it."""
        self._retiring.pop(each, None)
        return self.opened(each)

    def settled(self, each: str) -> list[str]:
        """Record that this id is open or gone; return the ids that need not serve on any more."""
        for awaited in self._retiring.values():
            awaited.pop(each, None)
        return [gone for gone, awaited in self._retiring.items() if not awaited]

    def _leave_request(self, each: str) -> None:
        number = self._closed.pop(each, None)
        if number is not None:
            self._requests[number].pop(each, None)
            if not self._requests[number]:
                del self._requests[number]  # A neighbour that asks anew waits for the later acknowledgement.

    def __len__(self) -> int:
        return len(self._retiring)


@define(eq=False)
class _Settlement:
    asker: Hop
    number: int
    awaited: dict[tuple[Hop, int], None]


Answer = tuple[Hop, int]
"""The hop to answer, and the number of its question."""


@define(eq=False)
class Settling:
    """The questions (law 7) that pass through one broker."""

    _questions: list[_Settlement] = Factory(list)

    def pass_on(self, asker: Hop, number: int, asked: Iterable[tuple[Hop, int]]) -> list[Answer]:
        """Record that these neighbours have been asked in turn, under those numbers."""
        self._questions.append(_Settlement(asker, number, dict.fromkeys(asked)))
        return self._due()

    def answered(self, neighbour: Hop, number: int) -> list[Answer]:
        """Record a neighbour's answer, maybe to one of these; return the answers that are due."""
        for question in self._questions:
            question.awaited.pop((neighbour, number), None)
        return self._due()

    def link_lost(self, link: Hop) -> list[Answer]:
        """Count a lost link as having answered, and drop the questions that came through it."""
        self._questions = [question for question in self._questions if question.asker is not link]
        for question in self._questions:
            for key in [key for key in question.awaited if key[0] is link]:
                del question.awaited[key]
        return self._due()

    def _due(self) -> list[Answer]:
        due = [question for question in self._questions if not question.awaited]
        if due:
            self._questions = [question for question in self._questions if question.awaited]
        return [(question.asker, question.number) for question in due]

    def __len__(self) -> int:
        return len(self._questions)
