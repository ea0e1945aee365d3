"""What a broker says to a client as its outbox has room: long answers, and what follows from others.

Laws.

1. An answer is made as it is sent, in pages that fit into frames: it takes no memory while nobody reads it.
   Requests behind it wait for its end.
2. Of what others change, the client is told what holds when there is room, not every change.
"""

from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import Final

from attrs import define, field

from broker.core.pages import cut
from broker.healing import describe_search
from broker.messages import Explained, Wanted
from broker.node.connection import Connection
from broker.node.exchange import Exchange
from broker.node.publishers import LocalPublisher
from broker.page_limits import PAGE_ITEMS_BYTES
from broker.wire import encode

__all__ = ["Later", "lines_about", "pages_of"]

LINES_AT_ONCE: Final = 64
"""Lines of a long answer that are made together: one to eight pages."""


@define(eq=False)
class Later:
    """What one client is still to be told."""

    _connection: Connection
    _outbox_bytes: int
    is_pending: bool = field(default=False, init=False)
    """Whether something waits for room."""
    _pages: Iterator[bytes] | None = field(default=None, init=False)
    _unsaid: dict[LocalPublisher, None] = field(factory=dict, init=False)

    @property
    def has_room(self) -> bool:
        """Whether the client reads what it is told."""
        return self._connection.outbox_bytes <= self._outbox_bytes

    def say(self, pages: Iterator[bytes]) -> None:
        """Send these as there is room; nothing more is handled before all of them have gone (law 1)."""
        self._pages = pages
        self.go_on()

    def wanted(self, publisher: LocalPublisher) -> bool:
        """Say whether anybody wants to hear from the publisher; return false if it is asked later (law 2)."""
        if not self.has_room:
            self._unsaid[publisher] = None
            self.is_pending = True
            return False
        self._connection.send(encode(Wanted(publisher.number, publisher.is_wanted)))
        return True

    def go_on(self) -> None:
        """There may be room."""
        if self._pages is not None:
            self._say_pages()
        while self._unsaid and self.has_room:
            self._unsaid.popitem()[0].wanted()
        self.is_pending = self._pages is not None or bool(self._unsaid)

    def _say_pages(self) -> None:
        if self._connection.is_gone:
            self._pages = None
        while self._pages is not None and self.has_room:
            page = next(self._pages, None)
            if page is None:
                self._pages = None
            else:
                self._connection.send(page)
        self._connection.not_before_s = 0.0 if self._pages is None else inf


def lines_about(about: str, exchange: Exchange, client: str, user: str) -> Iterator[str]:
    """Return what there is to say to that client of a user."""
    core = exchange.core
    if about == "durable":
        subscribers = exchange.subscribers.values()
        mine = [each for each in subscribers if each.state.terms.durable and each.is_of(client, user)]
        return (each.describe() for each in mine)
    if about == "uplinks":
        uplink = core.uplink.name if core.uplink is not None else None
        return iter([describe_search(exchange.search, core.roster, uplink, core.below)])
    return iter(core.explain_waiting())


def pages_of(number: int, lines: Iterator[str], *, more: bool = False) -> Iterator[bytes]:
    """Return an answer as the pages that it takes; `more` says that even the last one is not all."""
    page: tuple[str, ...] = ()
    while some := tuple(islice(lines, LINES_AT_ONCE)):
        for following in cut(some, PAGE_ITEMS_BYTES):
            if page:
                yield encode(Explained(number, page, more=True))
            page = following
    yield encode(Explained(number, page, more))
