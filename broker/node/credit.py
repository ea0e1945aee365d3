"""Flow control: how many bytes of publications a neighbour or a client may still send to this broker.

Laws:

1. Only publication frames need credit. All other frames are small and are sent in their turn.
2. A sender may begin a frame while its credit is positive; the frame may overdraw it. So a frame larger than
   the whole window passes, and the receiver holds at most one frame more than it granted.
3. Credit is returned when the publications read have been forwarded: a `CreditBatch` is held by every
   outgoing queue that they went to, and returns its bytes when the last of these has released it.
4. Clients' windows shrink as publishing clients become many (`Share`), so that the bytes under way towards
   one queue stay about the same, however many publish.

Why there is no circular wait. Look at a tree of brokers from its leaves. Downwards: a broker returns credit
to its uplink when its lower links have taken the publications; they depend on the brokers below alone, and at
the leaves on subscriptions, for which no publisher waits longer than `SLOW_AFTER_S`
(`broker.node.backpressure`). So downward queues always drain. Upwards: a root forwards downwards only, so it
always returns credit in the end; a broker below it waits for its uplink queue, which drains because its
parent returns credit, and for its downward queues, which drain as shown. Publications that are pending in the
ordering plugin wait for an acknowledgement from the uplink; it comes down, is a control message, and has only
downward traffic before it. Lower hops get no credit while too many publications are pending; the uplink's
credit never depends on that, so the acknowledgement always arrives.
"""

from typing import Protocol

from attrs import define, field

SHARED_BYTES = 4 * 1024 * 1024
"""The bytes that all publishing clients may have under way together: half the default limit of a queue, so
that a queue at its soft mark (a quarter) has room for everything that was already granted."""

SHARE_BYTES_MIN = 16 * 1024
"""No window is smaller: about a hundred small events keep a connection busy for the time of a round trip."""

SHARE_BYTES_MAX = 512 * 1024
"""No window is larger: two full reads, one being handled while the next arrives."""

LINK_BYTES = 1024 * 1024
"""The bytes that the other end of a link may have under way: 20 MB/s over a round trip of 50 ms."""

FIRST_BYTES = 64 * 1024
"""The credit that a client is granted with its welcome, before it advertises."""


GRANT_PART = 4
"""Credit is granted in this part of the window, or more."""


class Granting(Protocol):
    """A session whose peer may be granted credit."""

    def grant(self) -> None:
        """Return credit to the peer if there is enough to return."""
        ...


class Sizing(Protocol):
    """The present size of the windows of some connections."""

    size_bytes: int

    def join(self) -> None:
        """One more connection publishes."""
        ...

    def leave(self) -> None:
        """One connection fewer publishes."""
        ...


@define(eq=False)
class LinkSize:
    """The window of every link: few, and often far away, so that a round trip needs much under way."""

    size_bytes: int = LINK_BYTES

    def join(self) -> None:
        """Nothing changes for the others."""

    def leave(self) -> None:
        """Nothing changes for the others."""


@define(eq=False)
class Share:
    """The part of `SHARED_BYTES` that each publishing client gets."""

    _members: int = 0
    size_bytes: int = SHARE_BYTES_MAX

    def join(self) -> None:
        """One more connection publishes."""
        self._members += 1
        self._divide()

    def leave(self) -> None:
        """One connection fewer publishes."""
        assert self._members > 0
        self._members -= 1
        self._divide()

    def _divide(self) -> None:
        part = SHARED_BYTES // max(1, self._members)
        self.size_bytes = min(SHARE_BYTES_MAX, max(SHARE_BYTES_MIN, part))


@define(eq=False)
class CreditWindow:
    """The receiver's side of one connection's credit.

    `available_bytes` is what the peer may still send; negative while one frame overdraws it. `held_bytes` was
    received and has not been handed on. `session` is asked to grant when enough of the credit is free again.
    """

    _share: Sizing
    _frame_bytes_max: int
    session: "Granting | None" = None
    available_bytes: int = 0
    held_bytes: int = 0
    _joined: bool = field(default=False, init=False)

    def join(self) -> None:
        """Join the share, from the first publisher on."""
        if not self._joined:
            self._joined = True
            self._share.join()

    def close(self) -> None:
        """Leave the share; bytes that are still held are returned to no peer."""
        if self._joined:
            self._joined = False
            self._share.leave()

    def first(self) -> int:
        """Return the credit for the welcome of a new connection."""
        self.renew()
        size_bytes = self._share.size_bytes if self._joined else FIRST_BYTES
        self.available_bytes = max(0, size_bytes - self.held_bytes)
        return self.available_bytes

    def renew(self) -> None:
        """Begin a new connection: credit granted on an older one is void, but its batches are still held."""
        self.available_bytes = 0

    def receive(self, size_bytes: int) -> bool:
        """Count bytes that were read; return false if the peer sent more than it was granted."""
        self.available_bytes -= size_bytes
        self.held_bytes += size_bytes
        return self.available_bytes > -self._frame_bytes_max

    def give_back(self, size_bytes: int) -> None:
        """Count bytes that have been forwarded."""
        self.held_bytes -= size_bytes
        assert self.held_bytes >= 0
        target_bytes = self._share.size_bytes
        is_enough = (target_bytes - self.available_bytes - self.held_bytes) * GRANT_PART >= target_bytes
        if is_enough and self.session is not None:
            self.session.grant()

    def grant(self) -> int:
        """Return the credit to grant now: 0, or at least a quarter of the window, so that grants are few."""
        if not self._joined:
            return 0
        target_bytes = self._share.size_bytes
        missing_bytes = target_bytes - self.available_bytes - self.held_bytes
        if missing_bytes * GRANT_PART < target_bytes:
            return 0
        self.available_bytes += missing_bytes
        return missing_bytes


@define(eq=False)
class CreditBatch:
    """Publications read together from one connection, until all queues they went to have released them."""

    window: CreditWindow
    size_bytes: int
    holders: int = 1

    def hold(self) -> None:
        """Hold the batch for one more queue."""
        self.holders += 1

    def release(self) -> None:
        """Release the batch for one holder; the last one returns its bytes."""
        self.holders -= 1
        if not self.holders:
            self.window.give_back(self.size_bytes)
