"""Publishers of clients: which publications are accepted, and how a publisher is resumed.

Laws:

1. A publisher's publications are taken in sequence, each once: one that was taken before is dropped silently
   (a client that reconnects sends all unacknowledged ones again), a jump breaks the protocol.
2. A publication that does not match the advertisement ends the publisher, not the connection.
3. A publisher stays advertised until its timeout. After that it is withdrawn, and its last sequence number is
   remembered: a client of the same name and user may still resume it.
4. A client follows the filters that overlap the advertisement for as long as its connection has the
   publisher. Its account is charged with the text that this may take.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from attrs import define, field

from broker.core.interest import INTEREST_BYTES_MAX, InterestDifference, InterestWatch
from broker.filters import Filter
from broker.filters.constraints import Value
from broker.node.access import User
from broker.node.budget import Account, Resource
from broker.node.exchange import Exchange
from broker.station import LocalPublisherState


class PublisherNotices(Protocol):
    """Notifies a client of what concerns its publishers, when it has room."""

    def wanted(self, publisher: "LocalPublisher") -> bool:
        """Notify the client whether the publisher is wanted; return false if that has to wait."""
        ...

    def interest(self, publisher: "LocalPublisher") -> None:
        """Notify the client of the filters that have come and gone, now or later."""
        ...


class PublisherOwner(Protocol):
    """The session of the client that publishes."""

    @property
    def notices(self) -> PublisherNotices:
        """What notifies its client."""
        ...

    def advertised(self, publisher: "LocalPublisher") -> None:
        """Answer the advertisement: the publisher's barrier is passed."""
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
    _notified_wanted: bool | None = field(default=None, init=False)
    """The last notification on this connection; None before the publisher may publish."""
    interest_number: int = field(default=0, init=False)
    """The request under which the client follows the filters that overlap the advertisement; 0: none."""
    _watch: InterestWatch | None = field(default=None, init=False)
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
        """Whether a subscription, at any broker, overlaps its advertisement."""
        return self.state.is_wanted

    @property
    def is_open(self) -> bool:
        """Whether its barrier is passed, so that it may publish."""
        return self.state.is_open

    @property
    def station_key(self) -> tuple[str, str]:
        """The kind and name of its state at the station."""
        return "publisher", self.id

    def is_of(self, client: str, user: str) -> bool:
        """Whether it belongs to a client of that name and user."""
        return (self.state.client, self.state.user) == (client, user)

    def attach(self, owner: PublisherOwner, number: int) -> None:
        """Connect it to its client, which calls it by this number."""
        self._exchange.reconnect_timeouts.cancel(self)
        self.owner, self.number, self._notified_wanted = owner, number, None
        if self.is_open:
            self.opened()

    def opened(self) -> None:
        """Notify the client that the barrier is passed: it may publish."""
        if self.owner is not None:
            self._notified_wanted = self.is_wanted
            self.owner.advertised(self)

    def wanted(self) -> None:
        """Notify the client whether the publisher is wanted, if that has changed."""
        if self.owner is None or self._notified_wanted in {None, self.is_wanted}:
            return
        is_wanted = self.is_wanted
        if self.owner.notices.wanted(self):
            self._notified_wanted = is_wanted

    def follow(self, number: int) -> None:
        """Notify the client from now on of the filters that overlap the advertisement."""
        assert self._watch is None, f"{self.id} is followed already"
        self._account.charge(Resource.FILTER_BYTES, INTEREST_BYTES_MAX)
        self.interest_number = number
        self._watch = self._exchange.core.tables.watch_interest(self.id)
        self.interest_changed()

    def _unfollow(self) -> None:
        if self._watch is not None:
            self._account.release(Resource.FILTER_BYTES, INTEREST_BYTES_MAX)
            self._exchange.core.tables.demand.unwatch(self.id)
            self._watch, self.interest_number = None, 0

    def interest_changed(self) -> None:
        """Notify the client of the filters that have come and gone, if it follows them."""
        if self.owner is not None and self._watch is not None:
            self.owner.notices.interest(self)

    def take_interest(self) -> InterestDifference:
        """Return the difference to what the client was notified of."""
        assert self._watch is not None, "nobody follows it"
        return self._watch.take()

    @property
    def followed_bytes(self) -> int:
        """How much text of others' filters may be kept for its client."""
        return 0 if self._watch is None else INTEREST_BYTES_MAX

    def refusal_to_follow(self, user: User, accounts: Iterable[Account]) -> tuple[str, str] | None:
        """Return why its client may not follow the filters of others, as a code and a text, or None."""
        if not user.may("interest"):
            return "not-allowed", f"user {user.name!r} may not see the filters of others"
        if self._watch is not None:
            return "unexpected", f"the filters that overlap {self.filter} are followed already"
        texts = (each.refusal(Resource.FILTER_BYTES, INTEREST_BYTES_MAX) for each in accounts)
        return next((("too-many", text) for text in texts if text), None)

    def detach(self) -> None:
        """Disconnect it, and start its timeout."""
        self._unfollow()
        self.owner = None
        self._exchange.reconnect_timeouts.start(self, self._link_timeout_s)

    def give_up(self) -> None:
        """Withdraw it: it was not resumed in time."""
        self.withdraw()

    def withdraw(self) -> None:
        """Withdraw the advertisement, and remember the last sequence number."""
        self._exchange.reconnect_timeouts.cancel(self)
        self._unfollow()
        self.owner = None
        del self._exchange.publishers[self.id]
        self._account.release(Resource.REQUESTS)
        self._account.release(Resource.FILTER_BYTES, self.filter_bytes)
        self._exchange.station.unadvertise(self.id, retire=True)
