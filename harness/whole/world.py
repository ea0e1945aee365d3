"""The world of a schedule of whole brokers and programs.

Law: everything is drawn from one seed, before or while it happens.
"""

from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field

from broker.client.inbox import Inbox
from broker.errors import BrokerFaultError
from broker.node import Dial, Effects, Input
from broker.node.access import Access
from broker.node.limits import NodeLimits
from broker.routing import DEFAULT, Routing
from harness.whole.cables import Cable, CableEnd, CableShape
from harness.whole.clock import Clock
from harness.whole.disks import Disk
from harness.whole.history import WholeHistory
from harness.whole.interests import DrawnInterest, Events
from harness.whole.invariants import wrong_after
from harness.whole.knobs import WholeKnobs
from harness.whole.programs import Program, ProgramReading, Publishing
from harness.whole.sites import ACCESS, SiteConfig, SiteTiming, WholeSite
from ordering.interface import OrderingFactory

if TYPE_CHECKING:
    from harness.whole.hostile import Adversary


SHARED: Final = "neighbours must share these settings"
"""The words of the refusal of a broker that differs from its uplink in a setting."""

AGE_S: Final = 24 * 3600
"""How long a durable subscription is kept: longer than any schedule."""


WATCHED: Final = ("True", "level >= 2", "kind == 'a'")
"""What programs that watch ask for, in turn."""


@define(eq=False)
class WholeWorld:
    """All brokers, programs and connections of one schedule, its clock and its history."""

    random: Random
    knobs: WholeKnobs
    ordering: OrderingFactory
    routing: Routing = DEFAULT
    watch: Callable[[str], None] | None = None
    clock: Clock = field(factory=Clock, init=False)
    history: WholeHistory = field(factory=WholeHistory, init=False)
    events: Events = field(init=False)
    sites: dict[str, WholeSite] = field(factory=dict, init=False)
    programs: list[Program] = field(factory=list, init=False)
    adversaries: list["Adversary"] = field(factory=list, init=False)
    parted: dict[tuple[str, str], float] = field(factory=dict, init=False)
    """Until when a broker cannot reach another one."""
    is_calm: bool = field(default=False, init=False)
    steps: int = field(default=0, init=False)
    _config: SiteConfig = field(init=False)
    _subscription_count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        knobs = self.knobs
        self.events = Events(self.random, knobs.kinds, knobs.width, knobs.nested)
        limits = NodeLimits(step_units=knobs.step_units)
        if knobs.hostile:
            from harness.whole.hostile import SMALL_LIMITS  # noqa: PLC0415 - a hostile peer needs a world

            limits = SMALL_LIMITS
        self._config = SiteConfig(
            self.ordering,
            self.routing,
            knobs.link_timeout_s,
            knobs.lease_s,
            limits,
            1 << 20 if knobs.replays else 0,
            ACCESS if knobs.hostile else Access(),
        )
        for number in range(1, knobs.brokers + 1):
            uplinks = self._uplinks(number)
            has_journal = self.random.random() < knobs.journals
            self.add_site(f"B{number}", uplinks, has_journal=has_journal, is_odd=self._is_odd(number))

    def _is_odd(self, number: int) -> bool:
        """Return whether a broker differs in a setting: the last of at least three, which has no children."""
        return bool(self.knobs.odd) and number == self.knobs.brokers > 2  # noqa: PLR2004 - two others at least

    def add_site(
        self, name: str, uplinks: tuple[str, ...], *, has_journal: bool, is_odd: bool = False
    ) -> WholeSite:
        """Add the site of a broker that is configured with these uplinks."""
        disk = Disk(f"{self.random.getrandbits(32):x}") if has_journal else None
        config = self._config
        if is_odd:
            config = _with_other(config, self.knobs.odd)
        site = self.sites[name] = WholeSite(name, self, config, uplinks, disk, is_odd)
        return site

    def _uplinks(self, number: int) -> tuple[str, ...]:
        """Return the uplinks of a broker: its parent; if brokers are lost, all earlier ones too."""
        if number == 1:
            return ()
        match self.knobs.tree:
            case "chain":
                above = number - 1
            case "star":
                above = 1
            case _:
                above = self.random.randint(1, number - 1)
        others = range(1, number) if self.knobs.losses else ()
        return tuple(f"B{each}" for each in dict.fromkeys((above, *others)))

    # --- what sites and programs need ---

    @property
    def shape(self) -> CableShape:
        """Return the shape of connections."""
        return self.knobs.shape

    @property
    def timing(self) -> SiteTiming:
        """Return the delays of a broker's process."""
        return self.knobs.timing

    @property
    def has_operator(self) -> bool:
        """Return whether an operator moves brokers in this schedule."""
        return self.knobs.relocations > 0

    def dialled(self, dialler: WholeSite, dial: Dial) -> WholeSite | None:
        """Return the site that is reached."""
        site = self.sites.get(dial.address.partition(":")[0])
        if site is None or not site.is_up:
            return None
        if not self.is_calm and self.random.random() < self.knobs.timing.unreached:
            return None
        return None if self.clock.now_s < self.parted.get((dialler.name, site.name), 0.0) else site

    def connect(self, program: Program) -> None:
        """Open a connection to the program's broker, soon."""
        wait_s = self.knobs.timing.dial_s * self.random.random()
        self.clock.after(wait_s, lambda: self._connect(program))

    def _connect(self, program: Program) -> None:
        if program.is_over:
            return
        site = self.sites[program.dialled]
        if not site.is_up or self.clock.now_s < program.isolated_until_s:
            program.unreached()
            return
        cable = Cable.between(self.clock, self.random, self.shape, program, site)
        mine, theirs = cable.ends
        site.accept(theirs)
        program.connected(mine)

    def may_leave(self, away_s: float) -> bool:
        """Return whether a program may go to another broker after so long; its own may have closed, too."""
        return away_s >= self.knobs.link_timeout_s or self.knobs.stops > 0

    def may_forget(self, program: Program) -> bool:
        """Return whether the program's broker has lost its memory, or is another one than before."""
        return (
            program.has_moved
            or bool(self.sites[program.site].memory_losses)
            or any(each.is_gone for each in self.sites.values())
        )

    def known_at(self, name: str) -> tuple[str, int]:
        """Return a broker with the number of its memory losses: events read there are no causes elsewhere."""
        return name, self.sites[name].memory_losses

    def stepped(self, site: WholeSite, content: Input, effects: Effects) -> None:
        """Check the effects of a step."""
        self.steps += 1
        if site.is_odd:
            site.has_reported = site.has_reported or any(SHARED in str(line.fields) for line in effects.logs)
        for text in wrong_after(site, content, effects):
            self.history.faults.append(("error", f"{site.name}: {text}"))
        if self.watch is not None:
            said = "".join(f"\n    {line.event} {line.fields}" for line in effects.logs)
            at_s = f"{self.clock.now_s:.6f}"
            self.watch(f"{at_s} {site.name} {_shown(content)} -> {_effects(effects)}{said}")

    def failed(self, site: WholeSite, error: BaseException) -> None:
        """Note that a step has raised, or that a broker with another setting was refused."""
        if site.is_odd and isinstance(error, BrokerFaultError) and SHARED in str(error):
            site.is_refused = True
            site.kill(silently=False)
            return
        import traceback  # noqa: PLC0415 - rarely

        where = traceback.extract_tb(error.__traceback__)[-1:]
        place = f" in {where[0].name}" if where else ""
        self.history.faults.append(("error", f"{site.name}: {type(error).__name__}: {error}{place}"))

    # --- making programs ---

    def live_sites(self) -> list[WholeSite]:
        """Return the sites that are not lost for good, and share the settings of the overlay."""
        return [site for site in self.sites.values() if not site.is_gone and not site.is_odd]

    def begin_program(self, name: str = "", site: str = "", others: tuple[str, ...] = ()) -> Program:
        """Start a program, at a random broker by default; `others` are those that it may move to."""
        site = site or self.random.choice(self.live_sites()).name
        name = name or f"C{len(self.programs) + 1}"
        # A broker may be lost before it has answered where others are: then one more address is needed.
        learns = not others and self.knobs.losses < 2 and len(self.programs) % 2 == 0  # noqa: PLR2004 - as said
        others = others or self._others(site)[: 1 if learns else None]
        program = Program(name, site, self, self.knobs.limits, others, learns and bool(others))
        self.programs.append(program)
        program.look()
        if self.knobs.watches and len(self.programs) % 2:
            program.discover(WATCHED[len(self.programs) // 2 % len(WATCHED)])
        return program

    def _others(self, site: str) -> tuple[str, ...]:
        """Return the sites to which a program goes when this one is lost: the next ones, in a circle."""
        names = [each.name for each in self.sites.values() if not each.is_odd]
        place = names.index(site)
        return (*names[place + 1 :], *names[:place]) if self.knobs.roams else ()

    def live_programs(self) -> list[Program]:
        """Return the programs that run."""
        return [program for program in self.programs if not program.is_over]

    def advertise(self, program: Program) -> Publishing:
        """Let a program advertise."""
        publishing = program.advertise(self.events.wide())
        if self.knobs.follows:
            program.session.follow_interest(publishing.source)
            program.look()
        return publishing

    def subscribe(
        self, program: Program, durable: str = "", interest: DrawnInterest | None = None
    ) -> ProgramReading:
        """Let a program subscribe; `durable` names a subscription of an earlier one of its name."""
        random, knobs = self.random, self.knobs
        interest = interest or self.events.draw()
        ordered = random.random() >= knobs.unordered_subscriptions
        if not durable and random.random() < knobs.durable:
            self._subscription_count += 1
            durable = f"D{self._subscription_count}"
        elif durable:
            ordered = self.history.subscriptions[f"{program.name}/{durable}"].stream.ordered
        if durable:
            name = f"{program.name}/{durable}"
        else:
            self._subscription_count += 1
            name = f"S{self._subscription_count}"
        policy = "drop" if durable or random.random() < knobs.drops else "disconnect"
        inbox = Inbox(
            interest.text, ordered, knobs.bound_bytes, policy, knobs.limits, durable, AGE_S if durable else 0
        )
        inbox.max_open = knobs.max_open if durable else 0
        if knobs.replays and not durable and random.random() < knobs.replays:
            inbox.replay = lambda _: (1_000,)
        is_slow = random.random() < knobs.slow
        pause_s = random.choice((0.1, 1.0)) if is_slow else random.choice((0.0, 0.001, 0.02))
        step = random.choice((1, 3)) if is_slow else random.choice((1, 10, 100))
        return program.subscribe(interest, inbox, name, pause_s, step)

    # --- publishing ---

    def publish_somewhere(self) -> None:
        """Let a random publisher publish, as soon as one can."""
        usable = [
            (program, publishing)
            for program in self.programs
            if not program.is_over
            for publishing in program.publishing
            if publishing.is_usable and publishing.interest.kinds
        ]
        if not usable:
            self._retry(self.publish_somewhere)
            return
        program, publishing = self.random.choice(usable)
        if not self.publish(program, publishing, self.random.choice(publishing.interest.kinds)):
            self._retry(self.publish_somewhere)

    def publish(self, program: Program, publishing: Publishing, kind: str) -> bool:
        """Publish an event of a kind."""
        ordered = self.random.random() >= self.knobs.unordered
        payload = bytes(self.random.choice(self.knobs.payload_bytes))
        return program.publish(publishing, kind, payload, ordered=ordered)

    def _retry(self, call: Callable[[], None]) -> None:
        if not self.is_calm:
            self.clock.after(0.05, call)

    def ends(self) -> list[CableEnd]:
        """Return the sites' ends of all connections."""
        return [end for site in self.sites.values() for end in site.ends.values()]


def _with_other(config: SiteConfig, setting: str) -> SiteConfig:
    """Return the settings with another value of one."""
    if setting == "link_timeout":
        return evolve(config, link_timeout_s=2 * config.link_timeout_s)
    return evolve(config, lease_s=0.0 if config.lease_s else 2 * config.link_timeout_s)


def _shown(content: Input) -> str:
    body = getattr(content, "content", None)
    number = getattr(content, "connection", "")
    digest = "" if body is None else f" {len(body)}:{sha256(body).hexdigest()[:8]}"
    return f"{type(content).__name__}{number}{digest}"


def _effects(effects: Effects) -> str:
    writes = " ".join(
        f"{each.connection}:{len(each.content)}:{sha256(each.content).hexdigest()[:8]}"
        for each in effects.writes
    )
    return (
        f"{len(effects.records)} [{writes}] {effects.pauses} {effects.resumes} "
        f"{[each.connection for each in effects.ends]} {[each.address for each in effects.dials]}"
    )
