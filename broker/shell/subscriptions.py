"""One subscription of a client: its queue, and what a full one means.

Laws:

1. What is emitted goes to the connection while the client has given credit and the outbox has room, and waits
   in the queue otherwise. A `Deliver` and its publications enter the outbox together.
2. While publishers wait for the subscription (`broker.shell.pacing`), it holds the batches that came in.
3. A queue over its bound ends the subscription or drops the newest, as its policy says; nobody else notices.
"""

from collections.abc import Sequence

from attrs import define, field

from broker.core import Hop
from broker.messages import Ended, LinkMessage, Subscribed
from broker.shell.connection import OUTBOX_BYTES, Connection
from broker.shell.credit import Batch
from broker.shell.exchange import Exchange
from broker.shell.pacing import Pace
from broker.shell.queues import DROP, Run, SubscriptionQueue
from broker.wire import encode

__all__ = ["Subscription"]


@define(eq=False)
class Subscription:
    """A subscription between the core's hop and its connection; in `backlog` if more is to be sent."""

    id: str
    hop: Hop
    queue: SubscriptionQueue
    pace: Pace
    _connection: Connection
    _exchange: Exchange
    _siblings: dict[int, "Subscription"]
    _backlog: dict["Subscription", None]
    _held: list[Batch] = field(factory=list, init=False)
    _is_over: bool = field(default=False, init=False)

    @property
    def is_slow(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.pace.slow

    def opened(self) -> None:
        """All gates are open."""
        self._connection.send(encode(Subscribed(self.queue.number)))

    def put(
        self, messages: Sequence[LinkMessage], run: Run | None, batch: Batch | None, now_s: float
    ) -> None:
        """Queue what the core emitted in one step, send what may be sent, and keep to the bound."""
        assert run is not None, f"only publications are delivered, not {messages!r}"
        if self._is_over:
            return
        queue = self.queue
        queue.add(run)
        self.pump()
        if queue.queued_bytes > queue.bound_bytes:
            self._overflow()
        if queue.queued_bytes:
            self._keep(batch, now_s)

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
        queue = self.queue
        before_bytes = queue.queued_bytes
        before_count = queue.queued_count
        chunks = queue.take(OUTBOX_BYTES - self._connection.outbox_bytes)
        if chunks:
            self._exchange.totals.deliveries += before_count - queue.queued_count
            self._connection.send_all(chunks)
            if self.pace.freed(before_bytes - queue.queued_bytes, queue.queued_bytes):
                self._let_go()
        if queue.ready:
            self._backlog[self] = None
        else:
            self._backlog.pop(self, None)

    def judge(self, now_s: float) -> bool:
        """Decide whether it is slow; return whether publishers still wait for it."""
        if self.pace.judge(now_s):
            self._exchange.totals.slow += 1
            self._let_go()
        return self.pace.waiting

    def _overflow(self) -> None:
        queue = self.queue
        if queue.policy == DROP:
            dropped = queue.dropped_count
            queue.trim()
            self._exchange.totals.dropped += queue.dropped_count - dropped
            return
        self._exchange.totals.ended_slow += 1
        text = (
            f"{queue.queued_count} deliveries ({queue.queued_bytes} bytes) waited for this subscription, "
            f"more than its bound of {queue.bound_bytes} bytes: read faster, or ask for a larger bound"
        )
        self._exchange.after(lambda: self.end(Ended(queue.number, "slow", text)))
        self.stop()

    def stop(self) -> None:
        """Take nothing more, and let go of everything."""
        self._is_over = True
        self.queue.clear()
        self._backlog.pop(self, None)
        self.pace.waiting = False
        self._let_go()

    def end(self, notice: Ended) -> None:
        """Withdraw it and tell the client why."""
        self.withdraw()
        self._connection.send(encode(notice))

    def withdraw(self) -> None:
        """Withdraw it from the core, once, whoever asks first."""
        self.stop()
        if self._exchange.subscribers.pop(self.id, None) is not None:
            del self._siblings[self.queue.number]
            del self._exchange.sinks[self.hop]
            self._exchange.core.unsubscribe(self.id)

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for batch in held:
            batch.release()
