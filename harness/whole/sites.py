"""One simulated broker: a node of the product with its connections, its timers and its disk.

It does what `broker.server` does with effects, in the same order. A killed site has no node; its disk stays.
A frozen one is a suspended process: inputs are deferred until it thaws, and time passes.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final, Protocol

from attrs import define, field, frozen

from broker.addresses import Address
from broker.filters import parse
from broker.node import (
    Accepted,
    Connected,
    Dial,
    Effects,
    Gone,
    Input,
    JournalState,
    Node,
    Pass,
    Received,
    Started,
    Stop,
    Synced,
    Tick,
    Unreached,
    Written,
)
from broker.node.access import Access, User
from broker.node.limits import NodeLimits
from broker.routing import Routing
from broker.server.settings import Settings
from broker.station import Station, recover, snapshot_of
from harness.whole.cables import Cable, CableEnd, CableShape
from harness.whole.clock import Clock
from harness.whole.disks import Disk
from ordering.interface import OrderingFactory

PORT: Final = 7411

WALL_NS: Final = 1_700_000_000_000_000_000
ORDERING: Final = "the plugin of this schedule"
HONEST_TOKEN: Final = "honest"  # noqa: S105 - of a simulated user
HOSTILE_TOKEN: Final = "hostile"  # noqa: S105 - as above


def _user(name: str, token: str, *roles: str) -> User:
    everything = parse("True")
    known_by = sha256(token.encode()).digest()
    return User(name, known_by, None, roles, everything, everything, follows_interest=True)


ACCESS: Final = Access(
    (_user("honest", HONEST_TOKEN, "client", "broker"), _user("hostile", HOSTILE_TOKEN, "client"))
)
"""The users of brokers in schedules with hostile peers."""


@frozen
class SiteConfig:
    """The parts of a broker's settings that a schedule chooses."""

    ordering: OrderingFactory
    routing: Routing
    link_timeout_s: float
    lease_s: float
    limits: NodeLimits
    replay_bytes: int
    access: Access


@frozen
class SiteTiming:
    """The delays of ticks, passes, syncs and dialling, and the chances of early ticks and failed dials."""

    lateness_s: float
    early: float
    pass_s: float
    sync_s: float
    dial_s: float
    unreached: float
    room_count: int
    """The number of unsynced records at which the journal has no room."""


class SiteNet(Protocol):
    """The parts of a world that a site uses."""

    clock: Clock
    random: Random

    @property
    def shape(self) -> CableShape:
        """Return the shape of connections."""
        ...

    @property
    def timing(self) -> SiteTiming:
        """Return the delays of a broker's process."""
        ...

    @property
    def has_operator(self) -> bool:
        """Return whether an operator moves brokers in this schedule."""
        ...

    def dialled(self, dialler: "WholeSite", dial: Dial) -> "WholeSite | None":
        """Return the site that is reached, or None."""
        ...

    def stepped(self, site: "WholeSite", content: Input, effects: Effects) -> None:
        """Check the effects of a step."""
        ...

    def failed(self, site: "WholeSite", error: BaseException) -> None:
        """Note that a step has raised."""
        ...


@define(eq=False)
class WholeSite:
    """The site of one broker, over all its runs. `uplinks` are those that it is configured with.

    One that `is_odd` differs from the others in one setting. No broker links to it, and its process ends if
    it cannot start for that reason: it `is_refused`.
    """

    name: str
    net: SiteNet
    config: SiteConfig
    uplinks: tuple[str, ...]
    disk: Disk | None
    is_odd: bool = False
    is_refused: bool = field(default=False, init=False)
    has_reported: bool = field(default=False, init=False)
    """Whether it has reported to its operator that it differs."""
    node: Node | None = field(default=None, init=False)
    run: int = field(default=0, init=False)
    ends: dict[int, CableEnd] = field(factory=dict, init=False)
    is_gone: bool = field(default=False, init=False)
    is_frozen: bool = field(default=False, init=False)
    is_settled: bool = field(default=False, init=False)
    is_stopping: bool = field(default=False, init=False)
    lost_links: int = field(default=0, init=False)
    dropped: int = field(default=0, init=False)
    ended_slow: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)
    memory_losses: int = field(default=0, init=False)
    touched_count: int = field(default=0, init=False)
    refused_count: int = field(default=0, init=False)
    """How often the last step has touched the station, and refused a request."""
    _deferred: list[Callable[[], None]] = field(factory=list, init=False)
    _numbers: int = field(default=0, init=False)
    _wakes_at_s: float = field(default=0.0, init=False)
    _wake_number: int = field(default=0, init=False)
    _passes: bool = field(default=False, init=False)
    _has_room: bool = field(default=True, init=False)

    @property
    def has_operator(self) -> bool:
        """Return whether an operator moves brokers in this schedule."""
        return self.net.has_operator

    @property
    def address(self) -> str:
        """Return the address that others dial."""
        return f"{self.name}:{PORT}"

    @property
    def is_up(self) -> bool:
        """Return whether a broker runs."""
        return self.node is not None

    # --- the process ---

    def start(self) -> None:
        """Start a broker, with the records and the snapshot on its disk."""
        assert self.node is None
        self.run += 1
        self.is_stopping = False
        random = self.net.random
        node_random = Random(random.getrandbits(32))  # noqa: S311 - a schedule
        station, is_recovered = self._station(random)
        config = self._settings().node_config(self.config.access)
        token = lambda: f"{node_random.getrandbits(64):x}"  # noqa: E731 - as short as it gets
        self.node = Node(station, config, node_random, token, is_recovered)
        self._wakes_at_s = float("inf")
        self._passes = False
        self._has_room = True
        self.step(Started(self.address, self.wall_ns()))

    def _settings(self) -> Settings:
        config = self.config
        return Settings(
            name=self.name,
            listen=Address(self.name, PORT),
            uplinks=tuple(Address(each, PORT) for each in self.uplinks),
            routing=config.routing,
            journal=None if self.disk is None else Path(self.name),
            link_timeout_s=config.link_timeout_s,
            lease_s=config.lease_s,
            token=HONEST_TOKEN,
            is_insecure=True,
            replay_cache_bytes=config.replay_bytes,
            replay_count=1_000_000 if config.replay_bytes else 0,
            limits=config.limits,
        )

    def _station(self, random: Random) -> tuple[Station, bool]:
        config = self.config
        if self.disk is None:
            incarnation = f"{random.getrandbits(32):x}"
        else:
            incarnation = self.disk.incarnation
            snapshot, records = self.disk.recovered()
            known = recover(self.name, config.ordering, ORDERING, snapshot, records, config.routing)
            if known is not None:
                return known, True
        fresh = Station(
            self.name, config.ordering, incarnation, ordering_name=ORDERING, routing=config.routing
        )
        return fresh, False

    def kill(self, *, silently: bool, surviving: int | None = None) -> None:
        """Kill the process; `silently` as if the machine stopped, so that peers do not learn of it.

        So many unsynced records survive, or a random number.
        """
        if self.node is None:
            return
        self._count(self.node)
        self.node = None
        self.is_settled = False
        self.run += 1
        self.is_frozen = False
        self._deferred.clear()
        random = self.net.random
        for end in self.ends.values():
            if silently:
                end.swallow()
                end.is_open = False
            else:
                end.is_open = False
                end.finish(random.randint(0, end.flight_bytes), "broken: connection reset")
        self.ends.clear()
        if self.disk is not None:
            if surviving is None:
                # Mostly nothing more survives.
                surviving = random.randint(0, self.disk.unsynced) if random.random() < 0.3 else 0  # noqa: PLR2004 - see there
            self.disk.crash(surviving)
        else:
            self.memory_losses += 1

    def stop(self) -> None:
        """Ask the broker to shut down."""
        if self.node is not None:
            self.is_stopping = True
            self.step(Stop())

    def _stopped(self) -> None:
        assert self.node is not None
        if self.disk is not None:
            self.disk.sync(self.disk.appended)
        self.kill(silently=False)

    def _count(self, node: Node) -> None:
        totals = node.exchange.totals
        self.lost_links += totals.lost_links
        self.dropped += totals.dropped
        self.ended_slow += totals.ended_slow
        self.refused += totals.refused

    def total(self, name: str) -> int:
        """Return a sum over all runs: "lost_links", "dropped", "ended_slow" or "refused"."""
        present = 0 if self.node is None else getattr(self.node.exchange.totals, name)
        return int(getattr(self, name) + present)

    def freeze(self) -> None:
        """Suspend the process."""
        self.is_frozen = self.node is not None

    def thaw(self) -> None:
        """Resume the process: it handles all deferred inputs now."""
        self.is_frozen = False
        deferred, self._deferred = self._deferred, []
        for call in deferred:
            call()

    def take_snapshot(self) -> None:
        """Write a snapshot of the present state."""
        if self.disk is not None and self.node is not None and self.disk.appended and not self.is_frozen:
            self.disk.keep_snapshot(snapshot_of(self.node.station))

    def wall_ns(self) -> int:
        """Return the wall time."""
        return WALL_NS + int(self.net.clock.now_s * 1e9)

    # --- steps ---

    def step(self, content: Input) -> None:
        """Feed the node, and carry out what it asks for."""
        node, net = self.node, self.net
        if node is None:
            return
        if self.is_frozen:
            self._deferred.append(lambda: self.step(content))
            return
        pending: Input | None = content
        totals = node.exchange.totals
        touched, refused = node.station.touched, totals.refused
        while pending is not None:
            try:
                effects = node.step(pending, net.clock.now_s)
            except Exception as error:  # noqa: BLE001 - whatever a node raises is what we look for
                self.node = None
                self.ends.clear()
                net.failed(self, error)
                return
            self.touched_count, touched = node.station.touched - touched, node.station.touched
            self.refused_count, refused = totals.refused - refused, totals.refused
            net.stepped(self, pending, effects)
            written = self._carry_out(effects)
            if self.node is not node:
                return
            pending = Written(tuple(written)) if written else None
        deadline_s = node.next_deadline_s
        if deadline_s < self._wakes_at_s:
            self._wake_at(deadline_s)

    def _carry_out(self, effects: Effects) -> list[int]:
        if effects.records:
            self._record(effects.records)
        written = []
        for write in effects.writes:
            end = self.ends.get(write.connection)
            if end is not None and end.is_open and end.send(write.content):
                written.append(write.connection)
        self._pause_and_end(effects)
        for dial in effects.dials:
            self._dial(dial)
        if effects.wants_pass and not self._passes:
            self._passes = True
            run = self.run
            self.net.clock.after(self.net.random.random() * self.net.timing.pass_s, lambda: self._pass(run))
        self.is_settled = self.is_settled or effects.is_settled
        if effects.wants_stop:
            self.net.clock.after(0, self.stop)
        if effects.is_stopped:
            self._stopped()
        if effects.failure is not None:
            self.net.failed(self, effects.failure)
        return written

    def _pause_and_end(self, effects: Effects) -> None:
        for number in effects.pauses:
            if number in self.ends:
                self.ends[number].pause()
        for number in effects.resumes:
            if number in self.ends:
                self.ends[number].resume()
        for ended in effects.ends:
            if (end := self.ends.pop(ended.connection, None)) is not None:
                end.close()

    def _pass(self, run: int) -> None:
        if run == self.run:
            self._passes = False
            self.step(Pass())

    # --- time ---

    def _wake_at(self, deadline_s: float) -> None:
        net = self.net
        self._wakes_at_s = deadline_s
        self._wake_number = number = self._wake_number + 1
        at_s = deadline_s
        if net.random.random() < net.timing.early:
            at_s = net.clock.now_s + (deadline_s - net.clock.now_s) * net.random.random()
        elif net.timing.lateness_s:
            at_s += net.timing.lateness_s * net.random.random()
        run = self.run
        net.clock.at(at_s, lambda: self._tick(run, number))

    def _tick(self, run: int, number: int) -> None:
        if run != self.run or number != self._wake_number:
            return
        self._wakes_at_s = float("inf")
        self.step(Tick(self.wall_ns()))

    # --- the journal ---

    def _record(self, records: list[bytes]) -> None:
        disk = self.disk
        assert disk is not None
        disk.append(records)
        self._look_for_room()
        if not disk.is_syncing:
            self._sync()

    def _sync(self) -> None:
        disk, net = self.disk, self.net
        assert disk is not None
        disk.is_syncing = True
        upto, run = disk.appended, self.run
        wait_s = net.timing.sync_s * (0.5 + net.random.random())
        net.clock.after(wait_s, lambda: self._synced(run, upto))

    def _synced(self, run: int, upto: int) -> None:
        disk = self.disk
        if run != self.run or disk is None:
            return
        disk.sync(upto)
        disk.is_syncing = False
        if disk.synced < disk.appended:
            self._sync()
        self._look_for_room()
        self.step(Synced(upto - disk.first))

    def _look_for_room(self) -> None:
        """Inform the node when the journal begins or ceases to have room."""
        disk, timing = self.disk, self.net.timing
        assert disk is not None
        has_room = disk.appended - disk.synced < timing.room_count
        if has_room is not self._has_room:
            self._has_room = has_room
            run = self.run
            self.net.clock.after(0, lambda: self._report_room(run, has_room=has_room))

    def _report_room(self, run: int, *, has_room: bool) -> None:
        if run == self.run:
            self.step(JournalState(has_room, is_full=False))

    # --- connections ---

    def number(self, end: CableEnd) -> int:
        """Give an end of a connection its number."""
        self._numbers += 1
        end.number = self._numbers
        self.ends[end.number] = end
        return end.number

    def accept(self, end: CableEnd) -> None:
        """Accept a connection."""
        self.step(Accepted(self.number(end), f"peer {end.number}"))

    def received(self, end: CableEnd, content: bytes) -> None:
        """Feed bytes that have arrived."""
        if end.number in self.ends:
            self.step(Received(end.number, content))

    def ended(self, end: CableEnd, reason: str | None) -> None:
        """Feed the end of a connection: it was closed by the other end, or broke."""
        number, said = end.number, reason or "closed by the other end"
        if self.ends.get(number) is not end:
            return
        self.step(Gone(number, said))
        if self.ends.pop(number, None) is not None:
            end.close()
            self.step(Gone(number, said))

    def written(self, end: CableEnd) -> None:
        """Feed that the system has taken the rest of a buffer."""
        if end.number in self.ends:
            self.step(Written((end.number,)))

    def _dial(self, dial: Dial) -> None:
        net, run = self.net, self.run
        wait_s = net.timing.dial_s * net.random.random()
        if net.random.random() < net.timing.unreached:
            wait_s = dial.timeout_s * net.random.random()
        net.clock.after(wait_s, lambda: self._connect(dial, run))

    def _connect(self, dial: Dial, run: int) -> None:
        if run != self.run:
            return
        other = self.net.dialled(self, dial)
        if other is None:
            self.step(Unreached(dial.number, "nobody is there"))
            return
        net = self.net
        cable = Cable.between(net.clock, net.random, net.shape, self, other)
        mine, theirs = cable.ends
        other.accept(theirs)
        self.step(Connected(dial.number, self.number(mine)))
