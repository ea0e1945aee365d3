"""One subscription of a client: its queue, what a full one means, and what happens between two connections.

Laws:

1. What is emitted goes to the connection while the client has given credit and the outbox has room, and waits
   in the queue otherwise. A `Deliver` and its publications enter the outbox together.
2. The station keeps what the program has not had. On a new connection the queue is made again from that,
   behind the position that the client has received.
3. While publishers wait for the subscription (`broker.node.pacing`), it holds the batches that came in.
4. A queue over its bound ends the subscription or drops the newest, as its policy says; nobody else notices.
   What is dropped is dropped at the station too, so that a gap stays where it is.
5. Without a connection it is kept for its patience: the link timeout, or the age of a durable one.
6. What was sent and not confirmed is kept at the station, so it is bounded in bytes, too: beyond that nothing
   is sent, and the queue fills under its own bound. What is kept for all subscriptions of a user, and of the
   broker, is bounded likewise; beyond it a subscription is as if its queue were full.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from attrs import define, field

from broker.core import Hop
from broker.lines import json_line
from broker.messages import Ended, LinkMessage, Subscribed
from broker.node.budget import Account, Resource
from broker.node.connection import OUTBOX_BYTES, Connection
from broker.node.credit import Batch
from broker.node.exchange import Exchange
from broker.node.pacing import Pace
from broker.node.queues import BOUND, DROP, Hole, Run, SubscriptionQueue, pieces_of
from broker.node.replaying import room_for
from broker.node.starts import patience_of
from broker.sessions import Missing
from broker.station import SubscriptionPlace
from broker.wire import encode

__all__ = ["Reader", "Subscription"]

ACCOUNTED_BYTES: Final = 64 * 1024
"""What is kept is accounted in steps of this size: a read's worth, and a few bytes per subscription wrong."""


class Reader(Protocol):
    """The session of the client that subscribed; `backlog` has the subscriptions with more to send."""

    backlog: dict["Subscription", None]
    connection: Connection

    def let_go(self, number: int) -> None:
        """The subscription of that number is not this client's any more."""
        ...


@define(eq=False)
class Subscription:
    """A subscription between the core's hop and the connection of its reader, if it has one now."""

    place: SubscriptionPlace
    _exchange: Exchange
    _link_timeout_s: float
    queue: SubscriptionQueue = field(init=False)
    pace: Pace = field(init=False)
    _reader: Reader | None = field(default=None, init=False)
    _held: list[Batch] = field(factory=list, init=False)
    _is_over: bool = field(default=False, init=False)
    _account: Account = field(init=False)
    _accounted_bytes: int = field(default=0, init=False)
    _unconfirmed: deque[tuple[int, int]] = field(factory=deque, init=False)
    unconfirmed_bytes: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        place = self.place
        self._account = self._exchange.budgets.user(place.user)
        self._account.charge(Resource.REQUESTS)
        self._account.charge(Resource.FILTER_BYTES, self.filter_bytes)
        if place.durable:
            self._account.charge(Resource.DURABLE)
        self._exchange.subscribers[self.id] = self
        self._exchange.sinks[self.hop] = self
        self._begin(SubscriptionQueue(0, place.bound_bytes, place.policy, 0), place.taken)
        if self._exchange.core.replays.is_replaying(self.hop):
            self._exchange.replaying.add(self)

    def _begin(self, queue: SubscriptionQueue, position: int) -> None:
        """Send what comes after this position through a new queue."""
        self.queue, self.pace = queue, Pace(queue.bound_bytes)
        queue.position = position
        self._unconfirmed.clear()
        self.unconfirmed_bytes = 0
        for piece in self.place.after(position):
            if isinstance(piece, Missing):
                queue.add_gap(piece.count, BOUND)
            else:
                self._add(piece)
        queue.allow_excess()

    def _add(self, messages: Sequence[LinkMessage]) -> None:
        for piece in pieces_of(messages):
            if isinstance(piece, Run):
                self._add_run(piece)
            else:
                self.queue.add_gap(piece.count, piece.reason)

    @property
    def id(self) -> str:
        """What the overlay calls it."""
        return self.place.id

    @property
    def hop(self) -> Hop:
        """What the core calls it."""
        return self.place.hop

    @property
    def filter_bytes(self) -> int:
        """How large its filter is as text."""
        return len(str(self.place.filter))

    @property
    def is_slow(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.pace.slow or self._reader is None

    @property
    def absence(self) -> tuple[str, str]:
        """Its place at the station."""
        return "subscription", self.id

    def is_of(self, client: str, user: str) -> bool:
        """Whether it belongs to a client of that name and user."""
        return (self.place.client, self.place.user) == (client, user)

    @property
    def replay_room_bytes(self) -> int:
        """How much of its past may be put into its queue now."""
        return room_for(self.queue.bound_bytes, self.queue.queued_bytes)

    @property
    def unsaid_count(self) -> int:
        """How many were sent of which nobody has said that they were taken."""
        return self.place.emitted - self.place.taken - self.queue.queued_count

    # --- connections ---

    def attach(self, reader: Reader, queue: SubscriptionQueue, position: int) -> None:
        """Its client is there and has received everything up to this position."""
        self._exchange.absences.came(self)
        self._let_go()
        self._reader = reader
        self._begin(queue, position)
        if self.place.is_open:
            self.opened()
        self.pump()

    def detach(self) -> None:
        """Its connection is over: wait for another one."""
        if self._reader is not None:
            self._reader.backlog.pop(self, None)
            self._reader = None
        self.queue.credit = 0
        patience_s = patience_of(self.place, self._link_timeout_s)
        chance_s = self._link_timeout_s if self.place.durable else None
        self._exchange.absences.left(self, patience_s, chance_s=chance_s)

    def taken_over(self) -> None:
        """Another connection wants it: tell the one that has it."""
        reader, number = self._reader, self.queue.number
        if reader is not None:
            text = "another connection of the same client name has taken over the subscription"
            reader.connection.send(encode(Ended(number, "taken-over", text)))
            reader.let_go(number)
            self.detach()

    def give_up(self) -> None:
        """Its client did not come back in time."""
        self.withdraw()

    def opened(self) -> None:
        """All gates are open."""
        if self._reader is not None:
            self._reader.connection.send(encode(Subscribed(self.queue.number)))

    # --- deliveries ---

    def put(
        self, messages: Sequence[LinkMessage], run: Run | None, batch: Batch | None, now_s: float
    ) -> None:
        """Queue what the core emitted in one step, send what may be sent, and keep to the bound."""
        if run is not None:
            if self._send_at_once(run):
                return
            self._put_run(run)
        else:
            for piece in pieces_of(messages):
                if isinstance(piece, Run):
                    self._put_run(piece)
                else:
                    self._put_gap(piece)
        if self.queue.queued_bytes:
            self._keep(batch, now_s)
        self._look_at_account()

    def _send_at_once(self, run: Run) -> bool:
        """Send what nothing waits before and for which everything has room: the usual case needs no queue."""
        reader, size_bytes = self._reader, len(run.frames)
        if reader is None or self._is_over:
            return False
        connection, unconfirmed_bytes = reader.connection, self.unconfirmed_bytes + size_bytes
        if (
            connection.outbox_bytes + size_bytes > OUTBOX_BYTES
            or unconfirmed_bytes > self._exchange.config.limits.unconfirmed_bytes
            or not (head := self.queue.pass_by(run))
        ):
            return False
        connection.send_all((head, run.frames))
        self._exchange.totals.deliveries += run.count
        self._unconfirmed.append((self.queue.position, size_bytes))
        self.unconfirmed_bytes = unconfirmed_bytes
        if self.unconfirmed_bytes - self._accounted_bytes >= ACCOUNTED_BYTES:
            self._look_at_account()
        return True

    def _put_run(self, run: Run) -> None:
        if self._is_over:
            return
        self._add_run(run)
        self.pump()
        if self.queue.is_over_bound:
            self._overflow()

    def _put_gap(self, gap: Hole) -> None:
        if not self._is_over:
            self._exchange.totals.gaps += 1
            self.queue.add_gap(gap.count, gap.reason)
            self.pump()

    def _add_run(self, run: Run) -> None:
        if not self.queue.add(run):
            self._drop(run.count)

    def _keep(self, batch: Batch | None, now_s: float) -> None:
        """Something stays in the queue: publishers may have to wait for it."""
        was_waiting = self.pace.waiting
        if self.pace.queued(self.queue.queued_bytes, now_s):
            if not was_waiting:
                self._exchange.pace(self)
            if batch is not None:
                batch.hold()
                self._held.append(batch)

    def pump(self) -> None:
        """Send what credit and the outbox allow."""
        queue, reader = self.queue, self._reader
        if reader is None:
            return
        before_bytes = queue.queued_bytes
        before_count = queue.queued_count
        unconfirmed_room = self._exchange.config.limits.unconfirmed_bytes - self.unconfirmed_bytes
        chunks = queue.take(min(OUTBOX_BYTES - reader.connection.outbox_bytes, unconfirmed_room))
        if chunks:
            self._exchange.totals.deliveries += before_count - queue.queued_count
            sent_bytes = before_bytes - queue.queued_bytes
            self._unconfirmed.append((queue.position, sent_bytes))
            self.unconfirmed_bytes += sent_bytes
            reader.connection.send_all(chunks)
            if self.pace.freed(sent_bytes, queue.queued_bytes):
                self._let_go()
            self._exchange.replaying.look(self)
        if queue.ready and unconfirmed_room > 0:
            reader.backlog[self] = None
        else:
            reader.backlog.pop(self, None)

    def confirmed(self, position: int) -> None:
        """The user has had everything up to this position.

        Raises:
            SessionError: so much was never delivered.
        """
        self._exchange.station.taken(self.id, position)
        unconfirmed = self._unconfirmed
        while unconfirmed and unconfirmed[0][0] <= position:
            self.unconfirmed_bytes -= unconfirmed.popleft()[1]
        self._look_at_account()

    def judge(self, now_s: float) -> bool:
        """Decide whether it is slow; return whether publishers still wait for it."""
        if self.pace.judge(now_s):
            self._exchange.totals.slow += 1
            self._let_go()
        return self.pace.waiting

    def _overflow(self) -> None:
        queue = self.queue
        if queue.policy == DROP:
            self._drop(queue.trim())
            return
        self._cut_off(
            f"{queue.queued_count} deliveries ({queue.queued_bytes} bytes) waited for this subscription, "
            f"more than its bound of {queue.bound_bytes} bytes: read faster, or ask for a larger bound"
        )

    def _cut_off(self, text: str) -> None:
        """End it as a slow consumer."""
        self._exchange.totals.ended_slow += 1
        self._exchange.log.warning("slow consumer cut off", subscription=self.id, text=text)
        number = self.queue.number
        self._exchange.after(lambda: self.end(Ended(number, "slow", text)))
        self.stop()

    def _look_at_account(self) -> None:
        """Charge what is kept now, or do as if the queue were full."""
        kept_bytes = 0 if self._is_over else self.queue.queued_bytes + self.unconfirmed_bytes
        more_bytes = kept_bytes - self._accounted_bytes
        if abs(more_bytes) < ACCOUNTED_BYTES and kept_bytes:
            return
        if more_bytes > 0 and (text := self._account.refusal(Resource.KEPT_BYTES, more_bytes)):
            if self.queue.policy == DROP:
                self._drop(self.queue.drop_all())
            else:
                self._cut_off(text)
            return
        self._accounted_bytes = kept_bytes
        self._account.charge(Resource.KEPT_BYTES, more_bytes)

    def _drop(self, count: int) -> None:
        """So many of the newest are not kept."""
        if count:
            self._exchange.totals.dropped += count
            self._exchange.station.drop(self.id, count)

    # --- the end ---

    def stop(self) -> None:
        """Take nothing more, and let go of everything."""
        self._is_over = True
        self.queue.clear()
        if self._reader is not None:
            self._reader.backlog.pop(self, None)
        self.pace.waiting = False
        self._let_go()

    def end(self, notice: Ended) -> None:
        """Withdraw it and tell the client why."""
        reader = self._reader
        self.withdraw()
        if reader is not None:
            reader.connection.send(encode(notice))

    def withdraw(self) -> None:
        """Withdraw it from the station, once, whoever asks first."""
        self.stop()
        self._exchange.absences.came(self)
        self._exchange.replaying.discard(self)
        reader, self._reader = self._reader, None
        if self._exchange.subscribers.pop(self.id, None) is not None:
            self._settle_account()
            if reader is not None:
                reader.let_go(self.queue.number)
            del self._exchange.sinks[self.hop]
            self._exchange.station.unsubscribe(self.id)

    def _settle_account(self) -> None:
        self._account.release(Resource.REQUESTS)
        self._account.release(Resource.FILTER_BYTES, self.filter_bytes)
        self._account.release(Resource.KEPT_BYTES, self._accounted_bytes)
        if self.place.durable:
            self._account.release(Resource.DURABLE)

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for batch in held:
            batch.release()

    def describe(self) -> str:
        """Return what there is to know about a durable subscription, as one JSON object."""
        place = self.place
        return json_line(
            {
                "durable": place.durable,
                "filter": str(place.filter),
                "taken": place.taken,
                "emitted": place.emitted,
                "connected": self._reader is not None,
                "queued_bytes": self.queue.queued_bytes,
            }
        )
