"""Publishers of clients: which publications are taken, and what is remembered of a publisher that went away.

Laws:

1. A publisher's publications are taken in sequence, each once: what was taken before is dropped silently (a
   client that reconnects sends again what it does not know to be taken), a jump breaks the protocol.
2. What does not match the advertisement ends the publisher, not the connection.
3. A publisher that a broken connection leaves behind may be resumed by a client of the same name and user.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from attrs import define, field, frozen

from broker.filters import Filter
from broker.filters.constraints import Value
from broker.shell.auth import User

__all__ = ["LocalPublisher", "Owner", "Retired", "RetiredPublishers"]

RETIRED_COUNT_MAX: Final = 10_000
"""Publishers remembered after their connection broke: a megabyte or two. The oldest is forgotten; its client
then gets a new id, which is correct but may deliver again what it sends again."""


class Owner(Protocol):
    """The session of the client that publishes."""

    name: str
    user: User

    def advertised(self, publisher: "LocalPublisher") -> None:
        """The publisher's barrier is passed."""
        ...

    def abandon(self, reason: str) -> None:
        """Withdraw everything now and close the connection."""
        ...


@define(eq=False)
class LocalPublisher:
    """One publisher of a connection. `taken` is the last sequence number the core got."""

    id: str
    number: int
    filter: Filter
    taken: int
    _owner: Owner
    is_open: bool = field(default=False, init=False)
    matches: Callable[[Mapping[str, Value]], bool] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.matches = self.filter.compiled()

    def opened(self) -> None:
        """The barrier is passed: it may publish."""
        self.is_open = True
        self._owner.advertised(self)

    def is_of(self, client: str, user: str) -> bool:
        """Whether it belongs to a client of that name and user."""
        return (self._owner.name, self._owner.user.name) == (client, user)

    def abandon(self, reason: str) -> None:
        """End the connection that it was made on."""
        self._owner.abandon(reason)


@frozen
class Retired:
    """What has to be known to go on: whose publisher it was, and how far it had come."""

    client: str
    user: str
    taken: int


@define(eq=False)
class RetiredPublishers:
    """Publishers whose connection broke, oldest first."""

    _known: OrderedDict[str, Retired] = field(factory=OrderedDict)

    def retire(self, publisher: str, retired: Retired) -> None:
        """Remember one."""
        self._known[publisher] = retired
        if len(self._known) > RETIRED_COUNT_MAX:
            self._known.popitem(last=False)

    def resume(self, publisher: str, client: str, user: str) -> int | None:
        """Forget one that goes on; return the last sequence number taken, or None if it is not theirs."""
        known = self._known.get(publisher)
        if known is None or (known.client, known.user) != (client, user):
            return None
        del self._known[publisher]
        return known.taken
