"""A link to another broker: passes its messages to the core and what the core emits back, under credit.

Laws:

1. A link is open from the greeting until its connection ends; then it is lost for the core at once. Whoever
   dialled dials again, which is a new attachment.
2. Publications need credit of the other end. Control messages need none and keep their place between them.
3. What was read counts as handed on, and its credit is returned, when every link that it went to has written
   it, under the credit of the next broker.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import Final, Protocol, cast

import structlog
from attrs import define, field

from broker.core import Hop, ProtocolError
from broker.messages import Acknowledge, Fault, Grant, LinkMessage, Ping, Pong, Publication
from broker.shell.connection import OUTBOX_BYTES, Connection, fault_of
from broker.shell.credit import Batch, Window
from broker.shell.exchange import Exchange
from broker.shell.queues import LinkQueue, Run
from broker.wire import encode

__all__ = ["LinkSession", "LinkWatcher"]

_OURS: Final = frozenset({Acknowledge, Grant, Ping, Pong, Fault})
"""Messages of the connection; everything else is the core's."""

CREDIT_MAX: Final = 2**40
"""What a neighbour can have granted at most; more is a neighbour that counts wrong."""

_VERDICTS: Final = {
    "cycle": "the uplink is in the tree below this broker: the overlay would have a cycle",
    "duplicate": "the tree of the uplink has another broker with the name of one on this side",
}

_log = structlog.get_logger()


class LinkWatcher(Protocol):
    """Whoever dialled the link and wants to know what becomes of it."""

    def attached(self) -> None:
        """The link became part of the tree."""
        ...

    def refused(self, code: str, text: str) -> None:
        """The other side does not want us."""
        ...


@define(eq=False)
class LinkSession:
    """One open link. `watcher` is there for an uplink."""

    name: str
    incarnation: str
    hop: Hop
    window: Window
    _connection: Connection
    _exchange: Exchange
    watcher: LinkWatcher | None = None
    queue: LinkQueue = field(factory=LinkQueue, init=False)
    publications_in: int = field(default=0, init=False)
    publications_out: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        exchange = self._exchange
        exchange.links[self.name] = self
        exchange.link_of[self.hop] = exchange.sinks[self.hop] = self
        if not self.is_uplink:
            exchange.join_lower(self)

    @property
    def is_uplink(self) -> bool:
        """Whether the other end is above us."""
        return self.watcher is not None

    @property
    def connection(self) -> Connection:
        """The connection that carries the link."""
        return self._connection

    def handle(self, messages: Sequence[object]) -> None:
        """Pass on everything that arrived together."""
        size_bytes = count = 0
        has_ours = False
        for message in messages:
            if type(message) is Publication:
                size_bytes += len(message.frame)
                count += 1
            elif type(message) in _OURS:
                has_ours = True
                self._handle_ours(message)
        if has_ours:
            messages = [message for message in messages if type(message) not in _OURS]
        batch = None
        if count:
            self.publications_in += count
            batch = Batch(self.window, size_bytes)
            if not self.window.receive(size_bytes):
                self._fault("credit", "more bytes of publications were sent than granted")
        if messages:
            self._feed(cast("Sequence[LinkMessage]", messages), count)
        self._exchange.settle(batch)

    def _feed(self, messages: Sequence[LinkMessage], publication_count: int) -> None:
        started_s = perf_counter()
        try:
            self._exchange.core.receive(self.hop, messages)
        except ProtocolError as error:
            self._fault("protocol", str(error))
        self._exchange.timed(started_s, publication_count, messages[-1])

    def _handle_ours(self, message: object) -> None:
        match message:
            case Grant(size_bytes=size_bytes):
                self.queue.credit_bytes += size_bytes
                if self.queue.credit_bytes > CREDIT_MAX:
                    self._fault("credit", f"more than {CREDIT_MAX} bytes of credit were granted")
                self.pump()
            case Ping(number=number):
                self._connection.send(encode(Pong(number)))
            case Fault(code=code, text=text):
                self._connection.end(f"{self.name} said {code}: {text}")
                if self.watcher is not None:
                    self.watcher.refused(code, text)
            case _:
                pass  # A Pong or an Acknowledge: that something was received is all that counts.

    def put(
        self, messages: Sequence[LinkMessage], run: Run | None, batch: Batch | None, now_s: float
    ) -> None:
        """Queue what the core emitted to this link in one step, and send what credit allows."""
        del now_s
        if batch is not None and batch.window is self.window:
            # Returning credit must not depend on what goes back over the same link: both ends would wait.
            batch = None
        self.queue.add(messages, run, batch)
        self.pump()

    def pump(self) -> None:
        """Put into the outbox what credit and its room allow."""
        if not self.queue.ready:
            return
        chunks, batches, count = self.queue.take(OUTBOX_BYTES - self._connection.outbox_bytes)
        if chunks:
            self.publications_out += count
            self._connection.send_all(chunks, batches)

    def grant(self) -> None:
        """Return credit to the other end if there is enough to return."""
        if not self.is_uplink and self._exchange.is_withholding:
            return
        size_bytes = self.window.grant()
        if size_bytes:
            self._connection.send(encode(Grant(size_bytes)))

    def attached(self) -> None:
        """The link became part of the tree."""
        _log.info("link attached", neighbour=self.name, uplink=self.is_uplink)
        if self.watcher is not None:
            self.watcher.attached()

    def rejected(self, verdict: str) -> None:
        """The other tree does not want us: say why, and close the link."""
        text = _VERDICTS.get(verdict, f"the other tree refused the attachment: {verdict}")
        self._fault(verdict, text)
        if self.watcher is not None:
            self.watcher.refused(verdict, text)

    def _fault(self, code: str, text: str) -> None:
        _log.warning("link refused", neighbour=self.name, peer=self._connection.peer, code=code, text=text)
        self._exchange.totals.refused += 1
        self._connection.end(f"{code}: {text}", fault_of(code, text))

    def lost(self, reason: str) -> None:
        """The connection is over, and the link with it (R8)."""
        exchange = self._exchange
        exchange.leave_lower(self)
        exchange.core.close_link(self.hop)
        del exchange.sinks[self.hop], exchange.link_of[self.hop], exchange.links[self.name]
        self.window.close()
        for batch in self.queue.clear():
            batch.release()
        exchange.settle()
        _log.info("link lost", neighbour=self.name, uplink=self.is_uplink, reason=reason)
