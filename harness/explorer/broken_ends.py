"""One law of what two ends share broken per function: sessions, credit, positions, and resumption."""

from collections.abc import Sequence
from typing import Any

from broker.client.session import Session
from broker.client.window import PendingFlush
from broker.client.window import SendWindow as ClientWindow
from broker.messages import Acknowledge, Advertised, Fault, LinkMessage
from broker.node.backpressure import Backpressure
from broker.node.budget import Resource
from broker.node.clients import ClientSession
from broker.node.connection import Connection, Life, fault_of
from broker.node.credit import CreditBatch
from broker.node.exchange import Exchange
from broker.node.greeting import GreetingContext
from broker.node.inputs import Synced
from broker.node.links import TRANSITIONS, Carriage, LinkSession
from broker.node.node import Node
from broker.node.publishers import LocalPublisher
from broker.node.queues import FrameRun, Hole, LinkQueue, SubscriptionQueue, pieces_of
from broker.node.reconnect_timeouts import ReconnectTimeouts
from broker.node.subscriptions import LocalSubscription
from broker.transitions import follow
from broker.wire import encode
from ordering.interface import Emission, Event, Hops, Route
from ordering.pairwise import REQUEST, Pairwise, _Pending

_publication = Pairwise.publication
_attach = LinkSession.attach
_link_lost = LinkSession.lost
_synced = Node._synced
_begin = LocalSubscription._begin
_take = SubscriptionQueue.take


# --- settings and sessions ---


def compares_no_settings(self: GreetingContext, name: str, manner: str) -> Fault | None:
    """Link to a broker whatever its settings are (V2)."""
    del manner
    if name == self.name:
        return fault_of("duplicate-name", f"both brokers are called {name!r}: names are unique")
    return None


def gives_up_at_once(self: LinkSession, reason: str) -> None:
    """Declare a link lost with its connection."""
    self.carriage = follow(TRANSITIONS, self.carriage, Carriage.ENDING)
    _link_lost(self, reason)


def waits_without_end(self: LinkSession, reason: str) -> None:
    """Wait for a neighbour for ever."""
    _link_lost(self, reason)
    self._exchange.reconnect_timeouts._deadlines_s.pop(self, None)


def acknowledges_one_less(self: LinkSession) -> None:
    """Acknowledge all but the last message that has come."""
    if self._connection is not None and self.state.received > self._acknowledged:
        self._acknowledged = self.state.received
        self._connection.send(encode(Acknowledge(self._acknowledged - 1)))


def acknowledges_what_it_sent(self: LinkSession) -> None:
    """Acknowledge the count of the other direction."""
    if self._connection is not None and self.state.received > self._acknowledged:
        self._acknowledged = self.state.received
        self._connection.send(encode(Acknowledge(max(self._acknowledged, self.state.sent))))


# --- credit ---


def adds_old_credit(self: LinkSession, connection: Connection, received: int, credit_bytes: int) -> None:
    """Add the credit of an older connection to that of the new one."""
    _attach(self, connection, received, credit_bytes + max(0, self.queue.credit_bytes))


def frees_nothing_at_the_end(self: LinkQueue) -> list[CreditBatch]:
    """Forget the batches of a link that is lost or has no connection."""
    self._entries.clear()
    self.queued_bytes = self.queued_count = self._start = 0
    return []


def control_goes_first(self: LinkQueue, messages: Sequence[LinkMessage]) -> None:
    """Let control messages pass the publications that wait for credit (R5)."""
    for message in messages:
        if hasattr(message, "frame"):
            self._append(message.frame, 1)
            continue
        self._append(encode(message), 0)
        if not self._start:
            self._entries.appendleft(self._entries.pop())


def withholds_from_links(self: Exchange) -> None:
    """Grant links nothing when the journal has room again."""
    if self._is_starved and self.may_grant():
        self._is_starved = False
        for session in self._lower:
            session.grant()


def never_judges(self: Backpressure, now_s: float) -> bool:
    """Let publishers wait for a subscriber that makes no progress."""
    del self, now_s
    return False


# --- positions and gaps ---


def counts_no_hole(self: SubscriptionQueue, room_bytes: int) -> list[bytes]:
    """Count no position for a gap of unknown size."""
    unknown = sum(1 for each in self._entries if isinstance(each, Hole) and not each.count)
    chunks = _take(self, room_bytes)
    left = sum(1 for each in self._entries if isinstance(each, Hole) and not each.count)
    self.position -= unknown - left
    return chunks


def opens_nobody_again(self: LocalSubscription, reader: Any, queue: SubscriptionQueue, position: int) -> None:
    """Do not confirm open gates to a client that resumes."""
    self._exchange.reconnect_timeouts.cancel(self)
    self._let_go()
    self._reader = reader
    self._begin(queue, position)
    self.pump()


def merges_pieces(self: LocalSubscription, messages: Sequence[LinkMessage]) -> None:
    """Leave out the gaps when a queue is rebuilt."""
    for piece in pieces_of(messages):
        if isinstance(piece, FrameRun):
            self._add_run(piece)


def goes_on_with_the_old_queue(self: LocalSubscription, queue: SubscriptionQueue, position: int) -> None:
    """Count deliveries of an old connection as sent when the queue is rebuilt."""
    old = self.queue.position if hasattr(self, "queue") else position
    _begin(self, queue, max(position, min(old, self.state.emitted)))


# --- publishers ---


def takes_twice(self: ClientSession, publisher: LocalPublisher, publication: Any) -> None:
    """Accept again the publications that were taken before a connection broke."""
    if publication.sequence <= publisher.taken:
        taken = publisher.state.taken
        self._exchange.station.publish(publisher.id, [publication])
        publisher.state.taken = taken
        return
    _overlook(self, publisher, publication)


_overlook = ClientSession._overlook


def says_nothing_taken(self: ClientSession, publisher: LocalPublisher) -> None:
    """Answer that no publication of a publisher has been taken."""
    answer = Advertised(publisher.number, publisher.id, 0, publisher.is_wanted)
    self.connection.send(encode(answer))


def forgets_at_once(self: LocalPublisher) -> None:
    """Withdraw a publisher with its connection, and forget what was taken of it."""
    self.owner = None
    self._exchange.reconnect_timeouts.cancel(self)
    del self._exchange.publishers[self.id]
    self._account.release(Resource.REQUESTS)
    self._account.release(Resource.FILTER_BYTES, self.filter_bytes)
    self._exchange.station.unadvertise(self.id, retire=False)


# --- the journal and time ---


def takes_all_for_synced(self: Node, content: Synced) -> None:
    """Count records as synced that were appended after the sync began."""
    del content
    _synced(self, Synced(self.exchange.records))


def unseals_the_first(self: Node, content: Synced) -> None:
    """Release sealed output of one connection after a sync, and of no other."""
    self.exchange.synced = content.count
    for connection in list(self.connections.values())[:1]:
        connection.unseal(content.count)
        if not connection.is_filled and not connection.is_idle:
            self.exchange.filled(connection)


def stays_silent(self: Node, connection: Connection) -> None:
    """Send no sign of life to a peer that sends one large frame over a slow connection."""
    del self, connection


def greets_without_end(self: Node, connection: Connection) -> None:
    """Wait without end for a peer that sends no Hello."""
    if connection.life is Life.SERVING:
        _look_after(self, connection)


_look_after = Node._look_after


def wakes_too_late(self: ReconnectTimeouts, at_s: float) -> None:
    """Set the timer of disconnected sessions once, and never to an earlier time."""
    if self._timer is None or not self._timer.is_set:
        self._timer = self._timers.at(at_s, self._look) if at_s != float("inf") else None


# --- the client ---


def flushed_when_sent(self: ClientWindow) -> PendingFlush:
    """Confirm a flush when everything has been sent."""
    place = _flush(self)
    if not any(not isinstance(each, PendingFlush) for each in self._unsent):
        place.is_done = True
    return place


_flush = ClientWindow.flush


def sends_before_the_answer(self: Session) -> bytes:
    """Publish before the broker has said what it has taken."""
    self._awaited.clear()
    return _session_take(self)


_session_take = Session.take


def rewinds_backwards(self: ClientWindow) -> None:
    """Send the unsent publications before those that have to be sent again."""
    self._unsent.extend(self._sent)
    self._sent.clear()
    self._open = None
    self._unflushed_bytes = 0
    self.credit_bytes = 0


# --- needless waiting ---


def asks_for_everything(
    self: Pairwise, event: Event, origin: Hops, mark: int, route: Route
) -> Sequence[Emission]:
    """Let unordered events wait for the uplink like ordered ones."""
    if event.ordered or (origin and origin == self._uplink) or not route.targets & self._uplink:
        return _publication(self, event, origin, mark, route)
    if not route.exposed:
        return _publication(self, event, origin, mark, route)
    emissions = [Emission(event, self._uplink, REQUEST)]
    self._add(_Pending(event, route.exposed, 0, awaits=True, together=True), emissions)
    lower = route.targets & ~self._uplink & ~route.exposed
    if lower:
        self._add(_Pending(event, lower), emissions)
    return emissions


def asks_for_everybody(
    self: Pairwise, event: Event, origin: Hops, mark: int, route: Route
) -> Sequence[Emission]:
    """Let unordered subscriptions wait for the uplink like ordered ones."""
    lower = route.targets & ~self._uplink
    is_climbing = bool(route.targets & self._uplink) and not (origin and origin == self._uplink)
    exposed = lower if is_climbing and event.ordered else route.exposed
    return _publication(self, event, origin, mark, Route(route.targets, exposed))
