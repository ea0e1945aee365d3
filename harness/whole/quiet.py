"""The rest of a world: all ends are connected, nothing is pending, and all that was sent has arrived."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from broker.client.life import ClientLife, Phase
from broker.node import Node
from broker.node.connection import Life as Greeting
from broker.node.subscriptions import LocalSubscription
from harness.simulator.liveness import LEFT_TO_DO
from harness.whole.offered import overlapping
from harness.whole.programs import Program
from harness.whole.sites import WholeSite
from harness.whole.world import WholeWorld

LOOK_S: Final = 0.1
"""The first wait before it checks whether all is at rest; later waits are longer. A check costs much less
than the steps of a heartbeat."""

LOOK_S_MAX: Final = 0.5
GOLDEN: Final = 0.618
"""The fractions of its multiples are spread evenly, and do not repeat soon."""

SETTLE_S_MAX: Final = 240.0
"""More than healing takes when half of the brokers are lost and every wait is as long as possible."""

LASTING_S: Final = 60.0
"""What is always there for so long at the end lasts. Where disks are slow and brokers many, renewals and
heartbeats alone leave no moment in which nobody waits for anything."""

_COUNT: Final = re.compile(r"\b\d+\b")


def unrest(world: WholeWorld) -> Iterator[str]:
    """Yield everything that a program or a broker still waits for."""
    for program in world.programs:
        if not program.is_over:
            yield from _program(program)
            yield from _on_the_way(world, program)
    sites = world.live_sites()
    roots = [site.name for site in sites if site.node is not None and site.node.exchange.core.uplink is None]
    if len(roots) > 1:
        yield f"{', '.join(roots)} are all roots"
    for site in sites:
        yield from _site(world, site)
    for site in world.sites.values():
        is_alone = all(world.sites[each].is_gone for each in site.uplinks)
        if site.is_odd and not (site.has_reported or site.is_refused or site.is_gone or is_alone):
            yield f"{site.name} has not reported that it has another setting"


def unacknowledged(world: WholeWorld) -> Iterator[str]:
    """Yield everything that a program or a broker waits for, or keeps although it has arrived."""
    yield from unrest(world)
    for site in world.live_sites():
        links = () if site.node is None else site.node.exchange.links.values()
        for link in links:
            if link.state.acknowledged != link.state.sent:
                kept_count = link.state.sent - link.state.acknowledged
                yield f"{site.name} keeps {kept_count} messages that {link.name} has"


def settle(world: WholeWorld, waits: Callable[[WholeWorld], Iterator[str]] = unrest) -> list[tuple[str, str]]:
    """Let time pass until the world is at rest; return what is still waited for after a long time."""
    clock, lasting = world.clock, None
    until_s, look_s, phase = clock.now_s + SETTLE_S_MAX, LOOK_S, 0.0
    while clock.now_s < until_s:
        # Brokers have heartbeats and renewals: checks in step with these would always find the same state.
        phase = (phase + GOLDEN) % 1
        clock.run(clock.now_s + look_s * (0.5 + phase))
        if any(kind == "error" for kind, _ in world.history.faults):
            return []
        if next(waits(world), None) is None:
            return []
        if clock.now_s > until_s - LASTING_S:
            present = {_COUNT.sub("", text): text for text in waits(world)}
            lasting = present if lasting is None else {key: present[key] for key in lasting if key in present}
        look_s = min(LOOK_S_MAX, look_s * 1.2)
    return [("stuck", text) for text in (lasting or {}).values()][:5]


def _program(program: Program) -> Iterator[str]:
    session, name = program.session, program.name
    if program.machine.life is not ClientLife.CONNECTED:
        yield f"{name} has no connection to {program.site}"
    elif program.end is None or not program.end.cable.is_alive:
        yield f"{name} does not know yet that its connection to {program.site} carries nothing"
    if session._awaited:  # noqa: SLF001 - only to look
        yield f"{name} does not know yet which of its publications {program.site} has"
    if not session.window.is_empty:
        yield f"{name} has {session.window.size_bytes} bytes in its window"
    for publishing in program.publishing:
        if not publishing.is_closed and publishing.source.phase is Phase.OPENING:
            yield f"{name} may not publish {publishing.interest.text}"
    for reading in program.reading:
        inbox = reading.inbox
        if inbox.phase is Phase.OPENING or (inbox.phase is Phase.OPEN and not inbox.is_placed):
            yield f"the gates of {reading.history.name} are closed"
        if not reading.is_empty and not reading.is_closed:
            yield f"{reading.history.name} has something to read"


def _on_the_way(world: WholeWorld, program: Program) -> Iterator[str]:
    node = world.sites[program.site].node
    for reading in program.reading:
        inbox = reading.inbox
        if reading.is_closed:
            continue
        there = None if node is None else node.exchange.subscribers.get(inbox.id)
        if there is None:
            if inbox.ended is None:
                yield f"{program.site} does not know {reading.history.name}"
        elif inbox.ended is None and there.queue.position != inbox.position:
            sent_count = there.queue.position
            yield f"{reading.history.name} has {inbox.position} deliveries, and {sent_count} were sent"
    if node is not None:
        yield from _interest_on_the_way(program, node)
        yield from _offers_on_the_way(program, node)


def _offers_on_the_way(program: Program, node: Node) -> Iterator[str]:
    """Yield whether a program's list differs from the advertisements in the tables of its broker."""
    if program.offers is None:
        return
    stands = overlapping(node.exchange.core.tables.advertisements_but(None), program.offers)
    if program.offered != stands:
        yield f"{program.name} knows the advertisements {program.offered}, not {stands}"


def _interest_on_the_way(program: Program, node: Node) -> Iterator[str]:
    """Yield what followed interest differs by from the filters in the tables of the program's broker."""
    present = {entry.filter for entry in node.exchange.core.tables.entries()}
    for publishing in program.publishing:
        followed = program.session.followed(publishing.source)
        if followed is not None and followed.failure is None:
            advertised = publishing.outbox.filter
            overlapping = {str(each) for each in present if each.overlaps(advertised)}
            if overlapping != set(followed.filters):
                yield f"{publishing.source.id} knows the interest {followed.filters}, not {overlapping}"


def _site(world: WholeWorld, site: WholeSite) -> Iterator[str]:
    node, name = site.node, site.name
    if node is None:
        yield f"{name} is down"
        return
    if site.is_stopping:
        yield f"{name} is about to end"
    counts = node.exchange.core.counts() | {"replays": _replays(world, node)}
    waits = {each: counts[each] for each in LEFT_TO_DO if counts[each]}
    if waits:
        yield f"{name} still has {waits}: {node!r}"
    if site.disk is not None and site.disk.synced < site.disk.appended:
        yield f"{name} waits for its disk"
    away = [each.id for each in node.exchange.subscribers.values() if _is_away(each)]
    if len(node.exchange.reconnect_timeouts) != len(away):
        count = len(node.exchange.reconnect_timeouts)
        yield f"{name} waits for {count} without connection, and not only for {away}"
    if node.exchange._throttling:  # noqa: SLF001 - only to look
        yield f"{name} lets publishers wait for slow subscribers"
    yield from _connections(site, node)
    yield from _links(world, name, node)
    unread = _unread(world)
    for subscription in node.exchange.subscribers.values():
        if subscription.id in unread:
            continue
        has_reader = subscription._reader is not None  # noqa: SLF001 - only to look
        if has_reader and subscription.queue._entries:  # noqa: SLF001 - only to look
            yield f"{name} has {subscription.queue.queued_count} deliveries for {subscription.id}"


def _replays(world: WholeWorld, node: Node) -> int:
    """Return how many replays go on that have room: nobody may read a durable subscription."""
    full = {
        each.id
        for site in world.live_sites()
        if site.node is not None
        for each in site.node.exchange.replaying._waiting  # noqa: SLF001 - only to look
        if _is_away(each) and each.replay_room_bytes <= 0
    }
    replays = node.exchange.core.replays
    questions = [each.id for each in replays._questions]  # noqa: SLF001 - only to look
    playbacks = [each.subscription for each in replays.playbacks.values()]
    return sum(each not in full for each in (*questions, *playbacks))


def _unread(world: WholeWorld) -> set[str]:
    """Return the ids of subscriptions whose readers do not read."""
    readings = [each for program in world.programs if not program.is_over for each in program.reading]
    read = {each.inbox.id for each in readings if not each.is_closed and not each.is_ended}
    return {each.inbox.id for each in readings if each.is_closed} - read


def _is_away(subscription: LocalSubscription) -> bool:
    """Return whether it is durable and has no reader."""
    return bool(subscription.state.terms.durable) and subscription._reader is None  # noqa: SLF001 - only to look


def _connections(site: WholeSite, node: Node) -> Iterator[str]:
    name = site.name
    for number, end in site.ends.items():
        if not end.cable.is_alive:
            yield f"{name} does not know yet that its connection {number} carries nothing"
    for connection in node.connections.values():
        if connection.life is not Greeting.SERVING:
            yield f"connection {connection.number} of {name} is {connection.life.name}: {connection.reason}"
        elif connection.unhandled:
            yield f"connection {connection.number} of {name} has {len(connection.unhandled)} to handle"
        elif not connection.is_idle:
            yield f"connection {connection.number} of {name} has {connection.outbox_bytes} bytes to send"


def _links(world: WholeWorld, name: str, node: Node) -> Iterator[str]:
    for link in node.exchange.links.values():
        if not link.is_connected:
            yield f"the link of {name} to {link.name} has no connection"
        if link.queue.queued_bytes:
            yield f"{name} has {link.queue.queued_bytes} bytes for {link.name}"
        other = world.sites[link.name].node if link.name in world.sites else None
        there = None if other is None else other.exchange.links.get(name)
        if there is None:
            yield f"{link.name} has no link to {name}"
        elif link.state.sent != there.state.received:
            yield f"{name} sent {link.state.sent} messages to {link.name}, and {there.state.received} came"
