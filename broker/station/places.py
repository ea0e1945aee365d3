"""What a station remembers of each neighbour, publisher and subscription, connected or not.

Law: a place holds nothing of a connection, but for whether there is none (`away`, where that is remembered).
So it is the same after a restart, and whoever connects finds what was going on.

For how long somebody has been waited for, over restarts.

1. Time is an input of the station like everything else: so much has passed while the broker was up, so much
   while it was down, and what a clock on the wall says. Nothing here reads a clock.
2. Who left remembers what the sums were then. So what passes is recorded once for everybody who is away.
3. For links, publishers and plain subscriptions the time counts in which the broker was up: while it is down
   nobody can come back. The age of a durable subscription counts all the time.
"""

from typing import Final

from attrs import define, field, frozen

from broker.core import Hop
from broker.filters import Filter
from broker.messages import LinkMessage
from broker.sessions import Batch, Missing, Retained

MS: Final = 1000


@frozen
class Away:
    """What the sums were when somebody left."""

    awake_ms: int
    asleep_ms: int


@define(eq=False)
class Waited:
    """The sums, since the broker's first start; `told_at_ms` is the wall's time when they were told last."""

    awake_ms: int = 0
    asleep_ms: int = 0
    told_at_ms: int = 0

    def passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """So much more has passed."""
        self.awake_ms += awake_ms
        self.asleep_ms += asleep_ms
        self.told_at_ms = at_ms

    def now(self) -> Away:
        """Somebody leaves."""
        return Away(self.awake_ms, self.asleep_ms)

    def awake_s(self, since: Away) -> float:
        """How long the broker has been up since then."""
        return (self.awake_ms - since.awake_ms) / MS

    def asleep_s(self, since: Away) -> float:
        """How long it has been down since then."""
        return (self.asleep_ms - since.asleep_ms) / MS


@define(eq=False)
class LinkPlace:
    """An open link. Its session survives its connections; both ends know it by the id `session`.

    `received` counts the session frames that have come. `verdict` says why the other tree rejected us, if it
    did: the link is to be closed.
    """

    name: str
    hop: Hop
    is_uplink: bool
    session: str
    received: int = 0
    verdict: str = ""
    away: Away | None = None
    _outgoing: Retained[LinkMessage] = field(factory=Retained)

    @property
    def sent(self) -> int:
        """How many session frames were sent, over whatever connections."""
        return self._outgoing.sent

    @property
    def acknowledged(self) -> int:
        """How many of them the neighbour is known to have."""
        return self._outgoing.acknowledged

    @property
    def is_overfull(self) -> bool:
        """Whether the neighbour leaves too much unacknowledged: the link is to be closed."""
        return self._outgoing.is_overfull

    def after(self, count: int) -> list[LinkMessage]:
        """Return the session frames after the first `count`, in their order."""
        frames: list[LinkMessage] = []
        for batch in self._outgoing.after(count):
            assert not isinstance(batch, Missing), "nothing is dropped on a link"
            frames += batch
        return frames


@define(eq=False)
class PublisherPlace:
    """A local publisher that is advertised. `taken` is the last sequence number taken of it.

    It `is_wanted` while some subscription, anywhere, overlaps what it has advertised.
    """

    id: str
    filter: Filter
    client: str
    user: str
    taken: int = 0
    is_open: bool = False
    is_wanted: bool = False
    away: Away | None = None


@frozen
class SubscriptionTerms:
    """What a local subscription asks for, and whose it is: the same from its request to its place.

    `durable` is its name if it has one; then it outlives its client for `age_s` (0: as long as the broker
    allows). `policy` says what a queue means that has more than `bound_bytes`.
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
        """The name of a durable one among all of this broker."""
        return self.user, self.client, self.durable


@define(eq=False)
class SubscriptionPlace:
    """A local subscription and its stream of deliveries.

    Positions count deliveries from 1; what was dropped keeps its numbers.
    """

    id: str
    terms: SubscriptionTerms
    hop: Hop
    is_open: bool = False
    away: Away | None = None
    _stream: Retained[LinkMessage] = field(factory=Retained)

    @property
    def emitted(self) -> int:
        """The position of the newest delivery."""
        return self._stream.sent

    @property
    def taken(self) -> int:
        """Up to which position its user has had everything."""
        return self._stream.acknowledged

    def after(self, position: int) -> list[Batch[LinkMessage]]:
        """Return what the stream has after this position."""
        return self._stream.after(position)
