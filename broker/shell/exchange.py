"""Where connections and the station meet: hands what the core decided to the connections it is for.

Laws:

1. The station is called from here and from the sessions, always in one synchronous step: feed it, `settle`.
   No wait is between a call of the station and the carrying out of its effects.
2. After `settle` nothing that the core has to say is left over, and every outbox that got something will be
   flushed: at once after a small step, for the sake of latency; after a large one when all other readers that
   were ready have had their step too, so that one write carries what all of them caused. With a journal it is
   flushed when the inputs before it are on disk (`broker.shell.commit`).
3. What holds up publishers is decided here: a link's queue (`broker.shell.credit`), a subscriber that is
   slower but moves (`broker.shell.pacing`), and publications that the ordering plugin keeps.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

import structlog
import trio
from attrs import Factory, define, field

from broker.core import BrokerCore, Effects, Hop
from broker.healing import Search
from broker.messages import LinkMessage, Publication, WayTold
from broker.shell.absences import Absences
from broker.shell.commit import Commit
from broker.shell.connection import Connection
from broker.shell.credit import Batch, Share
from broker.shell.pacing import PATIENCE_S
from broker.shell.queues import LinkQueue, Run, RunCache
from broker.shell.replaying import Replaying
from broker.shell.totals import Totals
from broker.station import LinkPlace, Station

if TYPE_CHECKING:
    from broker.shell.publishers import LocalPublisher
    from broker.shell.subscriptions import Subscription

__all__ = ["Exchange", "Granting", "Link", "Paced", "Sink"]

WAITING_COUNT_MAX: Final = 20_000
"""While the ordering plugin keeps more than this, lower hops get no credit: a few megabytes of small events,
and some hundred milliseconds of a fast broker's work when the acknowledgement comes."""

SMALL_STEP: Final = 32
"""A step with so few messages is flushed at once. Waiting for other readers would cost it a task switch, and
they are likely to have as little."""

SAMPLE_EVERY: Final = 64
"""Matching is timed alone once in so many calls of the core: often enough for a rate, and free."""

JUDGING_INTERVAL_S: Final = PATIENCE_S / 5
"""How often subscriptions for which publishers wait are looked at."""

_log = structlog.get_logger()


class Sink(Protocol):
    """What a hop leads to: a link or a subscription."""

    def put(
        self, messages: Sequence[LinkMessage], run: Run | None, batch: Batch | None, now_s: float
    ) -> None:
        """Queue what the core emitted to this hop in one step; `run` is it as bytes if publications alone."""
        ...


class Granting(Protocol):
    """A session whose peer may be granted credit."""

    def grant(self) -> None:
        """Return credit to the peer if there is enough to return."""
        ...


class Link(Sink, Granting, Protocol):
    """A link to another broker, known by its name."""

    queue: LinkQueue
    publications_in: int
    publications_out: int
    connections: int

    @property
    def name(self) -> str:
        """The neighbour's name."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether it has a connection now."""
        ...

    @property
    def place(self) -> LinkPlace:
        """What the station remembers of it."""
        ...

    @property
    def is_uplink(self) -> bool:
        """Whether the other end is above us."""
        ...

    def acknowledge(self) -> None:
        """Tell the other end what has been received, if that is news."""
        ...

    def attached(self) -> None:
        """The link became part of the tree."""
        ...

    def rejected(self, verdict: str) -> None:
        """The other tree does not want us."""
        ...


class Paced(Protocol):
    """A subscription for which publishers may have to wait."""

    def judge(self, now_s: float) -> bool:
        """Decide whether it is slow; return whether publishers still wait for it."""
        ...


Tally = Callable[[Sequence[tuple[Hop, Sequence[LinkMessage]]]], None]
"""Counts what leaves a broker, for those who want to know it by kind."""


def _tell_nobody(_: Sequence[tuple[Hop, Sequence[LinkMessage]]]) -> None:
    """Where nobody counts."""


@define(eq=False)
class Exchange:
    """The state that all connections of one broker share."""

    station: Station
    search: Search = Factory(lambda self: Search(self.station.name), takes_self=True)
    now: Callable[[], float] = trio.current_time
    share: Share = Factory(Share)
    totals: Totals = Factory(Totals)
    commit: Commit | None = None
    links: dict[str, Link] = field(factory=dict, init=False)
    link_of: dict[Hop, Link] = field(factory=dict, init=False)
    publishers: dict[str, "LocalPublisher"] = field(factory=dict, init=False)
    subscribers: dict[str, "Subscription"] = field(factory=dict, init=False)
    sinks: dict[Hop, Sink] = field(factory=dict, init=False)
    is_closing: bool = field(default=False, init=False)
    is_withholding: bool = field(default=False, init=False)
    tally: Tally = field(default=_tell_nobody, init=False)
    _lower: dict[Granting, None] = field(factory=dict, init=False)
    _is_starved: bool = field(default=False, init=False)
    _filled: list[Connection] = field(factory=list, init=False)
    _is_stepping: bool = field(default=False, init=False)
    _flush_wanted: trio.Event = field(factory=trio.Event, init=False)
    _paced: dict[Paced, None] = field(factory=dict, init=False)
    _paced_some: trio.Event = field(factory=trio.Event, init=False)
    _unsampled_count: int = field(default=0, init=False)
    _questions: dict[str, Callable[[WayTold], None]] = field(factory=dict, init=False)
    _ending: list[Callable[[], None]] = field(factory=list, init=False)
    absences: Absences = field(init=False)
    replaying: Replaying = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.absences = Absences(self.settle, None if self.commit is None else self.station)
        self.replaying = Replaying(self.station, self.settle)

    @property
    def core(self) -> BrokerCore:
        """The core, to look at: only the station changes it."""
        return self.station.core

    @property
    def is_kept(self) -> bool:
        """Whether whoever loses its connection may come back, to this run or to the journal's next one."""
        return not self.is_closing or self.commit is not None

    def question(self, answer: Callable[[WayTold], None]) -> str:
        """Return an id for a question that is answered by this call, page by page, as the overlay tells."""
        name = self.station.mint("?")
        self._questions[name] = answer
        return name

    # --- what the core decided ---

    def settle(self, batch: Batch | None = None) -> None:
        """Carry out what the core decided; `batch` is what was read, if its reader waits for credit."""
        self._carry_out(batch)
        while self._ending:
            ending, self._ending = self._ending, []
            for end in ending:
                end()
            self._carry_out(None)
        if batch is not None:
            batch.release()
        self._withhold_or_grant()

    def after(self, step: Callable[[], None]) -> None:
        """Call this once the effects at hand are carried out: it will call the core."""
        self._ending.append(step)

    def _carry_out(self, batch: Batch | None) -> None:
        effects = self.station.take()
        if effects.outgoing:
            runs = RunCache()
            now_s = self.now()
            self.tally(effects.outgoing)
            for hop, messages in effects.outgoing:
                self.sinks[hop].put(messages, runs.run(messages), batch, now_s)
        self._tell_clients(effects)
        for identity in effects.replaying:
            if (subscriber := self.subscribers.get(identity)) is not None:
                self.replaying.add(subscriber)
        self._carry_out_links(effects)

    def _tell_clients(self, effects: Effects) -> None:
        # A client may have withdrawn in the same step what it asked for.
        for identity in effects.advertised:
            if (publisher := self.publishers.get(identity)) is not None:
                publisher.opened()
        for identity in effects.subscribed:
            if (subscriber := self.subscribers.get(identity)) is not None:
                subscriber.opened()
        for identity, _ in effects.wanted:
            if (publisher := self.publishers.get(identity)) is not None:
                publisher.wanted()
        for told in effects.explained:
            # Who asked may have been another run of this broker.
            if (answer := self._questions.get(told.question)) is not None:
                answer(told)
                if not told.more:
                    del self._questions[told.question]

    def _carry_out_links(self, effects: Effects) -> None:
        for hop in effects.attached:
            self.link_of[hop].attached()
        for hop, verdict in effects.rejected:
            if (link := self.link_of.get(hop)) is not None:
                link.rejected(verdict)

    def timed(self, started_s: float, count: int, last: object) -> None:
        """Note that a call of the core for so many publications began at `perf_counter() == started_s`.

        Now and then, match the last of them once more to see what matching alone costs.
        """
        totals = self.totals
        totals.core_s += perf_counter() - started_s
        totals.publications_in += count
        self._unsampled_count += 1
        if self._unsampled_count >= SAMPLE_EVERY and type(last) is Publication:
            self._unsampled_count = 0
            started_s = perf_counter()
            self.core.wanted_by(last)
            totals.matching_s += perf_counter() - started_s
            totals.matched += 1

    # --- credit ---

    def join_lower(self, session: Granting) -> None:
        """This session's peer is a lower hop: it gets no credit while too much is waiting."""
        self._lower[session] = None

    def leave_lower(self, session: Granting) -> None:
        """The session is over."""
        self._lower.pop(session, None)

    def _withhold_or_grant(self) -> None:
        is_over = self.core.waiting_count > WAITING_COUNT_MAX
        if is_over == self.is_withholding:
            return
        self.is_withholding = is_over
        if not is_over:
            for session in list(self._lower):
                session.grant()

    def grant_withheld(self) -> None:
        """Grant what was not granted for want of room, if there is some now."""
        if self._is_starved and self.may_grant():
            self._is_starved = False
            for session in [*self._lower, *self.links.values()]:
                session.grant()

    # --- pace ---

    def pace(self, subscription: Paced) -> None:
        """Publishers wait for this subscription from now on."""
        self._paced[subscription] = None
        self._paced_some.set()

    async def judge_paced(self) -> None:
        """Look at the subscriptions that publishers wait for, for ever."""
        while True:
            await self._paced_some.wait()
            self._paced_some = trio.Event()
            while self._paced:
                await trio.sleep(JUDGING_INTERVAL_S)
                now_s = self.now()
                for subscription in list(self._paced):
                    if not subscription.judge(now_s):
                        self._paced.pop(subscription, None)

    # --- flushing ---

    def filled(self, connection: Connection) -> None:
        """Flush this connection before the next wait."""
        connection.is_filled = True
        self._filled.append(connection)
        if not self._is_stepping:
            self._flush_wanted.set()

    def begin_step(self) -> None:
        """A reader begins to handle what it read."""
        self._is_stepping = True

    def end_step(self, message_count: int) -> None:
        """A reader has handled what it read: flush now if it was little, else leave it to `flush_filled`."""
        self._is_stepping = False
        if not self._filled:
            return
        if message_count <= SMALL_STEP:
            self._flush()
        else:
            self._flush_wanted.set()

    @property
    def is_clear(self) -> bool:
        """Whether no input waits to be synced, so that everything may leave."""
        return self.commit is None or self.commit.is_clear

    def may_grant(self) -> bool:
        """Whether the journal has room for more than was granted; if not, see `grant_withheld`."""
        if self.commit is None or self.commit.has_room:
            return True
        self._is_starved = True
        return False

    @property
    def is_full(self) -> bool:
        """Whether the journal's disk is full: nothing more is taken from clients."""
        return self.commit is not None and self.commit.is_full

    def _flush(self) -> None:
        # Flushing gives credit back, which fills more outboxes: they are found at the end of the list.
        self._is_stepping = True
        place = 0
        while place < len(self._filled) and self.is_clear:
            self._filled[place].flush()
            place += 1
        del self._filled[:place]
        self._is_stepping = False

    async def flush_filled(self) -> None:
        """Flush whatever was filled, once per pass of the scheduler, for ever.

        What must wait for the disk is left alone: the commit sends it.
        """
        while True:
            await self._flush_wanted.wait()
            self._flush_wanted = trio.Event()
            self._flush()

    def seal(self) -> list[Connection]:
        """Return the connections that have something to send, which is marked as covered by the next sync."""
        filled, self._filled = self._filled, []
        for connection in filled:
            connection.seal()
        return filled

    def send_sealed(self, sealed: list[Connection]) -> None:
        """Send what was sealed, and whatever else may leave by now."""
        self._is_stepping = True
        for connection in sealed:
            connection.flush_sealed()
        self._flush()
