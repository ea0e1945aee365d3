"""One subscription of a client: its queue, its overflow policy, and how it is resumed.

Laws:

1. Deliveries go to the connection while the client has given credit and the outbox has room, and wait in the
   queue otherwise. A `Deliver` and its publications enter the outbox together.
2. The station keeps the deliveries that the program has not confirmed. On a new connection the queue is made
   again from them, behind the position that the client has received.
3. While publishers wait for the subscription (`broker.node.backpressure`), it holds their credit batches.
4. A queue over its limit ends the subscription or drops the newest deliveries, as its policy requires; other
   subscriptions do not notice. Deliveries are dropped at the station too, so that a gap keeps its position.
5. Without a connection it is kept for its timeout: the link timeout, or the age of a durable one.
6. Unconfirmed deliveries are kept at the station, so their bytes have a limit, too: beyond it no delivery is
   sent, and the queue fills up to its own limit. The bytes kept for all subscriptions of a user, and of the
   broker, have limits likewise. Beyond these some subscriptions overflow: of the user with most bytes, those
   whose readers have made no progress for longest, and then the largest.
"""

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Final, Protocol

from attrs import define, field

from broker.core import Hop
from broker.lines import json_line
from broker.messages import Ended, LinkMessage, Publication, Subscribed
from broker.node.backpressure import Backpressure
from broker.node.budget import Account, Resource
from broker.node.connection import OUTBOX_BYTES, Connection
from broker.node.credit import CreditBatch
from broker.node.exchange import Exchange
from broker.node.queues import BOUND, DROP, FrameRun, Hole, SubscriptionQueue, pieces_of
from broker.node.replaying import room_for
from broker.node.starts import session_timeout_s
from broker.sessions import Missing, SessionError
from broker.station import LocalSubscriptionState
from broker.wire import encode

UNTAKEN_COUNT_MAX: Final = 1_000_000
"""Deliveries that were sent and not said to be taken. A client that never says so would fill the memory."""

CREDIT_MAX: Final = 2**31
"""The largest credit that a client may give; more means that it counts wrong."""

ACCOUNTED_BYTES: Final = 64 * 1024
"""Kept bytes are accounted in steps of this size: a read's worth, a small error per subscription."""

ACCOUNTED_BYTES_MANY: Final = 4 * 1024
"""The same for a user that has more than `MANY_COUNT`: the error of 50,000 is 200 MiB."""

MANY_COUNT: Final = 256

ROOM_PART: Final = 8
"""Making room frees this part of the limit, so that it is done rarely."""

STALLED_S: Final = 1.0
"""A reader that confirms nothing for so long makes no progress: clients confirm four times a second."""

EVENT_BYTES: Final = 512
"""The memory of a kept event beside its frame: measured are 450 bytes, and 90 an attribute.

Subscriptions that got an event together share it: the first counts all of it, the second a half, the third a
third. So many readers of the same events count for little more than the events take, and one alone for all.
"""


class SubscriptionReader(Protocol):
    """The session of the client that subscribed; `backlog` has the subscriptions with more to send."""

    backlog: dict["LocalSubscription", None]
    connection: Connection

    def let_go(self, number: int) -> None:
        """Forget the subscription of that number: another connection has it."""
        ...


@define(eq=False)
class LocalSubscription:
    """A subscription between the core's hop and the connection of its reader, if it has one now."""

    state: LocalSubscriptionState
    _exchange: Exchange
    _link_timeout_s: float
    queue: SubscriptionQueue = field(init=False)
    backpressure: Backpressure = field(init=False)
    _reader: SubscriptionReader | None = field(default=None, init=False)
    _held: list[CreditBatch] = field(factory=list, init=False)
    _is_over: bool = field(default=False, init=False)
    _account: Account = field(init=False)
    _accounted_bytes: int = field(default=0, init=False)
    _step_bytes: int = field(default=ACCOUNTED_BYTES, init=False)
    _unconfirmed: deque[tuple[int, int, int]] = field(factory=deque, init=False)
    unconfirmed_bytes: int = field(default=0, init=False)
    _unconfirmed_extra: int = field(default=0, init=False)
    _queued_extra: int = field(default=0, init=False)
    _queued_count: int = field(default=0, init=False)
    """The queue's count for which `_queued_extra` was computed."""
    _moved_at_s: float = field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        state = self.state
        self._account = self._exchange.budgets.user(state.terms.user)
        self._account.charge(Resource.REQUESTS)
        self._account.charge(Resource.FILTER_BYTES, self.filter_bytes)
        if self._account.used[Resource.REQUESTS] > MANY_COUNT:
            self._step_bytes = ACCOUNTED_BYTES_MANY
        if state.terms.durable:
            self._account.charge(Resource.DURABLE)
        self._exchange.subscribers[self.id] = self
        self._exchange.session_of[self.hop] = self
        self._begin(SubscriptionQueue(0, state.terms.bound_bytes, state.terms.policy, 0), state.taken)
        if self._exchange.core.replays.is_replaying(self.hop):
            self._exchange.replaying.add(self)

    def _begin(self, queue: SubscriptionQueue, position: int) -> None:
        """Send the deliveries after this position through a new queue."""
        self.queue, self.backpressure = queue, Backpressure(queue.bound_bytes)
        queue.position = position
        self._unconfirmed.clear()
        self.unconfirmed_bytes = self._unconfirmed_extra = 0
        self._queued_extra = self._queued_count = 0
        self._count_received(position)
        for piece in self.state.after(position):
            if isinstance(piece, Missing):
                queue.add_gap(piece.count, BOUND)
            else:
                self._add(piece)
        queue.allow_excess()

    def _count_received(self, position: int) -> None:
        """Count as unconfirmed what the client has received up to this position: the state still keeps it."""
        at = self.state.taken
        for batch in self.state.after(at):
            if at >= position:
                return
            if not isinstance(batch, Missing):
                received = batch[: position - at]
                sizes = [len(each.frame) for each in received if isinstance(each, Publication)]
                extra_bytes = len(sizes) * EVENT_BYTES
                self._unconfirmed.append((at + len(received), sum(sizes), extra_bytes))
                self.unconfirmed_bytes += sum(sizes)
                self._unconfirmed_extra += extra_bytes
            at += len(batch)

    def _add(self, messages: Sequence[LinkMessage]) -> None:
        """Queue what the station keeps: others that it keeps may follow, so nothing of it is dropped now."""
        for piece in pieces_of(messages):
            if isinstance(piece, FrameRun):
                extra_bytes = self._extra_of_queue()
                self.queue.append(piece)
                self._count_extra(extra_bytes, piece)
            else:
                self.queue.add_gap(piece.count, piece.reason)

    @property
    def id(self) -> str:
        """Its id in the overlay."""
        return self.state.id

    @property
    def hop(self) -> Hop:
        """Its hop in the core."""
        return self.state.hop

    @property
    def filter_bytes(self) -> int:
        """How large its filter is as text."""
        return len(str(self.state.terms.filter))

    @property
    def is_slow(self) -> bool:
        """Whether publishers do not wait for it: it is a slow consumer, or disconnected."""
        return self.backpressure.slow or self._reader is None

    @property
    def station_key(self) -> tuple[str, str]:
        """The kind and name of its state at the station."""
        return "subscription", self.id

    def is_of(self, client: str, user: str) -> bool:
        """Whether it belongs to a client of that name and user."""
        return (self.state.terms.client, self.state.terms.user) == (client, user)

    @property
    def replay_room_bytes(self) -> int:
        """How many bytes of its replay may be queued now."""
        return room_for(self.queue.bound_bytes, self.queue.queued_bytes)

    @property
    def unconfirmed_count(self) -> int:
        """How many deliveries were sent and are not confirmed."""
        return self.state.emitted - self.state.taken - self.queue.queued_count

    # --- connections ---

    def attach(self, reader: SubscriptionReader, queue: SubscriptionQueue, position: int) -> None:
        """Connect it to its client, which has received all deliveries up to this position."""
        self._exchange.reconnect_timeouts.cancel(self)
        self._let_go()
        self._reader, self._moved_at_s = reader, self._exchange.now_s
        self._begin(queue, position)
        if self.state.is_open:
            self.opened()
        self.pump()

    def detach(self) -> None:
        """Disconnect it, and start its timeout."""
        if self._reader is not None:
            self._reader.backlog.pop(self, None)
            self._reader = None
        self.queue.credit = 0
        timeout_s = session_timeout_s(self.state.terms, self._link_timeout_s)
        chance_s = self._link_timeout_s if self.state.terms.durable else None
        self._exchange.reconnect_timeouts.start(self, timeout_s, chance_s=chance_s)

    def has_newer_reader(self, connection: Connection) -> bool:
        """Return whether the same client reads it by a newer connection: what this one asks for is late."""
        present = None if self._reader is None else self._reader.connection
        return (
            present is not None
            and present.number > connection.number
            and connection.incarnation == present.incarnation != ""
        )

    def taken_over(self) -> None:
        """Disconnect it from its present connection with an `Ended`: another connection resumes it."""
        reader, number = self._reader, self.queue.number
        if reader is not None:
            text = "another connection of the same client name has taken over the subscription"
            reader.connection.send(encode(Ended(number, "taken-over", text)))
            reader.let_go(number)
            self.detach()

    def give_up(self) -> None:
        """Withdraw it: it was not resumed in time."""
        self.withdraw()

    def opened(self) -> None:
        """Answer the request: all gates are open."""
        if self._reader is not None:
            self._reader.connection.send(encode(Subscribed(self.queue.number)))

    # --- deliveries ---

    def put(
        self, messages: Sequence[LinkMessage], run: FrameRun | None, batch: CreditBatch | None, now_s: float
    ) -> None:
        """Queue the deliveries of one step, send as many as may be sent, and keep to the limit."""
        if run is not None:
            if self._send_at_once(run):
                return
            self._drop(self._put_run(run))
        else:
            self._put_mixed(messages)
        if self.queue.queued_bytes:
            self._keep(batch, now_s)
        self._look_at_account()

    def _send_at_once(self, run: FrameRun) -> bool:
        """Send deliveries past an empty queue, if credit and outbox have room: the usual case."""
        reader, size_bytes = self._reader, len(run.frames)
        if reader is None or self._is_over:
            return False
        connection = reader.connection
        if (
            connection.outbox_bytes + size_bytes > OUTBOX_BYTES
            or self.unconfirmed_bytes + size_bytes > self._exchange.config.limits.unconfirmed_bytes
            or not (head := self.queue.pass_by(run))
        ):
            return False
        connection.send_all((head, run.frames))
        self._exchange.totals.deliveries += run.count
        self._sent(size_bytes, run.count * EVENT_BYTES // run.takers)
        # The queue is empty: only unconfirmed deliveries are kept.
        kept_bytes = self.unconfirmed_bytes + self._unconfirmed_extra
        if kept_bytes - self._accounted_bytes >= self._step_bytes:
            self._look_at_account()
        return True

    def _sent(self, size_bytes: int, extra_bytes: int) -> None:
        if not self._unconfirmed:
            self._moved_at_s = self._exchange.now_s
        self._unconfirmed.append((self.queue.position, size_bytes, extra_bytes))
        self.unconfirmed_bytes += size_bytes
        self._unconfirmed_extra += extra_bytes

    def _extra_of_queue(self) -> int:
        """Return the memory of queued events beside their frames; some may have left meanwhile."""
        count = self.queue.queued_count
        if count != self._queued_count:
            self._queued_extra = self._queued_extra * count // (self._queued_count or 1)
            self._queued_count = count
        return self._queued_extra

    def _put_mixed(self, messages: Sequence[LinkMessage]) -> None:
        """Queue runs and the gaps between them. If one has no room, all behind it are dropped with it.

        The station keeps all of them by now, and what it drops is its newest.
        """
        left_count = len(messages)
        pieces = pieces_of(messages)
        for piece in pieces:
            left_count -= max(piece.count, 1)
            if isinstance(piece, Hole):
                self._put_gap(piece)
            elif dropped_count := self._put_run(piece):
                self._drop(dropped_count + left_count)
                last_gap = next((each for each in pieces if isinstance(each, Hole)), None)
                self.queue.miss(left_count, last_gap)
                return

    def _put_run(self, run: FrameRun) -> int:
        """Queue a run; return how many of the newest deliveries had no room."""
        if self._is_over:
            return 0
        dropped_count = self._add_run(run)
        self.pump()
        return dropped_count + (self._overflow() if self.queue.is_over_bound else 0)

    def _put_gap(self, gap: Hole) -> None:
        if not self._is_over:
            self._exchange.totals.gaps += 1
            self.queue.add_gap(gap.count, gap.reason)
            self.pump()

    def _add_run(self, run: FrameRun) -> int:
        extra_bytes = self._extra_of_queue()
        if not self.queue.add(run):
            return run.count
        self._count_extra(extra_bytes, run)
        return 0

    def _count_extra(self, before_bytes: int, run: FrameRun) -> None:
        self._queued_extra = before_bytes + run.count * EVENT_BYTES // run.takers
        self._queued_count = self.queue.queued_count

    def _keep(self, batch: CreditBatch | None, now_s: float) -> None:
        """Let publishers wait if the queue is over its soft mark."""
        was_waiting = self.backpressure.waiting
        if self.backpressure.queued(self.queue.queued_bytes, now_s):
            if not was_waiting:
                self._exchange.throttle_for(self)
            if batch is not None:
                batch.hold()
                self._held.append(batch)

    def pump(self) -> None:
        """Send as many deliveries as credit and the outbox allow."""
        queue, reader = self.queue, self._reader
        if reader is None:
            return
        before_bytes = queue.queued_bytes
        before_count = queue.queued_count
        extra_bytes = self._extra_of_queue()
        unconfirmed_room = self._exchange.config.limits.unconfirmed_bytes - self.unconfirmed_bytes
        chunks = queue.take(min(OUTBOX_BYTES - reader.connection.outbox_bytes, unconfirmed_room))
        if chunks:
            sent_count = before_count - queue.queued_count
            self._exchange.totals.deliveries += sent_count
            sent_bytes = before_bytes - queue.queued_bytes
            if sent_count:
                self._sent(sent_bytes, extra_bytes - self._extra_of_queue())
            reader.connection.send_all(chunks)
            if self.backpressure.freed(sent_bytes, queue.queued_bytes):
                self._let_go()
            self._exchange.replaying.look(self)
        if queue.ready and unconfirmed_room > 0:
            reader.backlog[self] = None
        else:
            reader.backlog.pop(self, None)

    def confirmed(self, position: int) -> None:
        """Take the confirmation of all deliveries up to this position.

        Raises:
            SessionError: so much was never delivered.
        """
        self._exchange.station.taken(self.id, position)
        self._moved_at_s = self._exchange.now_s
        unconfirmed = self._unconfirmed
        while unconfirmed and unconfirmed[0][0] <= position:
            _, size_bytes, extra_bytes = unconfirmed.popleft()
            self.unconfirmed_bytes -= size_bytes
            self._unconfirmed_extra -= extra_bytes
        self._look_at_account()

    def credited(self, count: int, taken: int) -> str:
        """Take credit, and the confirmation of all up to `taken`; return what is wrong with it, if so."""
        try:
            self.confirmed(taken)
        except SessionError as error:
            return str(error)
        if self.unconfirmed_count > UNTAKEN_COUNT_MAX:
            return "deliveries are sent, and none is said to be taken"
        self.queue.credit += count
        return f"it was given more than {CREDIT_MAX} deliveries" if self.queue.credit > CREDIT_MAX else ""

    def judge(self, now_s: float) -> bool:
        """Decide whether it is slow; return whether publishers still wait for it."""
        if self.backpressure.judge(now_s):
            self._exchange.totals.slow += 1
            self._let_go()
        return self.backpressure.waiting

    def _overflow(self) -> int:
        queue = self.queue
        if queue.policy == DROP:
            return queue.trim()
        self._cut_off(
            f"{queue.queued_count} deliveries ({queue.queued_bytes} bytes) waited for this subscription, "
            f"more than its bound of {queue.bound_bytes} bytes: read faster, or ask for a larger bound"
        )
        return 0

    def _cut_off(self, text: str) -> None:
        """End it as a slow consumer."""
        self._exchange.totals.ended_slow += 1
        self._exchange.log.warning("slow consumer cut off", subscription=self.id, text=text)
        number = self.queue.number
        self._exchange.after(lambda: self.end(Ended(number, "slow", text)))
        self.stop()

    @property
    def kept_bytes(self) -> int:
        """The bytes kept for it, queued or unconfirmed."""
        if self._is_over:
            return 0
        extra_bytes = self._extra_of_queue() + self._unconfirmed_extra
        return self.queue.queued_bytes + self.unconfirmed_bytes + extra_bytes

    def _look_at_account(self) -> None:
        """Charge the kept bytes; without room for them, look for room when the effects are carried out.

        Until then other subscriptions may not have queued what the station keeps for them already.
        """
        kept_bytes = self.kept_bytes
        more_bytes = kept_bytes - self._accounted_bytes
        if abs(more_bytes) >= self._step_bytes or not kept_bytes:
            if self._account.full(Resource.KEPT_BYTES, more_bytes) is None:
                self._charge(kept_bytes, more_bytes)
            else:
                self._exchange.after(self._look_for_room)

    def _charge(self, kept_bytes: int, more_bytes: int) -> None:
        self._accounted_bytes = kept_bytes
        self._account.charge(Resource.KEPT_BYTES, more_bytes)

    def _look_for_room(self) -> None:
        """Charge the kept bytes; without room for them, let the largest holders overflow (law 6)."""
        while more_bytes := (kept_bytes := self.kept_bytes) - self._accounted_bytes:
            full = self._account.full(Resource.KEPT_BYTES, more_bytes)
            if full is None:
                self._charge(kept_bytes, more_bytes)
                return
            self._make_room(full, more_bytes)

    def _make_room(self, full: Account, more_bytes: int) -> None:
        """Let subscriptions of that account overflow, so that there is room for a while (law 6)."""
        most_bytes = full.limits[Resource.KEPT_BYTES] * (ROOM_PART - 1) // ROOM_PART - more_bytes
        text = full.refusal(Resource.KEPT_BYTES, more_bytes)
        others = self._exchange.subscribers.values()
        for each in sorted((each for each in others if each.is_charged_to(full)), key=_rank):
            if full.used[Resource.KEPT_BYTES] <= most_bytes:
                return
            each.keep_less(text)

    @property
    def stalled_since_s(self) -> float:
        """Return since when its reader has confirmed nothing; infinity if it makes progress."""
        is_late = self._exchange.now_s - self._moved_at_s > STALLED_S
        return self._moved_at_s if is_late and self._reader is not None and self.kept_bytes else inf

    @property
    def user_kept_bytes(self) -> int:
        """The bytes kept for all subscriptions of its user."""
        return self._account.used[Resource.KEPT_BYTES]

    def is_charged_to(self, account: Account) -> bool:
        """Return whether its kept bytes are charged to that account."""
        return account in {self._account, self._account.above}

    def keep_less(self, text: str) -> None:
        """Overflow: drop the queued deliveries, or end it, as its policy requires."""
        dropped = self.queue.drop_all() if self.queue.policy == DROP else 0
        if dropped:
            self._drop(dropped)
        else:
            self._cut_off(text)
        kept_bytes = min(self.kept_bytes, self._accounted_bytes)
        self._account.release(Resource.KEPT_BYTES, self._accounted_bytes - kept_bytes)
        self._accounted_bytes = kept_bytes

    def _drop(self, count: int) -> None:
        """Drop the newest deliveries at the station."""
        if count:
            self._exchange.totals.dropped += count
            self._exchange.station.drop(self.id, count)

    # --- the end ---

    def stop(self) -> None:
        """Release its batches and its charges, and take no more deliveries."""
        self._is_over = True
        self.queue.clear()
        if self._reader is not None:
            self._reader.backlog.pop(self, None)
        self.backpressure.waiting = False
        self._let_go()

    def end(self, notice: Ended) -> None:
        """Withdraw it, and send the client the reason."""
        reader = self._reader
        self.withdraw()
        if reader is not None:
            reader.connection.send(encode(notice))

    def withdraw(self) -> None:
        """Withdraw it from the station, once."""
        self.stop()
        self._exchange.reconnect_timeouts.cancel(self)
        self._exchange.replaying.discard(self)
        reader, self._reader = self._reader, None
        if self._exchange.subscribers.pop(self.id, None) is not None:
            self._settle_account()
            if reader is not None:
                reader.let_go(self.queue.number)
            del self._exchange.session_of[self.hop]
            self._exchange.station.unsubscribe(self.id)

    def _settle_account(self) -> None:
        self._account.release(Resource.REQUESTS)
        self._account.release(Resource.FILTER_BYTES, self.filter_bytes)
        self._account.release(Resource.KEPT_BYTES, self._accounted_bytes)
        self._accounted_bytes = 0
        if self.state.terms.durable:
            self._account.release(Resource.DURABLE)

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for batch in held:
            batch.release()

    def describe(self) -> str:
        """Return the state of a durable subscription as one JSON object."""
        state = self.state
        return json_line(
            {
                "durable": state.terms.durable,
                "filter": str(state.terms.filter),
                "taken": state.taken,
                "emitted": state.emitted,
                "connected": self._reader is not None,
                "queued_bytes": self.queue.queued_bytes,
            }
        )


def _rank(subscription: LocalSubscription) -> tuple[int, float, int]:
    """Return the order in which subscriptions overflow (law 6)."""
    return -subscription.user_kept_bytes, subscription.stalled_since_s, -subscription.kept_bytes
