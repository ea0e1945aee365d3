"""Publishers of clients: which publications are taken, and what happens to one whose connection broke.

Laws:

1. A publisher's publications are taken in sequence, each once: what was taken before is dropped silently (a
   client that reconnects sends again what it does not know to be taken), a jump breaks the protocol.
2. What does not match the advertisement ends the publisher, not the connection.
3. A publisher stays advertised while its client may come back. After that it is withdrawn, and what was taken
   of it is remembered: a client of the same name and user may still resume it.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from attrs import define, field

from broker.filters import Filter
from broker.filters.constraints import Value
from broker.node.budget import Account, Resource
from broker.node.exchange import Exchange
from broker.station import LocalPublisherState

__all__ = ["LocalPublisher", "PublisherOwner"]


class PublisherOwner(Protocol):
    """The session of the client that publishes."""

    def advertised(self, publisher: "LocalPublisher") -> None:
        """The publisher's barrier is passed."""
        ...

    def wanted(self, publisher: "LocalPublisher") -> bool:
        """Say whether anybody wants to hear from the publisher; return false if it has to be asked later."""
        ...

    def abandon(self, reason: str) -> None:
        """End the connection now; what it carried stays."""
        ...


@define(eq=False)
class LocalPublisher:
    """One publisher. `number` is its request on the connection of `owner`, if it has one now."""

    state: LocalPublisherState
    _exchange: Exchange
    _link_timeout_s: float
    number: int = field(default=0, init=False)
    owner: PublisherOwner | None = field(default=None, init=False)
    _is_told_wanted: bool | None = field(default=None, init=False)
    """What its client has been told on this connection; None before it may publish."""
    matches: Callable[[Mapping[str, Value]], bool] = field(init=False)
    _account: Account = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.matches = self.state.filter.compiled()
        self._account = self._exchange.budgets.user(self.state.user)
        self._account.charge(Resource.REQUESTS)
        self._account.charge(Resource.FILTER_BYTES, self.filter_bytes)
        self._exchange.publishers[self.id] = self

    @property
    def id(self) -> str:
        """The id under which it publishes."""
        return self.state.id

    @property
    def filter(self) -> Filter:
        """What it has advertised."""
        return self.state.filter

    @property
    def filter_bytes(self) -> int:
        """How large its filter is as text."""
        return len(str(self.state.filter))

    @property
    def taken(self) -> int:
        """The last sequence number that was taken."""
        return self.state.taken

    @property
    def is_wanted(self) -> bool:
        """Whether anybody, anywhere, has subscribed to something that it may publish."""
        return self.state.is_wanted

    @property
    def is_open(self) -> bool:
        """Whether its barrier is passed, so that it may publish."""
        return self.state.is_open

    @property
    def station_key(self) -> tuple[str, str]:
        """Its place at the station."""
        return "publisher", self.id

    def is_of(self, client: str, user: str) -> bool:
        """Whether it belongs to a client of that name and user."""
        return (self.state.client, self.state.user) == (client, user)

    def attach(self, owner: PublisherOwner, number: int) -> None:
        """Its client is there, and knows it by this number."""
        self._exchange.reconnect_timeouts.cancel(self)
        self.owner, self.number, self._is_told_wanted = owner, number, None
        if self.is_open:
            self.opened()

    def opened(self) -> None:
        """The barrier is passed: it may publish."""
        if self.owner is not None:
            self._is_told_wanted = self.is_wanted
            self.owner.advertised(self)

    def wanted(self) -> None:
        """Somebody wants to hear from it from now on, or nobody does any more."""
        if self.owner is None or self._is_told_wanted in {None, self.is_wanted}:
            return
        is_wanted = self.is_wanted
        if self.owner.wanted(self):
            self._is_told_wanted = is_wanted

    def detach(self) -> None:
        """Its connection is over: wait for another one."""
        self.owner = None
        self._exchange.reconnect_timeouts.start(self, self._link_timeout_s)

    def give_up(self) -> None:
        """Its client did not come back in time."""
        self.withdraw()

    def withdraw(self) -> None:
        """Withdraw the advertisement, and remember what was taken."""
        self._exchange.reconnect_timeouts.cancel(self)
        self.owner = None
        del self._exchange.publishers[self.id]
        self._account.release(Resource.REQUESTS)
        self._account.release(Resource.FILTER_BYTES, self.filter_bytes)
        self._exchange.station.unadvertise(self.id, retire=True)
