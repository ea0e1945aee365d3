"""What is wrong with a world at rest: promises that were broken, memory and credit that did not come back.

Laws.

1. Order and "at most once" are judged for everything that was delivered, whatever has happened.
2. What an open subscription wanted and did not get needs a gap in its place, unless its publisher is no more.
3. A gap needs a reason: something was lost, or a queue was full.
4. What is published after everything came to rest arrives, without a gap.
5. At rest every byte of credit is back, and a node keeps nothing but what is open.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from broker.client.delivery import BOUND, FORGOTTEN, LOST, REPLAY, TAKEN
from broker.node import Node
from broker.node.budget import Resource
from broker.node.clients import ClientSession
from broker.node.starts import BOUND_BYTES_MIN
from harness.simulator.record import Published
from harness.simulator.verdict import Fault, faults_in
from harness.whole.history import Line
from harness.whole.quiet import settle
from harness.whole.world import World

__all__ = ["go_on", "judge"]

GRANT_PART: Final = 4
"""Less than this part of a window may be missing without a grant."""


def judge(world: World) -> list[Fault]:
    """Return everything that is wrong with what programs saw."""
    history = world.history
    return [
        *history.faults,
        *faults_in(history.record()),
        *_untold(world),
        *_unjustified(world),
        *_refusals(world),
    ]


def go_on(world: World) -> list[Fault]:
    """Everybody publishes once more after everything came to rest, and all of it arrives (laws 4 and 5)."""
    history = world.history
    before = len(history.publications)
    gaps = {name: len(line.stream.gaps) for name, line in history.lines.items()}
    for program in world.live_programs():
        for publishing in program.publishing:
            if publishing.is_usable and publishing.interest.kinds:
                world.publish(program, publishing, world.random.choice(publishing.interest.kinds))
    if wrong := settle(world):
        return wrong
    world.clock.run(world.clock.now_s + world.knobs.link_timeout_s / 4)
    if wrong := settle(world):
        return wrong
    return [*_last_missing(world, before, gaps), *_new_gaps(world, gaps), *left_over(world)]


def _last_missing(world: World, before: int, gaps: dict[str, int]) -> Iterator[Fault]:
    readers = _read(world)
    for published in world.history.publications[before:]:
        number = world.history._index[published.publisher, published.sequence]  # noqa: SLF001 - of this package
        for name in published.wanted:
            line = world.history.lines[name]
            if len(line.gaps) > gaps.get(name, 0):
                continue  # Its queue was full once more.
            if name in readers and not line.is_ended and not line.stream.seen >> number & 1:
                yield "missing", f"{name} never got {published}, which was published at rest"


def _new_gaps(world: World, gaps: dict[str, int]) -> Iterator[Fault]:
    for name, line in world.history.lines.items():
        for _, gap in line.gaps[gaps.get(name, 0) :]:
            if gap.reason not in {BOUND}:
                yield "gap", f"{name} got a gap at rest: {gap}"


def _read(world: World) -> set[str]:
    """The subscriptions that some program reads."""
    return {
        reading.line.name
        for program in world.live_programs()
        for reading in program.reading
        if not reading.is_ended and not reading.is_closed
    }


# --- what is missing ---


def _untold(world: World) -> Iterator[Fault]:
    """What subscriptions miss of live publishers without a gap in its place (law 2)."""
    history = world.history
    has_lost = _has_lost(world)
    readers = _read(world)
    for line in history.lines.values():
        for publisher, published in _by_publisher(world).items():
            if has_lost and publisher in history.dead:
                continue
            is_reading = line.name in readers and not line.is_ended
            for missed, place in _missed(line, published, is_whole=is_reading and publisher not in history.dead):
                if not any(gap in place for gap in line.stream.gaps):
                    yield "gap", f"{line.name} never got {missed}, and no gap says so in its place"


def _by_publisher(world: World) -> dict[str, list[tuple[int, Published]]]:
    found: dict[str, list[tuple[int, Published]]] = {}
    for number, published in enumerate(world.history.publications):
        found.setdefault(published.publisher, []).append((number, published))
    return found


def _missed(
    line: Line, published: list[tuple[int, Published]], *, is_whole: bool
) -> Iterator[tuple[Published, range]]:
    """What a subscription did not get of a publisher, and between which of its deliveries."""
    stream = line.stream
    position_of = {number: position for position, number in enumerate(stream.delivered)}
    after, missed = 0, None
    for number, each in published:
        position = position_of.get(number)
        if position is None:
            missed = missed or (each if line.name in each.wanted else None)
            continue
        if missed is not None and not stream.replayed >> number & 1:
            yield missed, range(after, position + 1)
        after, missed = position + 1, None
    if missed is not None and is_whole:
        yield missed, range(after, len(stream.delivered) + 1)


def _has_lost(world: World) -> bool:
    """Whether something was lost that brokers may say so of."""
    return any(
        site.is_gone or site.total("lost_links") or site.memory_losses for site in world.sites.values()
    )


def _unjustified(world: World) -> Iterator[Fault]:
    """Gaps and ends without a reason (law 3)."""
    has_lost = _has_lost(world)
    has_waited = world.clock.now_s > world.knobs.link_timeout_s
    dropped = sum(site.total("dropped") for site in world.sites.values())
    size_bytes = sum(content[3] + 200 for each in world.programs for p in each.publishing for content in p.sent)
    for line in world.history.lines.values():
        for _, gap in line.gaps:
            is_lost = gap.reason == LOST and (has_lost or not world.knobs.settles_first)
            is_forgotten = gap.reason == FORGOTTEN and (has_lost or has_waited)
            is_taken = gap.reason == TAKEN and line.is_contested
            is_past = gap.reason == REPLAY and world.knobs.joins
            is_dropped = gap.reason == BOUND and dropped and size_bytes > BOUND_BYTES_MIN
            if not (is_lost or is_forgotten or is_dropped or is_taken or is_past):
                yield "gap", f"{line.name} got a gap for no reason: {gap} ({gap.reason})"
    if size_bytes < BOUND_BYTES_MIN and any(site.total("ended_slow") for site in world.sites.values()):
        yield "ended", f"a subscription was ended as slow, and {size_bytes} bytes were published"


def _refusals(world: World) -> Iterator[Fault]:
    """What brokers refused or gave up although everybody was honest and nobody was away for long."""
    knobs = world.knobs
    if knobs.kills or knobs.losses or knobs.freezes or knobs.half_open or knobs.hostile:
        return
    for site in world.sites.values():
        if site.total("lost_links") and knobs.settles_first:
            yield "refused", f"{site.name} has lost {site.total('lost_links')} links"
        if site.total("refused") and knobs.settles_first:
            yield "refused", f"{site.name} has refused something"


# --- what is left ---


def left_over(world: World) -> Iterator[Fault]:
    """Credit and memory that did not come back (law 5)."""
    for site in world.live_sites():
        if site.node is not None:
            node = site.node
            if set(node.connections) != set(site.ends):
                yield "memory", f"{site.name}: connections are {set(node.connections)}, not {set(site.ends)}"
            for text in (*_credit(world, node), *_memory(node), *_budgets(node)):
                yield "memory", f"{site.name}: {text}"


def _credit(world: World, node: Node) -> Iterator[str]:
    for link in node.exchange.links.values():
        if link.window.held_bytes:
            yield f"{link.window.held_bytes} bytes of {link.name} are held"
        other = world.sites[link.name].node
        there = None if other is None else other.exchange.links.get(node.config.name)
        if there is not None and there.queue.credit_bytes != link.window.available_bytes:
            yield (
                f"{link.name} has {there.queue.credit_bytes} bytes of credit, "
                f"and {link.window.available_bytes} are accounted for"
            )
        if (link.window._share.size_bytes - link.window.available_bytes) * GRANT_PART >= (  # noqa: SLF001
            link.window._share.size_bytes  # noqa: SLF001 - only to look
        ):
            yield f"{link.name} has only {link.window.available_bytes} bytes of credit at rest"
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
        if session.window.available_bytes != program.session.window.credit_bytes:
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
        ("hops", set(exchange.sinks), {each.hop for each in exchange.subscribers.values()} | set(exchange.link_of)),
    )
    for what, has, should in pairs:
        if has != should:
            yield f"{what} are {sorted(map(str, has))}, not {sorted(map(str, should))}"
    counts = {
        "questions": len(exchange._questions),  # noqa: SLF001 - only to look
        "paced": len(exchange._paced),  # noqa: SLF001
        "ending": len(exchange._ending),  # noqa: SLF001
        "unhandled": len(node._unhandled),  # noqa: SLF001
        "replaying": len(exchange.replaying._waiting),  # noqa: SLF001
    }
    yield from (f"{count} {what} are left" for what, count in counts.items() if count)
    serving = sum(1 for each in node.connections.values() if isinstance(each.session, ClientSession))
    links = sum(1 for each in exchange.links.values() if not each.is_uplink)
    if len(exchange._lower) != serving + links:  # noqa: SLF001
        yield f"{len(exchange._lower)} get credit, and {serving} clients and {links} links are there"  # noqa: SLF001
    windows = [each.session.window for each in node.connections.values() if isinstance(each.session, ClientSession)]
    members = sum(window._joined for window in windows)  # noqa: SLF001
    if exchange.share._members != members:  # noqa: SLF001
        yield f"{exchange.share._members} share the credit, and {members} publish"  # noqa: SLF001
    for subscription in exchange.subscribers.values():
        if subscription._held:  # noqa: SLF001
            yield f"{subscription.id} holds {len(subscription._held)} batches"  # noqa: SLF001
        kept = subscription.place.emitted - subscription.place.taken
        if subscription._reader is None and not subscription.place.durable:  # noqa: SLF001
            yield f"{subscription.id} has no reader"
        if not kept and subscription.unconfirmed_bytes:
            yield f"{subscription.id} has {subscription.unconfirmed_bytes} bytes unconfirmed and none kept"
    for link in exchange.links.values():
        if link._held:  # noqa: SLF001
            yield f"the link to {link.name} holds {len(link._held)} batches"  # noqa: SLF001


def _budgets(node: Node) -> Iterator[str]:
    """What is charged to users and to the broker, against what is there."""
    exchange = node.exchange
    used: Counter[Resource] = Counter()
    for publisher in exchange.publishers.values():
        used[Resource.REQUESTS] += 1
        used[Resource.FILTER_BYTES] += publisher.filter_bytes
    for subscription in exchange.subscribers.values():
        used[Resource.REQUESTS] += 1
        used[Resource.FILTER_BYTES] += subscription.filter_bytes
        used[Resource.DURABLE] += subscription.place.durable != ""
        used[Resource.KEPT_BYTES] += subscription._accounted_bytes  # noqa: SLF001 - only to look
    for resource in Resource:
        if exchange.budgets.broker.used[resource] != used[resource]:
            yield (
                f"{exchange.budgets.broker.used[resource]} {resource.value} are charged, "
                f"and {used[resource]} are there"
            )
    for connection in node.connections.values():
        session = connection.session
        if isinstance(session, ClientSession):
            count = len(session._publishers) + len(session._subscriptions)  # noqa: SLF001
            if session._account.used[Resource.REQUESTS] != count:  # noqa: SLF001
                charged = session._account.used[Resource.REQUESTS]  # noqa: SLF001
                yield f"{charged} requests are charged to connection {connection.number}, not {count}"
