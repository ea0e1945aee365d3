"""The invariants of a node, checked after every step where the step was."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from broker.messages import Publication
from broker.node import Effects, Input, Node, Received, Tick, Written
from broker.node.backpressure import SLOW_AFTER_S
from broker.node.budget import Resource
from broker.node.clients import ClientSession
from broker.node.connection import OUTBOX_BYTES, Connection
from broker.node.exchange import JUDGING_INTERVAL_S
from broker.node.links import LinkSession
from broker.sessions import Missing
from broker.wire import DEFAULT_LIMITS
from harness.simulator.needless import needless_waits
from harness.whole.sites import WholeSite

KEPT_SLACK_BYTES: Final = 1 << 18
"""Kept bytes are charged in steps, for each subscription."""

OUTBOX_SLACK_BYTES: Final = OUTBOX_BYTES + (1 << 17)
"""Deliveries fill the outbox up to its bound, and one step may answer a whole read."""

WAITED_S_MAX: Final = SLOW_AFTER_S + 2 * JUDGING_INTERVAL_S
"""By then a slow consumer has been declared, and publishers wait no longer."""

TOUCHED_COUNT_MAX: Final = 120
REFUSED_COUNT_MAX: Final = 25
"""With the units of hostile schedules a step has time for twenty requests, a few touches each."""

FRAME_BYTES: Final = DEFAULT_LIMITS.publication_frame_bytes


def wrong_after(site: WholeSite, content: Input, effects: Effects) -> Iterator[str]:
    """Yield what is wrong after a step with the node, and with the connection that the input came from."""
    yield from (
        f"{line.event}: {line.fields.get('exc_info')!r}" for line in effects.logs if line.level == "error"
    )
    is_hostile = site.config.access.users is not None
    if is_hostile:
        yield from _ended_for_others(effects)
    node = site.node
    if node is None or type(content) is Written:
        return
    due = node.exchange.core.take()
    is_forgotten = node.exchange._crossing is None if due.is_unfinished else due.has_news  # noqa: SLF001 - only to look
    if due.outgoing or is_forgotten:
        yield "something that the core decided was not carried out in its step"
    if type(content) is Tick:
        yield from _waited_for(node)
        yield from _retained(node)
    if type(content) is not Received:
        return
    if not site.has_operator:  # In a step all that a child gets waits for the broker above.
        yield from _waits_needlessly(node)
    connection = node.connections.get(content.connection)
    if connection is None or connection.is_ended:
        return
    yield from _overdrawn(connection)
    if not connection.is_client:
        yield from _overfull(node)
    if is_hostile:
        yield from _overworked(site, connection)
        yield from _beyond_limits(node, connection)


def _overdrawn(connection: Connection) -> Iterator[str]:
    session = connection.session
    if isinstance(session, ClientSession | LinkSession):
        window = session.window
        if window.available_bytes <= -FRAME_BYTES:
            yield f"credit of {connection.number} is {window.available_bytes}"
        if window.held_bytes < 0:
            yield f"{connection.number} holds {window.held_bytes} bytes"


def _ended_for_others(effects: Effects) -> Iterator[str]:
    """Yield honest clients that lost their connections, where only hostile peers do harm."""
    for line in effects.logs:
        if line.event == "client left" and str(line.fields["client"]).startswith("C"):
            yield f"the connection of {line.fields['client']} has ended: {line.fields['reason']}"


def _overfull(node: Node) -> Iterator[str]:
    for subscription in node.exchange.subscribers.values():
        queue = subscription.queue
        if queue.queued_bytes > queue.bound_bytes + queue.excess_bytes and not subscription._is_over:  # noqa: SLF001 - only to look
            yield f"{queue.queued_bytes} bytes wait for {subscription.id}, whose bound is {queue.bound_bytes}"


def _waits_needlessly(node: Node) -> Iterator[str]:
    core = node.exchange.core
    if core.waiting_count:
        places = node.station.subscriptions.values()
        yield from needless_waits(core, {place.id for place in places if not place.terms.ordered})


def _waited_for(node: Node) -> Iterator[str]:
    """Yield subscribers that make no progress, and for which publishers wait all the same."""
    for subscription in node.exchange.subscribers.values():
        backpressure = subscription.backpressure
        waited_s = node.exchange.now_s - backpressure._since_s  # noqa: SLF001 - only to look
        if backpressure.waiting and waited_s > WAITED_S_MAX:
            yield f"publishers wait for {subscription.id} since {waited_s:.3f} s"


def _retained(node: Node) -> Iterator[str]:
    """Yield deliveries that the station keeps although their programs have had them, or they were dropped."""
    for subscription in node.exchange.subscribers.values():
        stream = subscription.state._stream  # noqa: SLF001 - only to look
        retained_bytes, skipped = 0, stream._offset  # noqa: SLF001 - as above
        for batch in stream._batches:  # noqa: SLF001 - as above
            if not isinstance(batch, Missing):
                left = islice(batch, skipped, None)
                retained_bytes += sum(len(each.frame) for each in left if isinstance(each, Publication))
            skipped = 0
        needed_bytes = subscription.queue.queued_bytes + subscription.unconfirmed_bytes
        if retained_bytes > needed_bytes and not subscription._is_over:  # noqa: SLF001 - as above
            yield f"{retained_bytes} bytes are kept for {subscription.id}, which needs {needed_bytes}"


def _overworked(site: WholeSite, connection: Connection) -> Iterator[str]:
    if connection.is_client and site.touched_count > TOUCHED_COUNT_MAX:
        yield f"one step has touched the station {site.touched_count} times"
    if connection.is_client and site.refused_count > REFUSED_COUNT_MAX:
        yield f"one step has refused {site.refused_count} requests"


def _beyond_limits(node: Node, connection: Connection) -> Iterator[str]:
    """Yield what a node keeps or does beyond its limits."""
    limits = node.config.limits
    session = connection.session
    accounts = [node.exchange.budgets.broker, *node.exchange.budgets._users.values()]  # noqa: SLF001 - only to look
    if isinstance(session, ClientSession):
        accounts.append(session._account)  # noqa: SLF001 - only to look
    for account in accounts:
        for resource, limit in account.limits.items():
            slack = KEPT_SLACK_BYTES if resource is Resource.KEPT_BYTES else 0
            if account.used[resource] > limit + slack:
                yield f"{account.owner} has {account.used[resource]} {resource.value}, more than {limit}"
    if connection.is_client and connection.outbox_bytes > limits.outbox_bytes + OUTBOX_SLACK_BYTES:
        yield f"connection {connection.number} has {connection.outbox_bytes} bytes to send"
    open_count = sum(1 for each in node.connections.values() if not each.is_ended)
    if open_count > limits.connections:
        yield f"{open_count} connections are open"
