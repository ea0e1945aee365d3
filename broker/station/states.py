"""The states of links, publishers and subscriptions that a station keeps, with or without a connection.

Law: a state holds nothing of a connection, but for since when there is none (`disconnected_since`, where
timeouts are recorded). So it is the same after a restart, and a session resumes from it.

Timeouts over restarts.

1. Time is an input of the station like everything else: how much has passed while the broker was up, how much
   while it was down, and the time of the wall clock. Nothing here reads a clock.
2. A disconnected session keeps the sums of its moment. So passing time is recorded once for all of them.
3. For links, publishers and plain subscriptions the time counts in which the broker was up: while it is down
   no session can be resumed. The age of a durable subscription counts all the time.
"""

from typing import Final

from attrs import define, field, frozen

from broker.core import Hop
from broker.filters import Filter
from broker.messages import LinkMessage
from broker.sessions import Batch, Missing, Retained

MS: Final = 1000


@frozen
class DisconnectedSince:
    """The sums of elapsed time at the moment in which a session was disconnected."""

    awake_ms: int
    asleep_ms: int


@define(eq=False)
class ElapsedTime:
    """Elapsed time since the broker's first start; `reported_at_ms` is the wall time of the last report."""

    awake_ms: int = 0
    asleep_ms: int = 0
    reported_at_ms: int = 0

    def passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """Add time that has passed, and the wall time of this report."""
        self.awake_ms += awake_ms
        self.asleep_ms += asleep_ms
        self.reported_at_ms = at_ms

    def now(self) -> DisconnectedSince:
        """Return the present sums, for a session that is disconnected now."""
        return DisconnectedSince(self.awake_ms, self.asleep_ms)

    def awake_s(self, since: DisconnectedSince) -> float:
        """Return how long the broker has been up since then."""
        return (self.awake_ms - since.awake_ms) / MS

    def asleep_s(self, since: DisconnectedSince) -> float:
        """Return how long the broker has been down since then."""
        return (self.asleep_ms - since.asleep_ms) / MS


@define(eq=False)
class LinkState:
    """An open link. Its session survives its connections; both ends know it by the id `session`.

    `received` counts the session frames received. `verdict` is why the other tree rejected us, if it
    did: the link is to be closed.
    """

    name: str
    hop: Hop
    is_uplink: bool
    session: str
    received: int = 0
    verdict: str = ""
    disconnected_since: DisconnectedSince | None = None
    _outgoing: Retained[LinkMessage] = field(factory=Retained)

    @property
    def sent(self) -> int:
        """Return how many session frames were sent, over all connections."""
        return self._outgoing.sent

    @property
    def acknowledged(self) -> int:
        """Return how many session frames the neighbour has acknowledged."""
        return self._outgoing.acknowledged

    @property
    def is_overfull(self) -> bool:
        """Return whether the neighbour leaves too much unacknowledged: the link is to be closed."""
        return self._outgoing.is_overfull

    def after(self, count: int) -> list[LinkMessage]:
        """Return the session frames after the first `count`, in their order."""
        frames: list[LinkMessage] = []
        for batch in self._outgoing.after(count):
            assert not isinstance(batch, Missing), "nothing is dropped on a link"
            frames += batch
        return frames


@define(eq=False)
class LocalPublisherState:
    """A local publisher that is advertised. `taken` is the last sequence number that the station took.

    It `is_wanted` while some subscription, anywhere, overlaps what it has advertised.
    """

    id: str
    filter: Filter
    client: str
    user: str
    taken: int = 0
    is_open: bool = False
    is_wanted: bool = False
    disconnected_since: DisconnectedSince | None = None


@frozen
class SubscriptionTerms:
    """The request of a local subscription, and its owner: the same from the request to the state.

    `durable` is its name if it has one; then it outlives its client for `age_s` (0: as long as the broker
    allows). `policy` applies when the queue holds more than `bound_bytes`.
    """

    filter: Filter
    ordered: bool
    client: str = ""
    user: str = ""
    durable: str = ""
    bound_bytes: int = 0
    policy: str = ""
    age_s: int = 0

    @property
    def durable_name(self) -> tuple[str, str, str]:
        """The key of a durable subscription among all of this broker."""
        return self.user, self.client, self.durable


@define(eq=False)
class LocalSubscriptionState:
    """A local subscription and its stream of deliveries.

    Positions count deliveries from 1; dropped deliveries keep their numbers.
    """

    id: str
    terms: SubscriptionTerms
    hop: Hop
    is_open: bool = False
    disconnected_since: DisconnectedSince | None = None
    _stream: Retained[LinkMessage] = field(factory=Retained)

    @property
    def emitted(self) -> int:
        """The position of the newest delivery."""
        return self._stream.sent

    @property
    def taken(self) -> int:
        """The position up to which the program has confirmed all deliveries."""
        return self._stream.acknowledged

    def after(self, position: int) -> list[Batch[LinkMessage]]:
        """Return the deliveries after this position."""
        return self._stream.after(position)
