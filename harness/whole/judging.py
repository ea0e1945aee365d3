"""What is wrong with a world at rest: promises that were broken, memory and credit that were not released.

Laws.

1. Order and "at most once" are judged for all deliveries, whatever has happened.
2. Where an open subscription misses an event, it has a gap in the place, unless the publisher is gone.
3. A gap needs a reason: something was lost, or a queue was full.
4. An event that is published after everything came to rest arrives, without a gap.
5. At rest all credit is granted again, and a node keeps only what is open.
6. Brokers link only if they share their settings; one that differs is refused with a reason (`quiet`).
7. An event that a client publishes again, as its broker forgot it, comes behind a gap where it was delivered
   before; where the client has gone to another broker meanwhile without one, since that cannot know of it.
8. Events that were read at a broker come before those published there afterwards, by whichever client.
9. A program that resumes at another broker has another subscription there, which begins with a gap.
10. At rest a program that watches what is on offer knows exactly what stands.
"""

from collections.abc import Iterator
from typing import Final

from broker.client.delivery import BOUND, FORGOTTEN, LOST, REPLAY, TAKEN
from broker.node.starts import BOUND_BYTES_MIN
from harness.simulator.record import PublishedEvent, Stream
from harness.simulator.verdict import Fault, faults_in
from harness.whole.leftovers import left_over
from harness.whole.offered import misinformed
from harness.whole.quiet import settle, unacknowledged
from harness.whole.world import WholeWorld

MEETINGS_PER_MOVE: Final = 3
"""A broker that is on its way to another refuses it, or gives the link up, if that comes at the same time.
Who is refused waits, and tries again a few times."""

GREETING_PIECES: Final = 8
"""In so many pieces a greeting arrives over a bad line, or more; each comes late by itself."""


def judge(world: WholeWorld) -> list[Fault]:
    """Return everything that is wrong with the history of programs."""
    history = world.history
    return [
        *history.faults,
        *faults_in(history.record()),
        *_unreported(world),
        *_unjustified(world),
        *_refusals(world),
        *_unshared(world),
        *_repeated(world),
    ]


def go_on(world: WholeWorld) -> list[Fault]:
    """Let all publishers publish once more at rest; all has to arrive (laws 4, 5 and 10)."""
    history = world.history
    before = len(history.publications)
    gaps = {name: len(subscription.gaps) for name, subscription in history.subscriptions.items()}
    for program in world.live_programs():
        for publishing in program.publishing:
            if publishing.is_usable and publishing.interest.kinds:
                world.publish(program, publishing, world.random.choice(publishing.interest.kinds))
    if wrong := settle(world):
        return wrong
    if wrong := settle(world, unacknowledged):
        return wrong
    return [
        *_last_missing(world, before, gaps),
        *_new_gaps(world, gaps),
        *left_over(world),
        *misinformed(world),
    ]


def _last_missing(world: WholeWorld, before: int, gaps: dict[str, int]) -> Iterator[Fault]:
    readers = _read(world)
    for published in world.history.publications[before:]:
        number = world.history._index[published.publisher, published.sequence]  # noqa: SLF001 - of this package
        for name in published.wanted:
            subscription = world.history.subscriptions[name]
            if len(subscription.gaps) > gaps.get(name, 0):
                continue  # Its queue was full once more.
            if name in readers and not subscription.is_ended and not subscription.stream.seen >> number & 1:
                yield "missing", f"{name} never got {published}, which was published at rest"


def _new_gaps(world: WholeWorld, gaps: dict[str, int]) -> Iterator[Fault]:
    for name, subscription in world.history.subscriptions.items():
        for _, gap in subscription.gaps[gaps.get(name, 0) :]:
            if gap.reason != BOUND:
                yield "gap", f"{name} got a gap at rest: {gap}"


def _read(world: WholeWorld) -> set[str]:
    """Return the subscriptions that some program reads."""
    return {
        reading.history.name
        for program in world.live_programs()
        for reading in program.reading
        if not reading.is_ended and not reading.is_closed
    }


# --- what is missing ---


def _unreported(world: WholeWorld) -> Iterator[Fault]:
    """Yield what subscriptions miss of live publishers without a gap in its place (law 2)."""
    history = world.history
    has_lost = _has_lost(world)
    readers = _read(world)
    for name, subscription in history.subscriptions.items():
        is_read = name in readers and not subscription.is_ended
        for publisher, published in _by_publisher(world).items():
            if has_lost and publisher in history.dead:
                continue
            if publisher in history.returned and (has_lost or not world.knobs.settles_first):
                continue  # It may have been away when the trees became one.
            is_complete = is_read and publisher not in history.dead
            for stream in subscription.streams:
                is_whole = is_complete and stream is subscription.stream
                for missed, place in _missed(name, stream, published, is_whole=is_whole):
                    if not any(gap in place for gap in stream.gaps):
                        yield "gap", f"{name} never got {missed}, and no gap says so in its place"


def _by_publisher(world: WholeWorld) -> dict[str, list[tuple[int, PublishedEvent]]]:
    found: dict[str, list[tuple[int, PublishedEvent]]] = {}
    for number, published in enumerate(world.history.publications):
        found.setdefault(published.publisher, []).append((number, published))
    return found


def _missed(
    name: str, stream: Stream, published: list[tuple[int, PublishedEvent]], *, is_whole: bool
) -> Iterator[tuple[PublishedEvent, range]]:
    """Yield each run that a subscription misses of a publisher, with the positions where a gap belongs."""
    position_of = {number: position for position, number in enumerate(stream.delivered)}
    after, missed = 0, None
    for number, each in published:
        position = position_of.get(number)
        if position is None:
            missed = missed or (each if name in each.wanted else None)
            continue
        if missed is not None and not stream.replayed >> number & 1:
            yield missed, range(after, position + 1)
        after, missed = position + 1, None
    if missed is not None and is_whole:
        yield missed, range(after, len(stream.delivered) + 1)


def _has_lost(world: WholeWorld) -> bool:
    """Return whether a broker, its memory or a link was lost, which justifies gaps."""
    sites = [site for site in world.sites.values() if not site.is_odd]
    return any(site.is_gone or site.total("lost_links") or site.memory_losses for site in sites)


def _unjustified(world: WholeWorld) -> Iterator[Fault]:
    """Yield gaps and ends without a reason (law 3)."""
    has_lost = _has_lost(world)
    has_waited = world.clock.now_s > world.knobs.link_timeout_s
    dropped = sum(site.total("dropped") for site in world.sites.values())
    ended_slow = sum(site.total("ended_slow") for site in world.sites.values())
    size_bytes = sum(
        content[3] + 200 for each in world.programs for p in each.publishing for content in p.sent
    )
    for subscription in world.history.subscriptions.values():
        for _, gap in subscription.gaps:
            is_lost = gap.reason == LOST and (has_lost or not world.knobs.settles_first)
            # A new process takes the first broker that answers.
            is_elsewhere = world.knobs.roams and bool(subscription.durable)
            is_forgotten = gap.reason == FORGOTTEN and (has_lost or has_waited or ended_slow or is_elsewhere)
            is_taken = gap.reason == TAKEN and subscription.is_contested
            is_past = gap.reason == REPLAY and (has_lost or world.knobs.joins or size_bytes > BOUND_BYTES_MIN)
            is_dropped = gap.reason == BOUND and dropped and size_bytes > BOUND_BYTES_MIN
            if not (is_lost or is_forgotten or is_dropped or is_taken or is_past):
                yield "gap", f"{subscription.name} got a gap for no reason: {gap} ({gap.reason})"
    if size_bytes < BOUND_BYTES_MIN and ended_slow:
        yield "ended", f"a subscription was ended as slow, and {size_bytes} bytes were published"


def _refusals(world: WholeWorld) -> Iterator[Fault]:
    """Yield what brokers refused or lost although all peers were honest and connected."""
    knobs = world.knobs
    detaches = knobs.relocations and "reattach" in knobs.methods
    if knobs.kills or knobs.losses or knobs.freezes or knobs.half_open or knobs.hostile or detaches:
        return
    shape = knobs.shape
    pieces_count = GREETING_PIECES if shape.cuts or shape.crumbs else 1
    greeting_s = 2 * pieces_count * shape.latency_s * (shape.slow_factor if shape.slow_part else 1)
    # Otherwise a greeting may take too long, and be repeated.
    is_quick = greeting_s < knobs.link_timeout_s / 2
    meeting = MEETINGS_PER_MOVE * knobs.relocations if knobs.relocations > 1 else 0
    for site in world.live_sites() if not knobs.odd else ():
        if site.total("lost_links") > meeting and knobs.settles_first and is_quick:
            yield "refused", f"{site.name} has lost {site.total('lost_links')} links"
        if site.total("refused") > meeting and knobs.settles_first:
            yield "refused", f"{site.name} has refused {site.total('refused')} things"


def _unshared(world: WholeWorld) -> Iterator[Fault]:
    """Yield links between brokers with different settings (law 6)."""
    for site in world.sites.values():
        if not site.is_odd or site.is_gone:
            continue
        links = [] if site.node is None else list(site.node.exchange.links)
        if links or site.total("lost_links"):
            yield "refused", f"{site.name} has another setting than {', '.join(links) or 'its neighbours'}"


def _repeated(world: WholeWorld) -> Iterator[Fault]:
    """Yield events that were published again and lack a gap behind their first delivery (law 7)."""
    publications = world.history.publications
    for name, stream in world.history.record().streams.items():
        first: dict[tuple[int, str], int] = {}
        for place, number in enumerate(stream.delivered):
            published = publications[number]
            before = first.setdefault((published.published_ns, published.broker), place)
            is_moved = published.published_ns in world.history.moved
            if before != place and not is_moved and not any(before < gap <= place for gap in stream.gaps):
                yield "gap", f"{name} got {published} again, and no gap says so before it"
