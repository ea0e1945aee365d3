"""One law of the node broken per function: sessions, credit, queues, journals, timers, connections."""

from collections.abc import Callable, Sequence
from typing import Any

from broker.core.interest import InterestWatch
from broker.filters import Filter
from broker.messages import Advertised, LinkMessage, Subscribe
from broker.node import clients, node, starts
from broker.node.budget import Resource
from broker.node.connection import Connection
from broker.node.credit import CreditBatch, CreditWindow
from broker.node.discovery import CatalogueWatch, Discovery
from broker.node.effects import Close
from broker.node.exchange import Exchange
from broker.node.links import LinkSession
from broker.node.publishers import LocalPublisher
from broker.node.queues import LinkQueue, SubscriptionQueue
from broker.node.reconnect_timeouts import ReconnectTimeouts
from broker.node.starts import StartPosition
from broker.node.subscriptions import LocalSubscription
from broker.node.timers import Timers
from broker.sessions import Retained
from broker.station import LinkState, LocalSubscriptionState, Station, SubscriptionTerms
from broker.wire import encode

_link_after = LinkState.after
_subscription_after = LocalSubscriptionState.after
_attach = LinkSession.attach
_advertised = clients.ClientSession.advertised
_begin = LocalSubscription._begin
_start_of = starts.start_of
_drop_all = SubscriptionQueue.drop_all
_release = Connection.release
_detach = LocalSubscription.detach
_go_on = clients.ClientSession._go_on
_changed = CatalogueWatch.changed


# --- sessions ---


def resumes_one_too_far(self: LinkState, count: int) -> list[LinkMessage]:
    """Skip the first message that the other end of a resumed link lacks."""
    return _link_after(self, count)[1:]


def resumes_one_too_early(self: LinkSession, connection: Connection, received: int, credit: int) -> None:
    """Send the last message of a link again that the other end has."""
    kept = max(self.state.acknowledged, received - 1)
    _attach(self, connection, kept, credit)


def delivers_one_too_few(self: LocalSubscriptionState, position: int) -> list[Any]:
    """Skip the first delivery that a subscription lacks when its queue is rebuilt."""
    left = _subscription_after(self, position)
    return left[1:] if position else left


def begins_where_it_was_taken(self: LocalSubscription, queue: SubscriptionQueue, position: int) -> None:
    """Rebuild a queue from the position that the program has confirmed, not from that of its client."""
    del position
    _begin(self, queue, self.state.taken)


def begins_at_the_end(self: LocalSubscription, queue: SubscriptionQueue, position: int) -> None:
    """Rebuild a queue without the deliveries that were kept."""
    _begin(self, queue, max(position, self.state.emitted))


def delivers_what_was_had_elsewhere(request: Subscribe, place: LocalSubscriptionState) -> StartPosition:
    """Go on where a durable subscription was left, although its client has been elsewhere since."""
    start = _start_of(request, place)
    return StartPosition(place.taken, 0, goes_on=False) if start.is_had and not start.goes_on else start


def takes_received_as_had(request: Subscribe, place: LocalSubscriptionState) -> StartPosition:
    """Count everything that was sent to a durable subscription as confirmed when it resumes."""
    if request.after or not request.durable:
        return _start_of(request, place)
    return StartPosition(place.emitted, 0, goes_on=True)


def says_one_more_taken(self: clients.ClientSession, publisher: LocalPublisher) -> None:
    """Confirm one more publication to a publisher that resumes."""
    taken = publisher.taken + 1 if publisher.taken else 0
    self.connection.send(encode(Advertised(publisher.number, publisher.id, taken, publisher.is_wanted)))


def keeps_the_old_reader(self: LocalSubscription) -> None:
    """Send no notice to the connection whose subscription another one has taken over."""
    del self


def retires_nothing(self: LocalPublisher) -> None:
    """Forget what was taken of a publisher whose client did not resume in time."""
    self._exchange.reconnect_timeouts.cancel(self)
    self.owner = None
    del self._exchange.publishers[self.id]
    self._account.release(Resource.REQUESTS)
    self._account.release(Resource.FILTER_BYTES, self.filter_bytes)
    self._exchange.station.unadvertise(self.id, retire=False)


def answers_no_resumption(self: LocalPublisher, owner: Any, number: int) -> None:
    """Do not answer a publisher that resumes."""
    self._exchange.reconnect_timeouts.cancel(self)
    self.owner, self.number = owner, number


def places_one_further(
    self: clients.ClientSession,
    request: Subscribe,
    terms: SubscriptionTerms,
    subscription: LocalSubscription,
    start: StartPosition,
) -> None:
    """Count a resumed subscription from one delivery later."""
    further = start
    if start.position and start.position < subscription.state.emitted:
        further = StartPosition(start.position + 1, start.missing_count, goes_on=False)
    _go_on(self, request, terms, subscription, further)


# --- credit ---


def returns_twice(self: CreditBatch) -> None:
    """Return the credit of a batch twice."""
    self.holders -= 1
    if not self.holders:
        self.window.available_bytes -= self.size_bytes
        self.window.give_back(self.size_bytes)


def returns_nothing(self: CreditBatch) -> None:
    """Return no credit."""
    self.holders -= 1


def keeps_batches_at_the_end(self: Connection) -> None:
    """Do not release the batches that wait for a connection that has ended."""
    session, self.session = self.session, None
    if session is not None:
        session.lost(self.reason)


def forgets_held_batches(self: LinkQueue, batches: Sequence[CreditBatch]) -> Sequence[CreditBatch]:
    """Forget the batches that a link has held while it had no connection."""
    del self, batches
    return ()


def keeps_batches_of_the_withdrawn(self: LocalSubscription) -> None:
    """Do not release the batches that a subscription holds."""
    del self


def keeps_old_credit(self: LinkSession, connection: Connection, received: int, credit_bytes: int) -> None:
    """Keep the credit that an older connection of a link was granted."""
    _attach(self, connection, received, credit_bytes + self.queue.credit_bytes)


def renews_nothing(self: CreditWindow) -> None:
    """Count what was granted on an older connection as still granted."""
    del self


def first_ignores_renewal(self: CreditWindow) -> int:
    """Grant a new connection its whole window, and count it on top of the old one."""
    size_bytes = self._share.size_bytes
    self.available_bytes += size_bytes
    return size_bytes


def stays_in_the_share(self: CreditWindow) -> None:
    """Keep the share of a connection that published after its end."""
    del self


def grants_without_end(self: CreditWindow) -> int:
    """Grant credit again that has been granted already."""
    if not self._joined:
        return 0
    missing_bytes = self._share.size_bytes - self.held_bytes
    if missing_bytes * 4 < self._share.size_bytes:
        return 0
    self.available_bytes += missing_bytes - self.available_bytes
    return missing_bytes


def withholds_for_ever(self: Exchange) -> None:
    """Grant nothing again once the journal had no room."""
    del self


# --- queues ---


def forgets_gaps(self: SubscriptionQueue, count: int, reason: str) -> None:
    """Forget a gap."""
    del self, count, reason


def drops_in_silence(self: SubscriptionQueue, dropped: int) -> None:
    """Drop deliveries without a gap in their place."""
    del self, dropped


def keeps_what_was_had(self: Retained[Any], count: int) -> None:
    """Count what was acknowledged, and retain it."""
    self.check_sent(count)
    if count > self.acknowledged:
        self._offset += count - self.acknowledged
        self.acknowledged = count


def keeps_what_was_dropped(self: Station, subscription: str, count: int) -> None:
    """Retain in the station what a queue has dropped."""
    del self, subscription, count


def counts_nothing_received(self: LocalSubscription, position: int) -> None:
    """Do not count deliveries that the client of a resumed subscription has received and not confirmed."""
    del self, position


def keeps_unconfirmed(self: LocalSubscription, position: int) -> None:
    """Count confirmed deliveries as unconfirmed."""
    self._exchange.station.taken(self.id, position)
    self._look_at_account()


def never_looks_at_its_bound(self: SubscriptionQueue) -> bool:
    """Let a queue grow beyond its bound."""
    del self
    return False


def forgets_the_backlog(self: clients.ClientSession) -> None:
    """Forget which subscriptions wait for room in the outbox."""
    self.backlog.clear()


# --- the journal ---


def unseals_early(self: Connection, synced: int) -> None:
    """Release at each sync the output that waits for the next record, too."""
    while self._sealed and self._sealed[0].upto <= synced + 1:
        sealed = self._sealed.popleft()
        self._ready += sealed.chunks
        self._ready_batches += sealed.batches


def seals_nothing(self: Connection, upto: int) -> None:
    """Release output that follows from a record before that is on disk."""
    del upto
    self._ready += self._fresh
    self._ready_batches += self._fresh_batches
    self._fresh, self._fresh_batches = [], []


def seals_for_one_more(self: Connection, upto: int) -> None:
    """Let output wait for a record that has not been made."""
    _seal(self, upto + 1 if upto else 0)


_seal = Connection._seal
_written = Connection.written


# --- timers ---


def fires_once(self: Timers, wait_s: Callable[[], float], call: Callable[[], None]) -> None:
    """Call a repeated timer once."""
    self.after(wait_s(), call)


def never_wakes(self: ReconnectTimeouts, at_s: float) -> None:
    """Set no timer for disconnected sessions."""
    del self, at_s


def waits_for_who_is_there(self: ReconnectTimeouts, who: Any) -> None:
    """Keep the timeout of a session that has resumed."""
    if self._station is not None and who in self._deadlines_s:
        self._station.came(*who.station_key)


def takes_nobody_for_lost(self: node.Node, connection: Connection) -> None:
    """Never declare a silent peer lost."""
    del self
    connection.has_received = False


def replays_once(self: Any) -> None:
    """Check only once whether a queue has room for more of the past."""
    self._timer = None
    for subscription in list(self._waiting):
        del self._waiting[subscription]
        self._station.replay_more(subscription.id, subscription.replay_room_bytes)
        self._settle()
        return


# --- connections ---


def pumps_nothing(self: Connection) -> None:
    """Ask no session for more output when a buffer has been written."""
    session, self.session = self.session, None
    _written(self)
    self.session = session


def never_resumes(self: node.Node, connection: Connection) -> None:
    """Never resume a connection that was paused."""
    if not connection.is_paused and self._should_pause(connection):
        connection.is_paused = True
        self._effects.pauses.append(connection.number)


def closes_before_the_end(self: node.Node, connection: Connection) -> None:
    """Close a connection before its last frames are written."""
    if connection.number not in self.connections:
        return
    self._unhandled.pop(connection, None)
    connection.release()
    if self._dialled.pop(connection, 0) is None:
        self.uplinks.ended()
    self.connections.pop(connection.number)
    connection.close()
    self._effects.ends.append(Close(connection.number, connection.reason))


def forgets_the_unhandled(self: node.Node, connection: Connection, content: bytes) -> bool:
    """Forget the messages that one step had no time for."""
    connection.unhandled = ()
    return _feed(self, connection, content)


_feed = node.Node._feed


def settles_no_account(self: LocalSubscription) -> None:
    """Release no budget of the user when a subscription ends."""
    del self


def lets_go_for_nothing(self: clients.ClientSession, number: int) -> None:
    """Release no budget of a connection when a subscription leaves it."""
    self._subscriptions.pop(number, None)


def ends_nobody(self: Exchange, step: Callable[[], None]) -> None:
    """Never end the subscriptions that are due to end after a step."""
    del self, step


def never_acknowledges(self: LinkSession) -> None:
    """Never acknowledge the messages of a neighbour."""
    del self


def never_dials_again(self: Any) -> None:
    """Do not dial again when the connection to the uplink has ended."""
    del self


def keeps_its_reader(self: LocalSubscription) -> None:
    """Keep sending to a connection that is over."""
    reader = self._reader
    _detach(self)
    self._reader = reader


def knows_no_bound(self: Any, resource: Any, count: int = 1) -> str:
    """Refuse nothing, whatever the limits are."""
    del self, resource, count
    return ""


def works_without_end(self: clients.ClientSession, messages: Sequence[object]) -> int:
    """Handle all arrived messages in one step, however many there are."""
    place = 0
    while place < len(messages):
        place += _handle(self, messages[place:]) or 1
        if self.connection.is_ended:
            break
    return len(messages)


_handle = clients.ClientSession.handle


def resumes_for_anybody(self: Any, client: str, user: str) -> bool:
    """Let any client resume the publishers and subscriptions of others."""
    del self, client, user
    return True


def contains_nothing(self: Exchange, connection: Connection, error: Exception) -> None:
    """Let an error at one connection stop the broker."""
    del self, connection
    raise error


# --- what is on offer ---


def shows_no_removals(
    self: CatalogueWatch, changes: Sequence[tuple[str, Filter | None, Filter | None]]
) -> None:
    """Show advertisements that come, and not that they go."""
    _changed(self, [(identity, None, now) for identity, _, now in changes])


def watches_on(self: Discovery) -> None:
    """Go on watching for a client that has gone."""
    del self


def keeps_listed_interest(self: InterestWatch, interest: Filter) -> None:
    """Go on listing a filter that has lost its last subscription."""
    del self, interest
