"""Messages to a client that wait for room in its outbox: long answers, changes of interest and of offers.

Laws.

1. An answer is made as it is sent, in pages that fit into frames: it takes no memory while the client does
   not read it. Requests behind it wait for its end.
2. A client is notified of the present interest in its publishers, of the filters that it follows, and of what
   is on offer, when there is room, not of every change.
"""

from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import Final, Protocol

from attrs import define, field

from broker.core.pages import cut, cut_both
from broker.discovery_messages import Discovered
from broker.healing import describe_search
from broker.interest_messages import InterestListed
from broker.lines import json_line
from broker.messages import Explained, Wanted
from broker.node.connection import Connection
from broker.node.exchange import Exchange
from broker.node.publishers import LocalPublisher
from broker.node.traffic import traffic_of
from broker.page_limits import PAGE_ITEMS_BYTES
from broker.wire import encode

LINES_AT_ONCE: Final = 64
"""Lines of a long answer that are made together: one to eight pages."""


class Offering(Protocol):
    """What a client watches; its next page is made as it is sent."""

    def page(self) -> Discovered | None:
        """Return the next page to send, or None if there is none."""
        ...


@define(eq=False)
class Later:
    """The pending answers and notifications of one client."""

    _connection: Connection
    _outbox_bytes: int
    is_pending: bool = field(default=False, init=False)
    """Whether an answer or notification waits for room."""
    _pages: Iterator[bytes] | None = field(default=None, init=False)
    _unsaid: dict[LocalPublisher, None] = field(factory=dict, init=False)
    _offers: dict[Offering, None] = field(factory=dict, init=False)
    _behind: dict[LocalPublisher, None] = field(factory=dict, init=False)
    """Publishers of which filters have come or gone."""

    @property
    def has_room(self) -> bool:
        """Whether the outbox has room, that is whether the client reads."""
        return self._connection.outbox_bytes <= self._outbox_bytes

    def say(self, pages: Iterator[bytes]) -> None:
        """Send pages as there is room; no request is handled before all of them are sent (law 1)."""
        self._pages = pages
        self.go_on()

    def wanted(self, publisher: LocalPublisher) -> bool:
        """Notify whether the publisher is wanted; return false if the notification has to wait (law 2)."""
        if not self.has_room:
            self._unsaid[publisher] = None
            self.is_pending = True
            return False
        self._connection.send(encode(Wanted(publisher.number, publisher.is_wanted)))
        return True

    def offer(self, offering: Offering) -> None:
        """Send what is on offer, now or as there is room (law 2)."""
        self._offers[offering] = None
        self.go_on()

    def leave_out(self, offering: Offering) -> None:
        """Send no more of it."""
        self._offers.pop(offering, None)

    def interest(self, publisher: LocalPublisher) -> None:
        """Notify of the filters that have come and gone, now or when there is room (law 2)."""
        if not self.has_room:
            self._behind[publisher] = None
            self.is_pending = True
            return
        difference, number = publisher.take_interest(), publisher.interest_number
        added, removed = (tuple(map(str, each)) for each in (difference.added, difference.removed))
        pages = cut_both(added, removed, PAGE_ITEMS_BYTES)
        for place, page in enumerate(pages, 1):
            self._connection.send(encode(InterestListed(number, *page, more=place < len(pages))))

    def go_on(self) -> None:
        """Send pending answers and notifications, as there is room."""
        if self._pages is not None:
            self._say_pages()
        while self._unsaid and self.has_room:
            self._unsaid.popitem()[0].wanted()
        while self._behind and self.has_room:
            self._behind.popitem()[0].interest_changed()
        while self._offers and self.has_room:
            if self._offer_page(next(iter(self._offers))):
                break
        self.is_pending = self._pages is not None or bool(self._unsaid or self._behind or self._offers)

    def _offer_page(self, offering: Offering) -> bool:
        """Send a page, if there is one; the next comes when it has been written: others have their turn."""
        del self._offers[offering]
        if (page := offering.page()) is None:
            return False
        self._connection.send(encode(page))
        self._offers[offering] = None
        return True

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
    """Yield the lines of the answer to this client of a user."""
    core = exchange.core
    if about == "durable":
        subscribers = exchange.subscribers.values()
        mine = [each for each in subscribers if each.state.terms.durable and each.is_of(client, user)]
        return (each.describe() for each in mine)
    if about == "brokers":
        places = sorted(core.roster.everything(), key=lambda place: place.name)
        return (
            json_line({"name": each.name, "address": each.address, "uplink": each.uplink})
            for each in places
            if each.address
        )
    if about == "uplinks":
        uplink = core.uplink.name if core.uplink is not None else None
        return iter([describe_search(exchange.search, core.roster, uplink, core.below)])
    if about == "traffic":
        return traffic_of(exchange)
    return iter(core.explain_waiting())


def pages_of(number: int, lines: Iterator[str], *, more: bool = False) -> Iterator[bytes]:
    """Yield the pages of an answer; `more` means that other pages follow."""
    page: tuple[str, ...] = ()
    while some := tuple(islice(lines, LINES_AT_ONCE)):
        for following in cut(some, PAGE_ITEMS_BYTES):
            if page:
                yield encode(Explained(number, page, more=True))
            page = following
    yield encode(Explained(number, page, more))
