"""What must be released when a world is at rest: all credit, and all state of what is no longer open."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from broker.node import Node
from broker.node.budget import Resource
from broker.node.clients import ClientSession
from broker.node.links import LinkSession
from harness.simulator.verdict import Fault
from harness.whole.world import WholeWorld

GRANT_PART: Final = 4
"""A grant is due when this part of a window is missing: one in so many bytes."""


def left_over(world: WholeWorld) -> Iterator[Fault]:
    """Yield credit and memory that were not released."""
    for site in world.live_sites():
        if site.node is not None:
            node = site.node
            if set(node.connections) != set(site.ends):
                yield "memory", f"{site.name}: connections are {set(node.connections)}, not {set(site.ends)}"
            for text in (*_credit(world, node), *_memory(node), *_budgets(node)):
                yield "memory", f"{site.name}: {text}"


def _credit(world: WholeWorld, node: Node) -> Iterator[str]:
    for link in _links(node):
        window, size_bytes = link.window, link.window._share.size_bytes  # noqa: SLF001 - only to look
        if window.held_bytes:
            yield f"{window.held_bytes} bytes of {link.name} are held"
        other = world.sites[link.name].node
        there = None if other is None else other.exchange.links.get(node.config.name)
        if there is not None and there.queue.credit_bytes != window.available_bytes:
            yield (
                f"{link.name} has {there.queue.credit_bytes} bytes of credit, "
                f"and {window.available_bytes} are accounted for"
            )
        if (size_bytes - window.available_bytes) * GRANT_PART >= size_bytes:
            yield f"{link.name} has only {window.available_bytes} bytes of credit at rest"
    yield from _clients_credit(world, node)


def _links(node: Node) -> list[LinkSession]:
    return [each for each in node.exchange.links.values() if isinstance(each, LinkSession)]


def _clients_credit(world: WholeWorld, node: Node) -> Iterator[str]:
    for program in world.live_programs():
        end = program.end
        if end is None or program.site != node.config.name:
            continue
        connection = node.connections.get(end.peer.number)
        session = None if connection is None else connection.session
        if not isinstance(session, ClientSession):
            continue
        if session.window.held_bytes:
            yield f"{session.window.held_bytes} bytes of {program.name} are held"
        is_on_the_way = end.flight_bytes or end.peer.flight_bytes
        if session.window.available_bytes != program.session.window.credit_bytes and not is_on_the_way:
            yield (
                f"{program.name} has {program.session.window.credit_bytes} bytes of credit, "
                f"and {session.window.available_bytes} are accounted for"
            )
        if session.window.grant():
            yield f"{program.name} has less credit at rest than it is due"


def _memory(node: Node) -> Iterator[str]:
    exchange, station = node.exchange, node.station
    pairs = (
        ("publishers", set(exchange.publishers), set(station.publishers)),
        ("subscriptions", set(exchange.subscribers), set(station.subscriptions)),
        ("links", set(exchange.links), set(station.links)),
        (
            "hops",
            set(exchange.session_of),
            {each.hop for each in exchange.subscribers.values()} | set(exchange.link_of),
        ),
    )
    for what, has, should in pairs:
        if has != should:
            yield f"{what} are {sorted(map(str, has))}, not {sorted(map(str, should))}"
    counts = {
        "questions": len(exchange._questions),  # noqa: SLF001 - only to look
        "paced": len(exchange._throttling),  # noqa: SLF001 - only to look
        "ending": len(exchange._ending),  # noqa: SLF001 - only to look
        "unhandled": len(node._unhandled),  # noqa: SLF001 - only to look
        # A durable subscription that nobody reads may wait for room in its queue.
        "replaying": sum(
            each.replay_room_bytes > 0 or each.id not in exchange.subscribers
            for each in exchange.replaying._waiting  # noqa: SLF001 - only to look
        ),
    }
    yield from (f"{count} {what} are left" for what, count in counts.items() if count)
    serving = sum(1 for each in node.connections.values() if isinstance(each.session, ClientSession))
    links = sum(1 for each in exchange.links.values() if not each.is_uplink)
    if len(exchange._lower) != serving + links:  # noqa: SLF001 - only to look
        yield f"{len(exchange._lower)} get credit, and {serving} clients and {links} links are there"  # noqa: SLF001 - only to look
    windows = [
        each.session.window for each in node.connections.values() if isinstance(each.session, ClientSession)
    ]
    members = sum(window._joined for window in windows)  # noqa: SLF001 - only to look
    if exchange.share._members != members:  # noqa: SLF001 - only to look
        yield f"{exchange.share._members} share the credit, and {members} publish"  # noqa: SLF001 - only to look
    yield from _batches(node)


def _batches(node: Node) -> Iterator[str]:
    for subscription in node.exchange.subscribers.values():
        if subscription._held:  # noqa: SLF001 - only to look
            yield f"{subscription.id} holds {len(subscription._held)} batches"  # noqa: SLF001 - only to look
        kept = subscription.state.emitted - subscription.state.taken
        if subscription._reader is None and not subscription.state.terms.durable:  # noqa: SLF001 - only to look
            yield f"{subscription.id} has no reader"
        if not kept and subscription.unconfirmed_bytes:
            yield f"{subscription.id} has {subscription.unconfirmed_bytes} bytes unconfirmed and none kept"
    for link in _links(node):
        if link._held:  # noqa: SLF001 - only to look
            yield f"the link to {link.name} holds {len(link._held)} batches"  # noqa: SLF001 - only to look


def _budgets(node: Node) -> Iterator[str]:
    """Compare the charges to users and to the broker with what is open."""
    exchange = node.exchange
    used: Counter[Resource] = Counter()
    for publisher in exchange.publishers.values():
        used[Resource.REQUESTS] += 1
        used[Resource.FILTER_BYTES] += publisher.filter_bytes + publisher.followed_bytes
    for subscription in exchange.subscribers.values():
        used[Resource.REQUESTS] += 1
        used[Resource.FILTER_BYTES] += subscription.filter_bytes
        used[Resource.DURABLE] += subscription.state.terms.durable != ""
        used[Resource.KEPT_BYTES] += subscription._accounted_bytes  # noqa: SLF001 - only to look
    sessions = [each.session for each in node.connections.values()]
    for session in sessions:
        if isinstance(session, ClientSession):
            watches = session._discovery._watches.values()  # noqa: SLF001 - only to look
            used[Resource.WATCHES] += len(watches)
            used[Resource.FILTER_BYTES] += sum(len(str(watch.filter)) for watch in watches)
    used[Resource.CONNECTIONS] = sum(isinstance(each, ClientSession) for each in sessions)
    for resource in Resource:
        if exchange.budgets.broker.used[resource] != used[resource]:
            yield (
                f"{exchange.budgets.broker.used[resource]} {resource.value} are charged, "
                f"and {used[resource]} are there"
            )
    for connection in node.connections.values():
        session = connection.session
        if isinstance(session, ClientSession):
            count = len(session._publishers) + len(session._subscriptions)  # noqa: SLF001 - only to look
            if session._account.used[Resource.REQUESTS] != count:  # noqa: SLF001 - only to look
                charged = session._account.used[Resource.REQUESTS]  # noqa: SLF001 - only to look
                yield f"{charged} requests are charged to connection {connection.number}, not {count}"
