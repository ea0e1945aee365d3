"""The knobs of a schedule, its rates and sizes: each is drawn from the seed (swarm testing).

Uniform chance rarely builds the situations in which a rule matters: two faults close together, a neighbour
that never answers, one kind of event that all subscribers want. So each seed first draws a regime, and its
whole schedule has the rates of that.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from attrs import evolve, frozen

from harness.simulator.directed import DIRECTED
from harness.simulator.past import ENOUGH_BYTES
from harness.simulator.scripts import COVER_SCRIPTS, SCRIPTS
from harness.simulator.world import Action

LEASES: Final = "+leases"
"""The suffix of faults: brokers renew and sweep, links stall, and in calm schedules memory changes."""

CLOCKS: Final = "+clocks"
"""The suffix of faults: all clocks differ, and subscriptions ask for what is published from now on."""

LOSSES_TOO: Final = "+losses"
"""The suffix of faults: brokers and connections are lost as well, in the middle of what else happens."""

MEMORY: Final = "+memory"
"""The suffix of faults: brokers renew and sweep, and the state of ordering plugins changes by itself, or what
brokers have for their own clients."""

FAULTS: Final = (
    *(
        faults + leases
        for leases in ("", LEASES)
        for faults in ("none", "churn", "crash", "healing", "move", "lift", "lower")
    ),
    f"move{LOSSES_TOO}",
    f"lower{LOSSES_TOO}",
    f"churn{CLOCKS}",
    f"crash{CLOCKS}",
    f"churn{MEMORY}",
)
"""Nothing changes after the start; clients come and go; brokers and connections are lost as well, and others
attach anywhere; brokers are lost for good, several at once, and the rest heals by itself; an operator moves
brokers, in every way and while brokers are lost; or up step by step, while clients come and go; or anywhere
step by step. Those with a suffix are for one thing, and come last."""


@frozen
class Knobs:
    """The knobs of one schedule. Chances are per event that is not a delivery; the rest of them publish.

    `slips` is the chance that a step of the script is left out.
    """

    brokers: int
    shape: str
    kinds: int
    width: int
    publishers: int
    subscriptions: int
    publications: int
    unordered_publications: float
    unordered_subscriptions: float
    readers: float
    eagerness: float
    batch: int
    weights: tuple[float, ...]
    settles_first: bool
    starts_joined: bool = True
    advertise: float = 0.0
    subscribe: float = 0.0
    unadvertise: float = 0.0
    unsubscribe: float = 0.0
    crash: float = 0.0
    cut: float = 0.0
    attach: float = 0.0
    restart: float = 0.0
    crashes: int = 0
    cuts: int = 0
    script: tuple[Action, ...] = ()
    ranges: float = 0.0
    """The part of filters that are ranges, and not sets."""
    heal: float = 0.0
    lose: float = 0.0
    losses: tuple[str, ...] = ()
    """Which brokers are lost, one loss after the other; empty if brokers do not heal by themselves."""
    preferences: str = "parent"
    """Which uplinks are configured."""
    slips: float = 0.0
    refresh: float = 0.0
    sweep: float = 0.0
    expire_after: tuple[int, ...] = (1,)
    """After how many lists without it a broker lets a route expire, drawn for each broker that sweeps."""
    leaseless: float = 0.0
    """The chance that a broker has no leases."""
    corrupt: float = 0.0
    """The chance that the memory of a broker changes by itself."""
    stall: float = 0.0
    """The chance that a direction of a link delivers nothing for a while, or goes on if it stalls."""
    replays: float = 0.0
    """The chance that a subscription asks for the past."""
    wrong_clocks: float = 0.0
    """The chance that a publication has the time of a clock that is wrong."""
    damage: float = 0.0
    """The chance that a field of an ordering plugin changes by itself."""
    local: float = 0.0
    """The part of such changes that are, instead, of what a broker has for its own clients."""
    skew: int = 0
    """How far the clock of a broker may be from the time; if it may, all subscriptions ask from now on."""
    mark: float = 0.0
    """The chance that a broker marks how far its cache goes."""
    cache_bytes: int = 0
    """How much of the past brokers keep, and how much of it they look at in one step."""
    cache_step: int = 1
    move: float = 0.0
    """The chance that an operator asks a broker to move."""
    steps: float = 0.0
    """The part of moves that go step by step."""
    climbs: bool = False
    """Whether such moves go up only."""
    page_bytes: int = 0
    """How large pages are, in bytes of items; 0 if they are as large as those of real brokers."""
    part_count: int = 0
    """How large parts of what a new neighbour is to know are; 0 if as large as those of real brokers."""
    nested: bool = False
    """Whether filters look into maps."""


SHAPES: Final = ("random", "random", "chain", "star")
WEIGHTS: Final[tuple[tuple[float, ...], ...]] = (
    (1.0,),
    (1.0,),
    (1.0, 1.0, 0.2, 0.03),
    (1.0, 1.0, 1.0, 0.0),
    (1.0, 0.1),
)
"""How often directions deliver: all alike, some far behind, some only when nothing else can happen."""


REPLAYING: Final = 0.25
"""The part of all schedules in which subscriptions ask for the past."""


def draw(random: Random, faults: str, brokers: tuple[int, int]) -> Knobs:
    """Draw the knobs of one schedule, of a tree with this least and most brokers."""
    regimes = REGIMES.get(faults) or REGIMES[faults.partition("+")[0]]
    knobs = regimes[int(random.random() * len(regimes))](random, brokers)
    if not faults.endswith(LEASES):
        return knobs
    return _leasing(knobs, random)


def _leasing(knobs: Knobs, random: Random) -> Knobs:
    """Let brokers renew and sweep, seldom or often, out of step; links stall, and some memory changes."""
    is_calm = not (knobs.cuts or knobs.crashes or knobs.losses or knobs.script or knobs.move)
    corrupt = random.choice((0.0, 0.0, 0.05)) if is_calm else 0.0
    return evolve(
        knobs,
        corrupt=corrupt,
        refresh=random.choice((0.02, 0.05, 0.15)),
        sweep=random.choice((0.02, 0.05, 0.15)),
        expire_after=random.choice(((1,), (2,), (1, 2, 4))),
        leaseless=0.0 if corrupt else random.choice((0.0, 0.0, 0.3)),
        stall=random.choice((0.0, 0.05, 0.15)),
    )


def _calm(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Nothing changes once clients have settled."""
    kinds = random.choice((1, 1, 2, 3, 4))
    publishers = random.randint(2, 5)
    flags = random.choice((0.0, 0.0, 0.3))
    return Knobs(
        brokers=random.randint(*brokers),
        shape=random.choice(SHAPES),
        kinds=kinds,
        width=random.randint(1, kinds),
        publishers=publishers,
        subscriptions=random.randint(2, 5),
        publications=random.randint(2, 6) * publishers,
        unordered_publications=flags * random.random(),
        unordered_subscriptions=flags,
        readers=random.choice((0.0, 0.6, 1.0)),
        eagerness=random.choice((0.3, 0.6, 0.8, 0.95)),
        batch=random.choice((1, 1, 2, 5)),
        weights=random.choice(WEIGHTS),
        settles_first=True,
    )


def _churning(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Clients come and go while others publish."""
    return evolve(
        _calm(random, brokers),
        settles_first=random.random() < 0.5,  # noqa: PLR2004 - a fair coin
        subscribe=0.12,
        advertise=0.10,
        unsubscribe=0.05,
        unadvertise=0.03,
    )


def _crowded(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Draw few kinds, much churn, and directions that lag behind: advertisements cross publications."""
    return evolve(
        _churning(random, brokers),
        kinds=random.choice((1, 1, 2)),
        width=1,
        publishers=random.randint(1, 2),
        subscriptions=random.randint(1, 3),
        eagerness=random.choice((0.5, 0.7, 0.85)),
        weights=random.choice(WEIGHTS[2:]),
        subscribe=0.15,
        advertise=0.2,
        unsubscribe=random.choice((0.0, 0.15)),
        unadvertise=random.choice((0.0, 0.15)),
    )


def _failing(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Brokers die and connections are lost now and then; roots attach elsewhere."""
    return evolve(
        _churning(random, brokers),
        crash=0.05,
        cut=0.05,
        attach=0.2,
        restart=0.05,
        crashes=2,
        cuts=3,
    )


def _dense(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Many faults are close together, and all subscribers want the one kind of event."""
    low, high = brokers
    return evolve(
        _churning(random, (min(max(low, 3), high), min(max(low, 5), high))),
        kinds=1,
        width=1,
        weights=random.choice(WEIGHTS),
        crash=0.06,
        cut=0.14,
        attach=0.35,
        restart=0.05,
        crashes=4,
        cuts=9,
    )


def _rings(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Connections are lost all the time, and several roots attach to each other at the same time."""
    return evolve(
        _dense(random, brokers),
        eagerness=random.choice((0.3, 0.5, 0.7)),
        advertise=0.05,
        subscribe=0.05,
        unsubscribe=0.0,
        unadvertise=0.0,
        crash=0.0,
        cut=random.choice((0.1, 0.2)),
        attach=0.5,
        cuts=15,
        settles_first=random.random() < 0.5,  # noqa: PLR2004 - a fair coin
        starts_joined=random.random() < 0.5,  # noqa: PLR2004 - a fair coin
    )


def _moving(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Parts of the tree move while many messages are in flight: old and new paths compete."""
    low, high = brokers
    publishers = random.randint(1, 3)
    return evolve(
        _calm(random, (min(max(low, 3), high), min(max(low, 5), high))),
        kinds=1,
        width=1,
        publishers=publishers,
        subscriptions=random.randint(1, 4),
        publications=random.randint(4, 8) * publishers,
        eagerness=random.choice((0.6, 0.8, 0.9)),
        batch=1,
        weights=random.choice(((1.0, 1.0, 0.1, 0.02), (1.0, 0.3, 0.03), (1.0, 1.0, 0.0))),
        subscribe=random.choice((0.0, 0.05)),
        advertise=random.choice((0.0, 0.05)),
        cut=random.choice((0.05, 0.1, 0.2)),
        attach=0.5,
        cuts=random.randint(2, 8),
    )


def _flapping(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Connections of few brokers break and return, often to the same neighbour; answers are far behind."""
    low, high = brokers
    return evolve(
        _moving(random, (min(max(low, 3), high), min(max(low, 4), high))),
        publishers=random.randint(2, 4),
        subscriptions=random.randint(2, 4),
        advertise=random.choice((0.0, 0.1, 0.2)),
        unadvertise=random.choice((0.0, 0.1)),
        cut=0.2,
        attach=0.5,
        cuts=12,
    )


def _scripted(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A script fixes the actions, and chance the arrivals."""
    knobs = evolve(
        _moving(random, brokers),
        eagerness=random.choice((0.6, 0.8, 0.9, 0.95)),
        weights=random.choice(((1.0,), (1.0, 0.1), (1.0, 1.0, 0.1, 0.02), (1.0, 0.03))),
    )
    return _following(knobs, random.choice(SCRIPTS), brokers)


def _directed_churn(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A directed schedule in which clients come and go."""
    return _following(_strict(_crowded(random, brokers), random), random.choice(DIRECTED["churn"]), brokers)


def _directed_crash(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A directed schedule in which brokers move."""
    return _following(_strict(_moving(random, brokers), random), random.choice(DIRECTED["crash"]), brokers)


def _directed_lower(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A directed schedule in which a broker moves below its sibling."""
    return _following(_strict(_lowered(random, brokers), random), random.choice(DIRECTED["lower"]), brokers)


def _strict(knobs: Knobs, random: Random) -> Knobs:
    """Let the script fix most arrivals as well."""
    return evolve(
        knobs, eagerness=random.choice((0.0, 0.0, 0.02, 0.1)), slips=random.choice((0.0, 0.0, 0.03))
    )


def _following(knobs: Knobs, script: tuple[Action, ...], brokers: tuple[int, int]) -> Knobs:
    """Follow this script, unless it needs more or fewer brokers."""
    needed = sum(action[0] == "start" for action in script)
    return evolve(knobs, script=script) if brokers[0] <= needed <= brokers[1] else knobs


LOSSES: Final = ("one", "root", "root", "middle", "neighbours", "root and a child", "many", "all but two")
"""Which brokers are lost at once: any one, the root, one that has children, a broker and its parent, ..."""

PREFERENCES: Final = ("parent", "parent", "nobody", "parent and others", "anybody")
"""The configured uplinks of a broker: its first parent, and others."""


def _losing(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Brokers are lost for good, several at once, while clients go on; the rest heals."""
    low, high = brokers
    return evolve(
        _churning(random, (min(max(low, 3), high), high)),
        kinds=random.choice((1, 1, 2)),
        width=1,
        unadvertise=0.01,
        unsubscribe=0.02,
        heal=random.choice((0.1, 0.3, 0.5)),
        lose=random.choice((0.02, 0.05, 0.1)),
        losses=tuple(random.choice(LOSSES) for _ in range(random.choice((1, 1, 2, 3)))),
        preferences=random.choice(PREFERENCES),
        weights=random.choice(WEIGHTS),
    )


def _breaking(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Connections break as well: live brokers search too, and old and new paths compete."""
    return evolve(_losing(random, brokers), cut=random.choice((0.05, 0.1)), cuts=6)


def _returning(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Lost brokers start again without their memory, where others may have taken their place."""
    return evolve(_breaking(random, brokers), restart=random.choice((0.05, 0.15)))


def _gathering(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Every broker starts alone, and some are lost before all know of each other."""
    return evolve(_returning(random, brokers), starts_joined=False, settles_first=False, heal=0.5)


def _lifted(random: Random, brokers: tuple[int, int]) -> Knobs:
    """An operator moves brokers step by step, and nothing else changes."""
    low, high = brokers
    is_tight = random.random() < 0.6  # noqa: PLR2004 - mostly
    most = max(low, random.choice((3, 4))) if is_tight else max(low, 3)
    kinds = 1 if is_tight else random.choice((1, 2, 3))
    return evolve(
        _calm(random, (min(max(low, 3), high), min(most, high) if is_tight else high)),
        shape="chain" if is_tight else "random",
        kinds=kinds,
        width=random.randint(1, kinds),
        publishers=random.randint(2, 5),
        subscriptions=random.randint(3, 6),
        publications=random.randint(15, 40),
        unordered_publications=random.choice((0.0, 0.0, 0.3)),
        readers=random.choice((0.0, 1.0)),
        eagerness=random.choice((0.5, 0.65, 0.8)),
        batch=1,
        weights=random.choice(((1.0,), (1.0, 0.1), (1.0, 1.0, 1.0, 0.02), (1.0, 1.0, 0.2, 0.03))),
        move=random.choice((0.1, 0.3)),
        steps=1.0,
        climbs=True,
    )


def _lowered(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Brokers move anywhere below one that is not the root, so that much is pending there."""
    low, high = brokers
    return evolve(
        _lifted(random, brokers),
        shape="fork",
        brokers=min(max(low, random.choice((4, 4, 5))), high),
        publications=random.randint(40, 80),
        subscriptions=random.randint(5, 8),
        eagerness=random.choice((0.6, 0.75, 0.85)),
        weights=random.choice(((1.0,), (1.0, 0.3), (1.0, 1.0, 0.1))),
        move=random.choice((0.1, 0.2)),
        climbs=False,
    )


def _lifted_changing(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Clients come and go as well."""
    return _changing(random, _lifted(random, brokers))


def _lowered_changing(random: Random, brokers: tuple[int, int]) -> Knobs:
    """The same where they move anywhere."""
    return _changing(random, _lowered(random, brokers))


def _changing(random: Random, knobs: Knobs) -> Knobs:
    return evolve(
        knobs,
        settles_first=random.random() < 0.5,  # noqa: PLR2004 - a fair coin
        subscribe=0.1,
        advertise=0.08,
        unsubscribe=0.05,
        unadvertise=0.04,
    )


def _moved(random: Random, brokers: tuple[int, int]) -> Knobs:
    """An operator moves brokers while clients go on."""
    base = random.choice((_calm, _churning, _crowded, _churning))
    low, high = brokers
    return evolve(base(random, (min(max(low, 3), high), high)), move=random.choice((0.05, 0.15)), steps=0.5)


def _moved_and_lost(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Brokers and connections are lost as well, in the middle of moves."""
    base = random.choice((_losing, _breaking, _returning))
    return evolve(base(random, brokers), move=random.choice((0.05, 0.15, 0.3)), steps=0.8)


def _lowered_and_lost(random: Random, brokers: tuple[int, int]) -> Knobs:
    """The same where much is pending below a broker that is not the root."""
    knobs = random.choice((_lowered, _lowered_changing))(random, brokers)
    lost = random.choice((_losing, _breaking, _breaking, _returning))(random, brokers)
    return evolve(
        knobs,
        heal=lost.heal,
        lose=lost.lose,
        losses=lost.losses,
        preferences=lost.preferences,
        cut=lost.cut,
        cuts=lost.cuts,
        restart=lost.restart,
    )


Regime = Callable[[Random, tuple[int, int]], Knobs]
REGIMES: Final[dict[str, tuple[Regime, ...]]] = {
    "none": (_calm,),
    "churn": (*(_churning, _crowded) * 4, _directed_churn),
    "crash": (_failing, _dense, _rings, _rings, _moving, _flapping, _scripted, _scripted, _directed_crash),
    "healing": (_losing, _losing, _breaking, _returning, _gathering),
    "move": (_moved, _moved, _moved_and_lost),
    "lift": (_lifted, _lifted_changing),
    "lower": (_lowered, _lowered_changing, _directed_lower),
    f"move{LOSSES_TOO}": (_moved_and_lost,),
    f"lower{LOSSES_TOO}": (_lowered_and_lost,),
}
"""The regimes a campaign with these faults draws from, each as often as it is listed."""


def with_replays(knobs: Knobs, random: Random) -> Knobs:
    """Let subscriptions ask for the past, in some schedules; the caches are large or small."""
    if knobs.script or knobs.corrupt or random.random() >= REPLAYING:
        return knobs
    return evolve(
        knobs,
        replays=random.choice((0.3, 0.7, 1.0)),
        wrong_clocks=random.choice((0.0, 0.0, 0.5)),
        cache_bytes=random.choice((ENOUGH_BYTES, ENOUGH_BYTES, 150)),
        cache_step=random.choice((1, 3, 1000)),
        subscribe=max(knobs.subscribe, random.choice((0.0, 0.1))),
    )


def with_clocks(knobs: Knobs, random: Random) -> Knobs:
    """Let clocks differ, and all subscriptions ask for what is published from now on."""
    if knobs.script:
        return knobs
    return evolve(
        knobs,
        replays=1.0,
        skew=random.choice((20, 200, 10_000)),
        mark=random.choice((0.0, 0.05, 0.2, 0.4)),
        cache_bytes=ENOUGH_BYTES,
        cache_step=random.choice((1, 1000)),
        subscribe=max(knobs.subscribe, random.choice((0.1, 0.2))),
    )


def with_memory(knobs: Knobs, random: Random) -> Knobs:
    """Let the state of plugins change by itself, while brokers renew and sweep."""
    return evolve(
        knobs,
        script=(),
        replays=0.0,
        damage=random.choice((0.02, 0.05, 0.15)),
        refresh=random.choice((0.0, 0.02, 0.1)),
        sweep=random.choice((0.02, 0.1)),
        expire_after=random.choice(((1,), (1, 2))),
        local=random.choice((0.0, 0.0, 0.0, 0.5, 1.0)),
    )


PAGING: Final = 0.3
"""The part of all schedules in which announcements do not fit into one page."""

PAGES_BYTES: Final = (1, 1, 40, 100)
"""The sizes of pages for one item, two or three, and some more: a schedule has up to ten to announce."""


def with_pages(knobs: Knobs, random: Random) -> Knobs:
    """Make pages small in some schedules; the others stay as they are."""
    if random.random() >= PAGING:
        return knobs
    return evolve(knobs, page_bytes=random.choice(PAGES_BYTES))


CROSSING: Final = 0.3
"""The part of all schedules in which a new neighbour learns what it is to know in several steps."""

PARTS: Final = (1, 1, 2, 3, 5)
"""The sizes of parts: a broker has up to ten subscriptions, each in up to four stages."""


def with_parts(knobs: Knobs, random: Random) -> Knobs:
    """Make parts small in some schedules; the others stay as they are."""
    if random.random() >= CROSSING:
        return knobs
    return evolve(knobs, part_count=random.choice(PARTS))


NESTED_PART: Final = 0.3
"""The part of schedules without replays in which filters look into maps."""


def with_nested(knobs: Knobs, random: Random) -> Knobs:
    """Let filters look into maps in some schedules; the others stay as they are."""
    if knobs.replays or random.random() >= NESTED_PART:
        return knobs
    return evolve(knobs, nested=True)


COVERING: Final = 0.2
"""The part of the schedules with moving brokers in which subscriptions change that cover each other."""


def with_covers(knobs: Knobs, random: Random, brokers: tuple[int, int]) -> Knobs:
    """Subscriptions that cover each other come and go while parts of the tree move."""
    if not knobs.cuts or random.random() >= COVERING:
        return knobs
    if random.random() < 0.5:  # noqa: PLR2004 - a fair coin
        return _following(knobs, random.choice(COVER_SCRIPTS), brokers)
    kinds = random.choice((1, 2, 3))
    return evolve(
        knobs,
        kinds=kinds,
        width=random.randint(1, kinds),
        unordered_subscriptions=random.choice((0.0, 0.5)),
        subscribe=random.choice((0.15, 0.25)),
        unsubscribe=random.choice((0.05, 0.15)),
        script=(),
    )
