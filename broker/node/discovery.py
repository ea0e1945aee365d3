"""Clients that watch what is on offer: a snapshot of the advertisements, and then their changes.

Laws.

1. Once nothing waits, a client knows exactly the advertisements of this broker's tables that overlap its
   filter and that the rule of its user for subscribing covers.
2. It learns of the present state when its outbox has room, not of each change: what came and went meanwhile
   is left out.
3. A watch keeps at most `CHANGES_MAX` changes for a client that does not read; instead of more it begins a
   new snapshot, which is made as it is sent.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from attrs import define, field, frozen

from broker.discovery_messages import Discovered
from broker.filters import Filter
from broker.node.access import User
from broker.node.answers import Later
from broker.node.budget import Account, Resource
from broker.node.exchange import Exchange
from broker.page_limits import PAGE_ITEMS_BYTES
from broker.routing.flooding import EVERYTHING

CHANGES_MAX: Final = 1000
"""Changes that wait for one client: some hundred kilobytes, as every filter is in the tables anyway."""

FULL_BYTES: Final = PAGE_ITEMS_BYTES // 2
"""A page of so many bytes is full: the largest advertisement with its id takes a sixth of a page."""

LOOKED_AT_ONCE: Final = 256
"""Advertisements that are looked at for one page of a snapshot: a few milliseconds of a step."""

_HEADS_BYTES: Final = 8


@define(eq=False)
class CatalogueWatch:
    """One request of a client: what it asked for, and what it has still to be sent."""

    number: int
    filter: Filter
    _rule: Filter
    _exchange: Exchange
    _later: Later
    _snapshot: Iterator[str] | None = field(default=None, init=False)
    _is_anew: bool = field(default=False, init=False)
    _changes: dict[str, Filter | None] = field(factory=dict, init=False)

    def begin(self) -> None:
        """Begin a snapshot; changes that wait are part of it."""
        self._changes.clear()
        identities = tuple(self._exchange.core.tables.advertisements_but(None))
        self._snapshot, self._is_anew = iter(identities), True
        self._later.offer(self)

    def changed(self, changes: Iterable[tuple[str, Filter | None, Filter | None]]) -> None:
        """Take advertisements with their filters before and now; None: there is none (law 1)."""
        for identity, before, now in changes:
            if self._shows(identity, now):
                self._changes[identity] = now
            elif self._shows(identity, before):
                self._changes[identity] = None
        if len(self._changes) > CHANGES_MAX:
            self.begin()
        elif self._changes:
            self._later.offer(self)

    def _shows(self, identity: str, content: Filter | None) -> bool:
        """Return whether the client may know of an advertisement, and has asked for it."""
        return (
            content is not None
            and identity != EVERYTHING.id
            and content.overlaps(self.filter)
            and self._rule.covers(content)
        )

    def page(self) -> Discovered | None:
        """Return the next page to send, or None if there is none (law 2)."""
        if self._snapshot is not None:
            return self._snapshot_page(self._snapshot)
        if not self._changes:
            return None
        filling = _Filling()
        while self._changes and not filling.is_full:
            identity = next(iter(self._changes))
            filling.put(identity, self._changes.pop(identity))
        return Discovered(self.number, tuple(filling.added), tuple(filling.removed))

    def _snapshot_page(self, identities: Iterator[str]) -> Discovered:
        """Look on until a page is full, or it has taken long; the last page ends the snapshot."""
        filling, tables = _Filling(), self._exchange.core.tables
        for looked_count, identity in enumerate(identities, 1):
            content = tables.advertisement(identity)
            if self._shows(identity, content):
                filling.put(identity, content)
            if filling.is_full or looked_count == LOOKED_AT_ONCE:
                break
        else:
            self._snapshot = None
        is_anew, self._is_anew = self._is_anew, False
        return Discovered(self.number, tuple(filling.added), anew=is_anew, more=self._snapshot is not None)


@define(eq=False)
class _Filling:
    """A page that is being filled."""

    added: list[tuple[str, str]] = field(factory=list)
    removed: list[str] = field(factory=list)
    _size_bytes: int = 0

    def put(self, identity: str, content: Filter | None) -> None:
        """Add an advertisement that stands, or one that is gone."""
        text = "" if content is None else str(content)
        self._size_bytes += _HEADS_BYTES + len(identity.encode()) + len(text.encode())
        if content is None:
            self.removed.append(identity)
        else:
            self.added.append((identity, text))

    @property
    def is_full(self) -> bool:
        """Whether the page can take no more of any size."""
        return self._size_bytes >= FULL_BYTES


@frozen(eq=False)
class Discovery:
    """The watches of one client by the numbers of its requests; each is charged to it, as a route is."""

    _exchange: Exchange
    _user: User
    _account: Account
    _later: Later
    _watches: dict[int, CatalogueWatch] = field(factory=dict, init=False)

    @property
    def _accounts(self) -> tuple[Account, Account]:
        return self._account, self._exchange.budgets.user(self._user.name)

    def refusal(self) -> str:
        """Return why one more watch is refused, or ""."""
        return next((text for each in self._accounts if (text := each.refusal(Resource.WATCHES))), "")

    def begin(self, number: int, content: Filter) -> None:
        """Begin a watch for a user who may subscribe to something."""
        rule = self._user.subscribe
        assert rule is not None, "who may subscribe to nothing has been refused"
        watch = self._watches[number] = CatalogueWatch(number, content, rule, self._exchange, self._later)
        for account in self._accounts:
            account.charge(Resource.WATCHES)
            account.charge(Resource.FILTER_BYTES, len(str(content)))
        self._exchange.watches[watch] = None
        watch.begin()

    def end(self, number: int) -> None:
        """End the watch of that number, if there is one."""
        if (watch := self._watches.pop(number, None)) is None:
            return
        for account in self._accounts:
            account.release(Resource.WATCHES)
            account.release(Resource.FILTER_BYTES, len(str(watch.filter)))
        del self._exchange.watches[watch]
        self._later.leave_out(watch)

    def end_all(self) -> None:
        """End all watches: the client has gone."""
        for number in list(self._watches):
            self.end(number)
