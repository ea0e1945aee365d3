"""One law of the client's machine broken per function."""

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from broker.client.inbox import Inbox
from broker.client.interest import FollowedInterest
from broker.client.machine import ClientMachine
from broker.client.offers import Offers
from broker.client.seen import SeenEvents
from broker.client.session import Session
from broker.client.silence import Due, Silence
from broker.client.window import PendingFlush, SendWindow, Source
from broker.discovery_messages import Discovered
from broker.interest_messages import FollowInterest

_consumed = Inbox.consumed
_take = SendWindow.take
_put_offers = Offers.put


def does_not_rewind(self: SendWindow) -> None:
    """Do not send again the publications that were unconfirmed when the connection broke."""
    self._open = None
    self._unflushed_bytes = 0
    self.credit_bytes = 0


def drops_one_more(self: SendWindow, source: Source, sequence: int) -> None:
    """Count one more publication as taken than the broker has confirmed."""
    _taken(self, source, sequence + 1)


_taken = SendWindow.taken


def renames_without_counting(self: SendWindow, source: Source, publisher: str) -> None:
    """Go on with the old sequence numbers under a new id."""
    del self
    source.name(publisher)


def forgets_what_is_flushed_later(self: SendWindow, place: PendingFlush) -> None:
    """Count everything that was sent as taken over when any flush is answered."""
    place.is_done = True
    while self._sent:
        entry = self._sent.popleft()
        if isinstance(entry, PendingFlush):
            entry.is_done = True
        else:
            self._drop(entry)


def sends_without_credit(self: SendWindow, size_bytes: int) -> Iterator[Any]:
    """Send publications without credit."""
    self.credit_bytes = max(self.credit_bytes, 1 << 30)
    return _take(self, size_bytes)


def awaits_no_answer(self: Session, source: Source) -> None:
    """Publish before the broker has answered which publications it has taken."""
    _ask_source(self, source)
    self._awaited.discard(source.number)


_ask_source = Session._ask_source


def counts_no_gap(self: Inbox, count: int, reason: str) -> None:
    """Count no position for missing deliveries."""
    before = self.position
    _gap(self, count, reason)
    self.position = before


_gap = Inbox.gap


def gives_no_credit_back(self: Inbox, count: int) -> int:
    """Give no credit back."""
    _consumed(self, count)
    return 0


def gives_credit_twice(self: Inbox, count: int) -> int:
    """Give credit back twice."""
    return _consumed(self, count) * 2


def acknowledges_what_was_read(self: Inbox, position: int) -> int:
    """Take everything that was read for acknowledged."""
    return _acknowledge(self, max(position, self.yielded))


def gives_no_credit_for_acknowledgements(self: Inbox, position: int) -> int:
    """Give no credit back when the program acknowledges."""
    _acknowledge(self, position)
    return 0


_acknowledge = Inbox.acknowledge


def forgets_what_it_had(self: SeenEvents, frame: bytes) -> bool:
    """Take everything for new."""
    del self, frame
    return True


def counts_nothing_skipped(self: Inbox, frames: list[bytes], first: int, seen: SeenEvents) -> None:
    """Count no position for what has come before."""
    before = self._held_count
    _put_new(self, frames, first, seen)
    self.position += self._held_count - before


_put_new = Inbox._put_new


def stays_for_ever(self: ClientMachine, reason: str, now_s: float) -> None:
    """Never dial another broker."""
    address = self.address
    _wait(self, reason, now_s)
    self.address = address


def leaves_at_once(self: ClientMachine, reason: str, now_s: float) -> None:
    """Dial another broker although the last one keeps what is ours."""
    self._kept_s = 0.0
    _wait(self, reason, now_s)


_wait = ClientMachine._wait


def goes_on_one_too_early(self: Inbox) -> tuple[int, ...]:
    """Resume behind one delivery fewer than has arrived."""
    if self.id:
        return (max(0, self.position - 1),)
    return () if self.after is None else (self.after,)


def goes_on_where_it_was_had(self: Inbox) -> tuple[int, ...]:
    """Resume behind the last delivery that the program has had, although more have arrived."""
    if self.id:
        return (self.had,)
    return () if self.after is None else (self.after,)


def ignores_silence(self: Silence, now_s: float) -> Due:
    """Never declare a silent connection lost."""
    self.deadline_s = now_s + self.heartbeat_s
    return Due.ASK


def says_everything_was_had(self: Inbox) -> int | None:
    """Confirm every delivery that has arrived, whether the program has had it or not."""
    if self.position == self._confirmed:
        return None
    self._confirmed = self.position
    return self.position


def misses_no_forgotten(self: Inbox, position: int) -> None:
    """Deliver no gap when the broker has forgotten a subscription."""
    for entry in self._entries:
        entry.end = position
    self._reading, self._reading_end = None, position
    self.had = position


def dials_never_again(self: ClientMachine, now_s: float) -> None:
    """Do not dial again after a connection has ended."""
    if self.life.name in {"CONNECTED", "DRAINING", "LEAVING"}:
        self._tick_connected(now_s)


def asks_inboxes_last(self: Session, inbox: Inbox, now_s: float) -> None:
    """Subscribe again without the id of the earlier subscription."""
    identity, inbox.id = inbox.id, ""
    _ask_inbox(self, inbox, now_s)
    inbox.id = identity


_ask_inbox = Session._ask_inbox


def keeps_old_offers(self: Offers, page: Discovered) -> None:
    """Keep what was on offer before a lost connection beside what the new snapshot has."""
    _put_offers(self, evolve(page, anew=False))


def goes_on_with_the_old_list(self: FollowedInterest, number: int) -> FollowInterest:
    """Add the list of a new connection to that of the one before."""
    self.number = number
    return FollowInterest(number, self.source.number)
