"""One schedule: a seed becomes knobs, knobs become actions, actions change a world.

Laws.

1. Everything that is drawn is drawn from the seed's own generator, in an order that depends only on the seed.
2. A schedule is its list of actions: carried out again in a new world they give the same record.
3. Every schedule ends with a liveness phase (`rest`): messages in flight arrive, trees are joined.
"""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from random import Random
from typing import Final

from attrs import define, evolve, field

from broker.routing import DEFAULT, Routing
from harness.simulator.interests import KINDS, inside
from harness.simulator.knobs import (
    CLOCKS,
    MEMORY,
    Knobs,
    draw,
    with_clocks,
    with_covers,
    with_memory,
    with_nested,
    with_pages,
    with_parts,
    with_replays,
)
from harness.simulator.leasing import is_exact
from harness.simulator.losses import chosen, configured
from harness.simulator.network import Port, Site
from harness.simulator.world import Action, World
from ordering.interface import OrderingFactory

EVENTS_PER_PUBLICATION: Final = 4
"""A schedule ends after so many events, even if publishers that wait have published less than planned."""

BEGIN: Final[Action] = ("begin",)
"""The action at which the set-up of a script ends."""

DRAWS_MAX: Final = 8
"""How often another direction is drawn when one lags behind, before something else happens."""


CHANCES: Final = 1000
"""How many numbers a corruption is drawn from."""

DAMAGES: Final = 1_000_000
"""How many numbers a damage is drawn from: there are more fields than parts of tables."""

SOME: Final = 0.25


@define(eq=False)
class ScheduleDriver:
    """Draws the actions of one schedule and carries them out."""

    world: World
    random: Random
    knobs: Knobs
    readers: dict[str, str] = field(factory=dict)
    aside: Random = field(factory=lambda: Random(0))  # noqa: S311 - chance here is repeatable, not secret
    published: int = 0
    begin: Callable[[], None] | None = None
    """Called when the tree is complete, before any client connects."""
    _publishers: int = 0
    _subscriptions: int = 0
    _crashes: int = 0
    _cuts: int = 0
    _dead: list[str] = field(factory=list)
    _uplinks: dict[str, tuple[str, ...]] = field(factory=dict)
    _expire_after: dict[str, int] = field(factory=dict)
    _stalled: dict[str, float] = field(factory=dict)
    _skews: dict[str, int] = field(factory=dict)

    def run(self) -> None:
        """Set up, then draw events until all publications are made, or follow the script to its end."""
        if self.knobs.page_bytes:
            self.world.do(("page", self.knobs.page_bytes))
        if self.knobs.part_count:
            self.world.do(("part", self.knobs.part_count))
        if self.knobs.script:
            self._follow(self.knobs.script)
            return
        self._set_up()
        knobs = self.knobs
        chances = (
            knobs.subscribe,
            knobs.advertise,
            knobs.unsubscribe,
            knobs.unadvertise,
            knobs.crash,
            knobs.cut,
            knobs.attach,
            knobs.restart,
            knobs.heal,
            knobs.lose,
            knobs.refresh,
            knobs.sweep,
            knobs.stall,
            knobs.corrupt,
            knobs.move,
            knobs.mark,
            knobs.damage,
        )
        events = (
            self._subscribe,
            self._advertise,
            self._unsubscribe,
            self._unadvertise,
            self._crash,
            self._cut,
            self._attach,
            self._restart,
            self._heal,
            self._lose,
            self._refresh,
            self._sweep,
            self._stall,
            self._corrupt,
            self._move,
            self._mark,
            self._damage,
            self._publish,
        )
        limits = list(accumulate(chances))
        draw_one, eagerness = self.random.random, knobs.eagerness
        left = EVENTS_PER_PUBLICATION * knobs.publications
        while left and self.published < knobs.publications:
            if draw_one() < eagerness and self._deliver():
                continue
            left -= 1
            if not events[bisect_right(limits, draw_one())]():
                self._deliver()

    def _follow(self, script: tuple[Action, ...]) -> None:
        beginning = script.index(BEGIN)
        for action in script[:beginning]:
            self.world.do(action)
        for action in script[beginning + 1 :]:
            while self.random.random() < self.knobs.eagerness and self._deliver():
                pass
            if self.knobs.slips and self.random.random() < self.knobs.slips:
                continue
            if action[0] == "cut":
                kept = (self._below(int(most) + 1) for most in action[2:])
                self.world.do((*action[:2], *kept))
            else:
                self.world.do(action)

    def _set_up(self) -> None:
        knobs, world = self.knobs, self.world
        names = [f"B{number}" for number in range(1, knobs.brokers + 1)]
        if knobs.losses:
            self.random.shuffle(names)
        for number, name in enumerate(names):
            world.do(("start", name))
            if self.knobs.replays:
                world.do(("keep", name, knobs.cache_bytes, knobs.cache_step))
            parent = names[self._parent_of(number)] if number else ""
            if knobs.losses or knobs.move:
                self._uplinks[name] = configured(knobs.preferences, name, parent, names, self.random)
                world.do(("reach", name, *self._uplinks[name]))
            if number and knobs.starts_joined:
                world.do(("dial", name, parent))
                world.do(("drain",))
        if self.begin is not None:
            self.begin()
        for _ in range(knobs.subscriptions):
            self._subscribe()
        for _ in range(knobs.publishers):
            self._advertise()
        if knobs.settles_first:
            world.do(("drain",))

    def _parent_of(self, number: int) -> int:
        parents = {"chain": number - 1, "star": 0, "fork": min(number - 1, 1)}
        return parents.get(self.knobs.shape, self._below(number))

    # --- chance ---

    def _below(self, limit: int) -> int:
        return int(self.random.random() * limit)

    def _site(self) -> Site | None:
        sites = list(self.world.sites.values())
        return sites[self._below(len(sites))] if sites else None

    def _kinds(self) -> str:
        knobs, kinds = self.knobs, self._drawn_kinds()
        return inside(kinds) if knobs.nested else kinds

    def _drawn_kinds(self) -> str:
        knobs = self.knobs
        count = 1 + self._below(knobs.width)
        if knobs.ranges and self.random.random() < knobs.ranges:
            first = self._below(knobs.kinds + 1 - count)
            return KINDS[first : first + count][::-1] if count > 1 else KINDS[first] * 2
        return "".join(sorted(self.random.sample(KINDS[: knobs.kinds], count)))

    # --- what happens; each says whether it did ---

    def _deliver(self) -> bool:
        ready = self.world.network.ready.ports
        if not ready:
            return False
        for _ in range(DRAWS_MAX):
            port = ready[self._below(len(ready))]
            if port.weight >= 1.0 or self.random.random() < port.weight:
                break
        else:
            return False
        if port.subscription:
            return self.world.do(("pull", port.subscription))
        if port.crosses:
            return self.world.do(("continue", port.site.name))
        count = 1 + self._below(self.knobs.batch) if self.knobs.batch > 1 else 1
        self.world.actions.append(("deliver", port.label, count))
        self.world.arrive(port, count)
        return True

    def _subscribe(self) -> bool:
        site = self._site()
        if site is None:
            return False
        self._subscriptions += 1
        flag = ("unordered",) if self.random.random() < self.knobs.unordered_subscriptions else ()
        name = f"S{self._subscriptions}"
        return self.world.do(("subscribe", name, site.name, self._kinds(), *flag, *self._window(site)))

    def _window(self, site: Site) -> tuple[str | int, ...]:
        """Draw the part of the past that a subscription asks for, if any."""
        aside = self.aside
        if self.knobs.skew:
            return "since", self._clock_ns(site)
        if not self.knobs.replays or aside.random() >= self.knobs.replays:
            return ()
        now_ns = self.world.clock_ns
        since_ns = aside.choice((0, now_ns, int(aside.random() * now_ns)))
        newest = ("newest", aside.choice((1, 2, 5))) if aside.random() < SOME else ()
        return "since", since_ns, *newest

    def _advertise(self) -> bool:
        site = self._site()
        if site is None:
            return False
        self._publishers += 1
        name = f"P{self._publishers}"
        readable = [s.name for s in self.world.subscribers.values() if s.site is site]
        if readable and self.random.random() < self.knobs.readers:
            self.readers[name] = readable[self._below(len(readable))]
        return self.world.do(("advertise", name, site.name, self._kinds()))

    def _unsubscribe(self) -> bool:
        names = list(self.world.subscribers)
        return bool(names) and self.world.do(("unsubscribe", names[self._below(len(names))]))

    def _unadvertise(self) -> bool:
        names = [publisher.name for publisher in self.world.publishers.values() if publisher.is_ready]
        return bool(names) and self.world.do(("unadvertise", names[self._below(len(names))]))

    def _publish(self) -> bool:
        ready = [each for each in self.world.publishers.values() if each.is_ready]
        if not ready:
            return False
        publisher = ready[self._below(len(ready))]
        kind = publisher.kinds[self._below(len(publisher.kinds))]
        reader = self.readers.get(publisher.name)
        rest = () if reader is None else (reader,)
        if self.random.random() < self.knobs.unordered_publications:
            rest = (*rest, "unordered")
        if self.knobs.skew:
            rest = (*rest, f"@{self._clock_ns(publisher.site)}")
        elif self.knobs.wrong_clocks and self.aside.random() < self.knobs.wrong_clocks:
            rest = (*rest, f"@{int(self.aside.random() * 2 * self.world.clock_ns)}")
        self.published += 1
        return self.world.do(("publish", publisher.name, kind, *rest))

    def _crash(self) -> bool:
        sites = self.world.sites
        if self._crashes >= self.knobs.crashes or len(sites) <= 2:  # noqa: PLR2004 - two remain to disagree
            return False
        site = self._site()
        assert site is not None
        self._crashes += 1
        return self._kill(site)

    def _kill(self, site: Site) -> bool:
        self._dead.append(site.name)
        kept: list[str | int] = []
        for port in site.outgoing.values():
            kept += [port.label, self._prefix(port)]
        return self.world.do(("crash", site.name, *kept))

    def _cut(self) -> bool:
        if self._cuts >= self.knobs.cuts:
            return False
        ports = [
            site.outgoing[hop]
            for site in self.world.sites.values()
            for hop in (site.core.uplink, site.asked)
            if hop is not None
        ]
        ports = [port for port in ports if not port.is_sealed and not port.back.is_sealed]
        if not ports:
            return False
        self._cuts += 1
        port = ports[self._below(len(ports))]
        return self.world.do(("cut", port.label, self._prefix(port), self._prefix(port.back)))

    def _prefix(self, port: Port) -> int:
        return self._below(len(port.queue) + 1)

    def _attach(self) -> bool:
        roots = [s for s in self.world.sites.values() if s.core.uplink is None and s.dialling is None]
        if not roots:
            return False
        root = roots[self._below(len(roots))]
        site = self._site()
        assert site is not None
        return self.world.do(("dial", root.name, site.name))

    def _restart(self) -> bool:
        if not self._dead:
            return False
        name = self._dead.pop(self._below(len(self._dead)))
        self.world.do(("start", name))
        if self.knobs.replays:
            self.world.do(("keep", name, self.knobs.cache_bytes, self.knobs.cache_step))
        return name not in self._uplinks or self.world.do(("reach", name, *self._uplinks[name]))

    def _heal(self) -> bool:
        roots = [s for s in self.world.sites.values() if s.core.uplink is None and s.dialling is None]
        return bool(roots) and self.world.do(("heal", roots[self._below(len(roots))].name))

    def _lose(self) -> bool:
        """Lose brokers for good, all at once: nothing arrives in between."""
        if self._crashes >= len(self.knobs.losses):
            return False
        self._crashes += 1
        victims = chosen(self.knobs.losses[self._crashes - 1], self.world, self.random)
        for site in victims:
            self._kill(site)
        return bool(victims)

    def _move(self) -> bool:
        names = list(self.world.sites)
        retries = [site.name for site in self.world.retries if site.name in self.world.sites]
        if retries:
            return self.world.do(("retry", retries[self._below(len(retries))]))
        if not names:
            return False
        moved, asker = (names[self._below(len(names))] for _ in range(2))
        if self.random.random() >= self.knobs.steps:
            return self.world.do(("move", moved, names[self._below(len(names))], "reattach", asker))
        if self.knobs.climbs:
            ancestors = self.world.sites[moved].core.roster.ancestors(moved)[1:]
            names = [each for each in ancestors if each in names]
        return bool(names) and self.world.do(("move", moved, names[self._below(len(names))], "path", asker))

    def _clock_ns(self, site: Site) -> int:
        """Return the time by the clock of a broker and its clients."""
        if site.name not in self._skews:
            self._skews[site.name] = round((2 * self.aside.random() - 1) * self.knobs.skew)
        return max(0, self.world.clock_ns + self._skews[site.name])

    def _mark(self) -> bool:
        site = self._site()
        return site is not None and self.world.do(("mark", site.name))

    # --- leases ---

    def _refresh(self) -> bool:
        site = self._site()
        return site is not None and self._expire_after_of(site) > 0 and self.world.do(("refresh", site.name))

    def _sweep(self) -> bool:
        site = self._site()
        if site is None or not self._expire_after_of(site):
            return False
        return self.world.do(("sweep", site.name, self._expire_after_of(site)))

    def _expire_after_of(self, site: Site) -> int:
        """Return after how many lists without it this broker lets a route expire; 0 if it has no leases."""
        if site.name not in self._expire_after:
            is_leaseless = self.random.random() < self.knobs.leaseless
            choices = self.knobs.expire_after
            self._expire_after[site.name] = 0 if is_leaseless else choices[self._below(len(choices))]
        return self._expire_after[site.name]

    def _corrupt(self) -> bool:
        site = self._site()
        return site is not None and self.world.do(("corrupt", site.name, self._below(CHANCES)))

    def _damage(self) -> bool:
        site = self._site()
        if site is None:
            return False
        if self.knobs.local and self.aside.random() < self.knobs.local:
            return self.world.do(("corrupt", site.name, self._below(DAMAGES), "local"))
        return self.world.do(("damage", site.name, self._below(DAMAGES)))

    def _stall(self) -> bool:
        """Let a direction of a link stall from now on, or go on."""
        ports = [port for site in self.world.sites.values() for port in site.outgoing.values()]
        if not ports:
            return False
        port = ports[self._below(len(ports))]
        if port.label in self._stalled:
            port.weight = self._stalled.pop(port.label)
        else:
            self._stalled[port.label], port.weight = port.weight, 0.0
        return True


def driver(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
) -> ScheduleDriver:
    """Prepare the schedule of this seed; `run` lets it happen, up to its liveness phase.

    Where a route may cover others, every second schedule has ranges instead of sets, as the filters decide
    what covers and what can be merged; and more covers change while brokers move.
    """
    random = Random(seed)  # noqa: S311 - chance here is repeatable, not secret
    aside = Random(~seed)  # noqa: S311 - as above; what is drawn here changes nothing in other schedules
    knobs = with_replays(draw(random, faults, brokers), aside)
    if faults.endswith(CLOCKS):
        knobs = with_clocks(knobs, Random(f"clocks of {seed}"))  # noqa: S311 - as above
    if faults.endswith(MEMORY):
        knobs = with_memory(knobs, Random(f"memory of {seed}"))  # noqa: S311 - as above
    if not is_exact(routing):
        knobs = with_covers(evolve(knobs, ranges=float(seed % 2)), aside, brokers)
    knobs = with_pages(knobs, Random(f"pages of {seed}"))  # noqa: S311 - as above
    knobs = with_parts(knobs, Random(f"parts of {seed}"))  # noqa: S311 - as above
    knobs = with_nested(knobs, Random(f"nested events of {seed}"))  # noqa: S311 - as above
    weights = knobs.weights
    world = World(ordering, routing, lambda: weights[int(random.random() * len(weights))])
    return ScheduleDriver(world, random, knobs, aside=aside)


def repeat(world: World, actions: tuple[Action, ...]) -> None:
    """Carry out the actions of a schedule, without those that make no sense any more."""
    for action in actions:
        world.do(action)
