"""What kind of schedule a seed gives: every knob is drawn from the seed itself (swarm testing).

Uniform chance rarely builds the situations in which a rule matters: two faults close together, a neighbour
that never answers, one kind of event that everybody wants. So each seed first draws a regime, and whole
schedules live in it.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from attrs import evolve, frozen

from harness.simulator.directed import DIRECTED
from harness.simulator.past import ENOUGH_BYTES
from harness.simulator.plots import COVER_PLOTS, PLOTS
from harness.simulator.world import Action

LEASES: Final = "+leases"
"""Behind the name of faults: brokers renew and sweep, links stall, and in calm schedules memory changes."""

FAULTS: Final = tuple(
    faults + leases for leases in ("", LEASES) for faults in ("none", "churn", "crash", "healing")
)
"""Nothing changes after the start; clients come and go; brokers and connections are lost as well, and others
attach anywhere; brokers are lost for good, several at once, and the rest heals by itself."""


@frozen
class Knobs:
    """One schedule's character. Chances are per event that is not a delivery; the rest of them publish.

    `slips` is the chance that a step of the plot is left out.
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
    plot: tuple[Action, ...] = ()
    ranges: float = 0.0
    """How many filters are ranges, and not sets."""
    heal: float = 0.0
    lose: float = 0.0
    losses: tuple[str, ...] = ()
    """Who is lost, one after the other; empty if brokers do not heal by themselves."""
    preferences: str = "parent"
    """Which uplinks are configured."""
    slips: float = 0.0
    refresh: float = 0.0
    sweep: float = 0.0
    lease_patiences: tuple[int, ...] = (1,)
    """The patience of brokers that sweep, drawn for each of them."""
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
    cache_bytes: int = 0
    """How much of the past brokers keep, and how much of it they look at in one step."""
    cache_step: int = 1
    page_bytes: int = 0
    """How large pages are, in bytes of items; 0 if they are as large as those of real brokers."""


SHAPES: Final = ("random", "random", "chain", "star")
WEIGHTS: Final[tuple[tuple[float, ...], ...]] = (
    (1.0,),
    (1.0,),
    (1.0, 1.0, 0.2, 0.03),
    (1.0, 1.0, 1.0, 0.0),
    (1.0, 0.1),
)
"""How eagerly directions deliver: all alike, some far behind, some only when nothing else can happen."""


REPLAYING: Final = 0.25
"""The part of all schedules in which subscriptions ask for the past."""


def draw(random: Random, faults: str, brokers: tuple[int, int]) -> Knobs:
    """Draw the knobs of one schedule, of a tree with so many brokers."""
    regimes = REGIMES[faults.removesuffix(LEASES)]
    knobs = regimes[int(random.random() * len(regimes))](random, brokers)
    if not faults.endswith(LEASES):
        return knobs
    return _leasing(knobs, random)


def _leasing(knobs: Knobs, random: Random) -> Knobs:
    """Brokers renew and sweep, seldom or often, out of step; links stall meanwhile, some memory changes."""
    is_calm = not (knobs.cuts or knobs.crashes or knobs.losses or knobs.plot)
    corrupt = random.choice((0.0, 0.0, 0.05)) if is_calm else 0.0
    return evolve(
        knobs,
        corrupt=corrupt,
        refresh=random.choice((0.02, 0.05, 0.15)),
        sweep=random.choice((0.02, 0.05, 0.15)),
        lease_patiences=random.choice(((1,), (2,), (1, 2, 4))),
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
    """Few kinds, much churn, and directions that lag behind: advertisements cross publications."""
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
    """Brokers die and connections are lost now and then; tops attach elsewhere."""
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
    """Many faults close together, and everybody wants the one kind of event there is."""
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
    """Connections are lost all the time, and several tops attach to each other at the same time."""
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
    """Parts of the tree move while much is on its way, some of it far behind: old and new paths compete."""
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
    """Few brokers whose connections come and go, often to the same neighbour; answers are far behind."""
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


def _plotted(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A plot: what happens is told, what arrives when is not."""
    knobs = evolve(
        _moving(random, brokers),
        eagerness=random.choice((0.6, 0.8, 0.9, 0.95)),
        weights=random.choice(((1.0,), (1.0, 0.1), (1.0, 1.0, 0.1, 0.02), (1.0, 0.03))),
    )
    return _telling(knobs, random.choice(PLOTS), brokers)


def _directed_churn(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A directed schedule in which clients come and go."""
    return _telling(_strict(_crowded(random, brokers), random), random.choice(DIRECTED["churn"]), brokers)


def _directed_crash(random: Random, brokers: tuple[int, int]) -> Knobs:
    """A directed schedule in which brokers move."""
    return _telling(_strict(_moving(random, brokers), random), random.choice(DIRECTED["crash"]), brokers)


def _strict(knobs: Knobs, random: Random) -> Knobs:
    """What arrives when is told as well, and little else happens."""
    return evolve(
        knobs, eagerness=random.choice((0.0, 0.0, 0.02, 0.1)), slips=random.choice((0.0, 0.0, 0.03))
    )


def _telling(knobs: Knobs, plot: tuple[Action, ...], brokers: tuple[int, int]) -> Knobs:
    """Tell this plot, unless there are not the brokers for it."""
    needed = sum(action[0] == "start" for action in plot)
    return evolve(knobs, plot=plot) if brokers[0] <= needed <= brokers[1] else knobs


LOSSES: Final = ("one", "root", "root", "middle", "neighbours", "root and a child", "many", "all but two")
"""Who is lost at once: anybody, the root, one that has children, a broker and its parent, and so on."""

PREFERENCES: Final = ("parent", "parent", "nobody", "parent and others", "anybody")
"""The configured uplinks of a broker: what it was attached to first, and what else."""


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
    """Connections break as well: brokers that are alive search too, old and new ways compete."""
    return evolve(_losing(random, brokers), cut=random.choice((0.05, 0.1)), cuts=6)


def _returning(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Brokers that were lost come back without their memory, where others may have taken their place."""
    return evolve(_breaking(random, brokers), restart=random.choice((0.05, 0.15)))


def _gathering(random: Random, brokers: tuple[int, int]) -> Knobs:
    """Everybody begins alone, and brokers are lost before all have heard of each other."""
    return evolve(_returning(random, brokers), starts_joined=False, settles_first=False, heal=0.5)


Regime = Callable[[Random, tuple[int, int]], Knobs]
REGIMES: Final[dict[str, tuple[Regime, ...]]] = {
    "none": (_calm,),
    "churn": (*(_churning, _crowded) * 4, _directed_churn),
    "crash": (_failing, _dense, _rings, _rings, _moving, _flapping, _plotted, _plotted, _directed_crash),
    "healing": (_losing, _losing, _breaking, _returning, _gathering),
}
"""The regimes a campaign with these faults draws from, each as often as it is listed."""


def with_replays(knobs: Knobs, random: Random) -> Knobs:
    """Let subscriptions ask for the past, in some schedules; the caches are large or small."""
    if knobs.plot or knobs.corrupt or random.random() >= REPLAYING:
        return knobs
    return evolve(
        knobs,
        replays=random.choice((0.3, 0.7, 1.0)),
        wrong_clocks=random.choice((0.0, 0.0, 0.5)),
        cache_bytes=random.choice((ENOUGH_BYTES, ENOUGH_BYTES, 150)),
        cache_step=random.choice((1, 3, 1000)),
        subscribe=max(knobs.subscribe, random.choice((0.0, 0.1))),
    )


PAGING: Final = 0.3
"""The part of all schedules in which what brokers announce does not fit into one page."""

PAGES_BYTES: Final = (1, 1, 40, 100)
"""One item a page, two or three, and some more: what is announced in a schedule has up to ten."""


def with_pages(knobs: Knobs, random: Random) -> Knobs:
    """Make pages small in some schedules; the others are as they would be without this."""
    if random.random() >= PAGING:
        return knobs
    return evolve(knobs, page_bytes=random.choice(PAGES_BYTES))


COVERING: Final = 0.2
"""The part of the schedules with moving brokers in which subscriptions change that cover each other."""


def with_covers(knobs: Knobs, random: Random, brokers: tuple[int, int]) -> Knobs:
    """Subscriptions that cover each other come and go while parts of the tree move."""
    if not knobs.cuts or random.random() >= COVERING:
        return knobs
    if random.random() < 0.5:  # noqa: PLR2004 - a fair coin
        return _telling(knobs, random.choice(COVER_PLOTS), brokers)
    kinds = random.choice((1, 2, 3))
    return evolve(
        knobs,
        kinds=kinds,
        width=random.randint(1, kinds),
        unordered_subscriptions=random.choice((0.0, 0.5)),
        subscribe=random.choice((0.15, 0.25)),
        unsubscribe=random.choice((0.05, 0.15)),
        plot=(),
    )
