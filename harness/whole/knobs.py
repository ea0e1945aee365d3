"""The knobs of a schedule of whole brokers, its rates and sizes: each is drawn from the seed (swarm testing).

Each seed draws a regime for its whole schedule: fast and slow connections, crumbs of bytes, windows that are
always full, subscribers that do not read, many subscriptions, syncs that take long.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from attrs import evolve, frozen

from broker.client.limits import Limits
from harness.whole.cables import CableShape
from harness.whole.sites import SiteTiming

WHOLE_FAULTS: Final = ("none", "churn", "crash", "move", "lift", "restart", "loss", "roam", "hostile")
"""The faults of bare cores, and: restarts with a journal, losses for good, clients that go from broker to
broker, hostile peers."""


LEASE_PART: Final = 2
"""The length of a lease in link timeouts."""

SMALL_BYTES: Final = 1000
ROOMY_BYTES: Final = 65_536
"""The least capacity of connections where events are large."""


@frozen
class WholeKnobs:
    """The knobs of one schedule. Counts of faults and changes are over the whole `span_s` of publishing."""

    brokers: int
    tree: str
    programs: int
    publishers: int
    subscriptions: int
    publications: int
    span_s: float
    bursts: int
    kinds: int
    width: int
    unordered: float
    unordered_subscriptions: float
    payload_bytes: tuple[int, ...]
    limits: Limits
    bound_bytes: int
    drops: float
    durable: float
    slow: float
    replays: float
    settles_first: bool
    shape: CableShape
    timing: SiteTiming
    link_timeout_s: float
    lease_s: float = 0.0
    odd: str = ""
    """The setting in which one broker differs: "link_timeout" or "lease"."""
    joins: int = 0
    leaves: int = 0
    returns: int = 0
    moves: int = 0
    cuts: int = 0
    half_open: float = 0.0
    freezes: int = 0
    kills: int = 0
    down_s: float = 0.0
    silent_kills: float = 0.0
    stops: float = 0.0
    losses: int = 0
    journals: float = 0.0
    snapshots: int = 0
    hostile: int = 0
    absences: int = 0
    max_open: int = 0
    """How many deliveries of durable subscriptions may be open; 0 if programs do not acknowledge."""
    roams: bool = False
    """Whether programs know several brokers, and go to another one when theirs is lost."""
    relocations: int = 0
    """How often an operator asks a broker to move."""
    methods: tuple[str, ...] = ("path", "reattach")
    nested: bool = False
    """Whether events have lists, maps and null, and filters speak of them."""
    follows: bool = False
    """Whether programs follow the filters that overlap what they advertise."""
    step_units: int = 4000
    watches: bool = False
    """Whether every other program watches what is on offer."""


def _shape(random: Random) -> CableShape:
    return CableShape(
        latency_s=random.choice((0.0002, 0.002, 0.02, 0.05)),
        slow_part=random.choice((0.0, 0.0, 0.2, 0.5)),
        slow_factor=random.choice((5.0, 30.0)),
        cuts=random.choice((0.0, 0.1, 0.5)),
        crumbs=random.choice((0.0, 0.0, 0.0, 0.02, 0.2)),
        partial=random.choice((0.0, 0.0, 0.3, 1.0)),
        capacity_bytes=random.choice((600, 4096, 65_536, 1 << 20)),
    )


def _timing(random: Random) -> SiteTiming:
    return SiteTiming(
        lateness_s=random.choice((0.0, 0.0, 0.01, 0.3)),
        early=random.choice((0.0, 0.0, 0.2)),
        pass_s=random.choice((0.0, 0.001, 0.02)),
        sync_s=random.choice((0.0, 0.001, 0.01, 0.05)),
        dial_s=random.choice((0.001, 0.05)),
        unreached=random.choice((0.0, 0.0, 0.1)),
        room_count=random.choice((5, 1000)),
    )


def _limits(random: Random) -> Limits:
    """Draw the limits of clients: the defaults, or so small that windows and inboxes are always full."""
    if random.random() < 0.4:  # noqa: PLR2004 - often enough
        return Limits()
    return Limits(
        window_bytes=random.choice((300, 2000, 20_000)),
        flush_bytes=random.choice((1, 500, 10_000)),
        flush_interval_s=random.choice((0.05, 0.25)),
        write_bytes=random.choice((100, 5000)),
        checkpoint_bytes=random.choice((1, 1000)),
        inbox_bytes=random.choice((100, 2000)),
        credit_first=random.choice((1, 2, 8)),
        credit_min=random.choice((1, 2)),
        credit_max=random.choice((2, 16)),
    )


def _calm(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Nothing goes wrong."""
    publishers = random.randint(1, 4)
    programs = random.randint(2, 5)
    return WholeKnobs(
        brokers=random.randint(*brokers),
        tree=random.choice(("random", "random", "chain", "star")),
        programs=programs,
        publishers=publishers,
        subscriptions=random.randint(2, 5),
        publications=random.choice((5, 10, 20, 40)),
        span_s=random.choice((0.05, 0.3, 1.0)),
        bursts=random.choice((1, 1, 4, 12)),
        kinds=random.choice((1, 2, 4, 8)),
        width=random.choice((0, 1, 2, 5)),
        unordered=random.choice((0.0, 0.0, 0.3)),
        unordered_subscriptions=random.choice((0.0, 0.0, 0.3)),
        payload_bytes=random.choice(((0,), (0,), (0, 100, 3000), (10, 20_000))),
        limits=_limits(random),
        bound_bytes=8 << 20,
        drops=0.5,
        durable=random.choice((0.0, 0.0, 0.4)),
        slow=random.choice((0.0, 0.0, 0.3)),
        replays=random.choice((0.0, 0.0, 0.0, 0.4)),
        settles_first=random.random() < 0.7,  # noqa: PLR2004 - mostly
        shape=_shape(random),
        timing=_timing(random),
        link_timeout_s=random.choice((2.0, 10.0)),
        step_units=random.choice((4000, 4000, 15)),
    )


def _overflowing(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Subscribers do not keep up, and queues reach every bound."""
    knobs = _calm(random, brokers)
    return evolve(
        knobs,
        kinds=random.choice((1, 2)),
        width=0,
        publications=random.choice((20, 40)),
        payload_bytes=random.choice(((8000, 15_000), (30_000,), (60_000, 100_000))),
        limits=random.choice((Limits(), evolve(knobs.limits, window_bytes=1 << 20))),
        bound_bytes=random.choice((1, 100_000, 300_000)),
        slow=random.choice((0.3, 0.7)),
        shape=evolve(knobs.shape, crumbs=0.0, capacity_bytes=65_536),
    )


def _crowded(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """There are many subscriptions."""
    return evolve(
        _calm(random, brokers),
        subscriptions=random.choice((40, 100, 200)),
        publications=random.choice((3, 6)),
        kinds=8,
        width=5,
        payload_bytes=(0,),
        replays=0.0,
    )


def _straining(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Slow links have so much to carry that a renewal waits for longer than a lease."""
    low, high = brokers
    knobs = _calm(random, (min(max(low, 2), high), min(max(low, 3), high)))
    return evolve(
        knobs,
        kinds=random.choice((1, 2)),
        width=0,
        subscriptions=random.randint(2, 4),
        publications=random.choice((60, 120)),
        span_s=1.0,
        bursts=1,
        payload_bytes=(900,),
        limits=Limits(),
        durable=0.0,
        slow=0.0,
        replays=0.0,
        settles_first=True,
        shape=CableShape(0.05, 0.5, 5.0, cuts=0.0, crumbs=0.0, partial=0.0, capacity_bytes=600),
        link_timeout_s=2.0,
        lease_s=LEASE_PART * 2.0,
        step_units=4000,
    )


def _changing(knobs: WholeKnobs, random: Random) -> WholeKnobs:
    """Publishers, subscriptions and clients come and go."""
    return evolve(
        knobs,
        span_s=random.choice((0.3, 1.0, 3.0)),
        joins=random.randint(0, 5),
        leaves=random.randint(0, 4),
        returns=random.randint(0, 3),
        moves=random.choice((0, 0, 2)),
        cuts=random.choice((0, 1, 3, 8)),
        absences=random.choice((0, 0, 0, 2)),
        durable=random.choice((0.0, 0.3, 0.6)),
    )


def _churn(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    base = _overflowing if random.random() < 0.3 else _calm  # noqa: PLR2004 - a part
    return _changing(base(random, brokers), random)


def _crash(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Brokers without a journal die and start again, connections break in every way."""
    return evolve(
        _changing(_calm(random, brokers), random),
        span_s=random.choice((0.3, 1.0, 3.0)),
        cuts=random.choice((0, 3, 8)),
        half_open=random.choice((0.0, 0.3)),
        freezes=random.choice((0, 0, 1, 2)),
        kills=random.choice((1, 2, 4)),
        down_s=random.choice((0.01, 0.3, 1.0, 5.0)),
        silent_kills=random.choice((0.0, 0.0, 0.3)),
        stops=random.choice((0.0, 0.3)),
    )


def _restart(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Brokers with journals die and recover what was synced; some syncs take longer than heartbeats."""
    knobs = _crash(random, brokers)
    return evolve(
        knobs,
        timing=evolve(knobs.timing, sync_s=random.choice((0.001, 0.01, 0.05, knobs.link_timeout_s / 25))),
        journals=1.0,
        kills=random.choice((1, 2, 5, 10)),
        down_s=random.choice((0.01, 0.1, 0.5, 5.0)),
        snapshots=random.choice((0, 0, 2, 5)),
        joins=random.choice((0, 2)),
        leaves=random.choice((0, 2)),
    )


def _loss(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Brokers are lost for good; the rest heals, and their clients move to others."""
    low, high = brokers
    return evolve(
        _crash(random, (min(max(low, 3), high), high)),
        journals=random.choice((0.0, 0.5, 1.0)),
        kills=random.choice((0, 1)),
        losses=random.choice((1, 1, 2)),
        slow=0.0,
        link_timeout_s=2.0,
    )


def _roam(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Clients lose their brokers for so long that they go to others, and return to where they were."""
    low, high = brokers
    base = _overflowing if random.random() < 0.1 else _calm  # noqa: PLR2004 - a part
    return evolve(
        base(random, (low, min(max(low, 3), high))),
        publications=random.choice((40, 80)),
        span_s=random.choice((5.0, 15.0)),
        bursts=random.choice((1, 12)),
        roams=True,
        absences=random.choice((3, 6, 12)),
        returns=random.choice((0, 0, 1)),
        cuts=random.choice((0, 3)),
        kills=random.choice((0, 1, 3)),
        down_s=random.choice((1.0, 5.0)),
        silent_kills=random.choice((0.0, 0.3)),
        losses=random.choice((0, 0, 1)),
        journals=random.choice((0.0, 0.5, 1.0)),
        durable=random.choice((0.0, 0.5, 1.0)),
        settles_first=True,
        link_timeout_s=2.0,
    )


def _relocate(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """An operator moves brokers, while clients come and go, or brokers with journals die as well."""
    low, high = brokers
    base = random.choice((_calm, _churn, _churn, _restart, _crash))
    return evolve(
        base(random, (min(max(low, 3), high), high)),
        relocations=random.choice((1, 2, 5)),
        settles_first=True,
        slow=0.0,
    )


def _lifting(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Brokers move without a gap, while clients come and go."""
    low, high = brokers
    base = random.choice((_calm, _churn))
    return evolve(
        base(random, (min(max(low, 3), high), high)),
        tree=random.choice(("chain", "random")),
        span_s=random.choice((0.3, 1.0, 3.0)),
        relocations=random.choice((1, 3, 6)),
        methods=("path",),
        cuts=0,
        settles_first=True,
        slow=0.0,
    )


def _hostile(random: Random, brokers: tuple[int, int]) -> WholeKnobs:
    """Hostile peers send anything at any time, while honest clients go on."""
    return evolve(
        _calm(random, (1, min(3, brokers[1]))),
        hostile=random.choice((1, 3, 8)),
        span_s=random.choice((0.3, 1.0)),
        journals=random.choice((0.0, 0.0, 1.0)),
    )


Regime = Callable[[Random, tuple[int, int]], WholeKnobs]
REGIMES: Final[dict[str, tuple[Regime, ...]]] = {
    "none": (*(_calm,) * 14, *(_overflowing,) * 4, *(_crowded,) * 2, _straining),
    "churn": (_churn,),
    "crash": (_crash,),
    "restart": (_restart,),
    "loss": (_loss,),
    "roam": (_roam,),
    "hostile": (_hostile,),
    "move": (_relocate,),
    "lift": (_lifting,),
}


def _quick_enough(knobs: WholeKnobs) -> WholeKnobs:
    """Widen connections so that no frame takes as long as a heartbeat timeout."""
    if max(knobs.payload_bytes) < SMALL_BYTES:
        return knobs
    shape = knobs.shape
    capacity_bytes = max(shape.capacity_bytes, ROOMY_BYTES)
    return evolve(knobs, shape=evolve(shape, capacity_bytes=capacity_bytes, crumbs=0.0))


def draw(random: Random, faults: str, brokers: tuple[int, int]) -> WholeKnobs:
    """Draw the knobs of one schedule."""
    regimes = REGIMES[faults]
    knobs = _quick_enough(regimes[int(random.random() * len(regimes))](random, brokers))
    if random.random() < 0.1 and not knobs.lease_s:  # noqa: PLR2004 - a tenth has leases
        knobs = evolve(knobs, lease_s=LEASE_PART * knobs.link_timeout_s)
    if random.random() < 0.05:  # noqa: PLR2004 - so many have a broker that differs
        knobs = evolve(knobs, odd=random.choice(("link_timeout", "lease")))
    return knobs
