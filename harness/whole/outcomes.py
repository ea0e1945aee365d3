"""The outcome of a schedule of whole brokers, and its trace."""

from collections.abc import Callable
from hashlib import sha256
from random import Random
from traceback import extract_tb
from typing import Final

from attrs import evolve, frozen

from broker.routing import DEFAULT, PART_COUNT, Routing, known, parse
from broker.server.collector import undisturbed
from harness.simulator.knobs import CROSSING, PARTS
from harness.simulator.verdict import Fault
from harness.whole.judging import go_on, judge
from harness.whole.knobs import draw
from harness.whole.parse_caches import cached_parsing
from harness.whole.quiet import settle
from harness.whole.schedule import calm, run_schedule
from harness.whole.world import WholeWorld
from ordering.interface import OrderingFactory

ACKNOWLEDGED_PART: Final = 0.3
"""In so many schedules programs acknowledge what comes to their durable subscriptions."""

ROAMING: Final = frozenset({"churn", "crash", "restart", "loss"})
ROAMING_PART: Final = 0.5
"""In so many schedules of these kinds programs know several brokers."""

WATCHED_PART: Final = 0.3
"""In so many schedules programs watch what is on offer."""

NESTED_PART: Final = 0.3
"""In so many schedules events are nested."""

FOLLOWED_PART: Final = 0.15
"""In so many schedules programs follow the filters that overlap what they advertise."""

ROUTED_PART: Final = 0.2
"""The part of schedules with a drawn pair of routing strategies."""


@frozen
class WholeOutcome:
    """The outcome of one schedule."""

    world: WholeWorld
    faults: tuple[Fault, ...]


def of_seed(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
    **changed: object,
) -> WholeOutcome:
    """Run the schedule of a seed and judge it; `changed` replaces knobs."""
    return happen(world_of(seed, faults, brokers, ordering, routing, **changed))


def world_of(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
    **changed: object,
) -> WholeWorld:
    """Make the world of a seed, before any event. Unless routing is given, some seeds draw it."""
    random = Random(f"whole {seed} {faults} {brokers}")  # noqa: S311 - a schedule
    drawn = draw(random, faults, brokers)
    roams = drawn.roams or _roams(seed, faults)
    knobs = evolve(
        drawn,
        max_open=_max_open(seed),
        roams=roams,
        nested=_is_nested(seed),
        watches=_watches(seed),
        follows=_follows(seed),
    )
    if changed:
        knobs = evolve(knobs, **changed)  # type: ignore[arg-type]  # names of knobs
    routing = _drawn(seed) if routing == DEFAULT else routing
    return WholeWorld(random, knobs, ordering, evolve(routing, part_count=_part_count(seed)))


def _part_count(seed: int) -> int:
    """Draw how much a new neighbour learns in one step, aside as well."""
    aside = Random(f"parts of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    return aside.choice(PARTS) if aside.random() < CROSSING else PART_COUNT


def _max_open(seed: int) -> int:
    """Draw how many deliveries may be unacknowledged, aside, as routing is drawn."""
    aside = Random(f"acknowledgements of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    return aside.choice((1, 3, 100)) if aside.random() < ACKNOWLEDGED_PART else 0


def _roams(seed: int, faults: str) -> bool:
    """Draw whether programs know several brokers, aside as well."""
    aside = Random(f"roaming of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    return faults in ROAMING and aside.random() < ROAMING_PART


def _is_nested(seed: int) -> bool:
    """Draw whether events are nested, aside as well."""
    aside = Random(f"nested events of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    return aside.random() < NESTED_PART


def _watches(seed: int) -> bool:
    """Draw whether programs watch what is on offer, aside as well."""
    aside = Random(f"watches of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    return aside.random() < WATCHED_PART


def _follows(seed: int) -> bool:
    """Draw whether programs follow interest, aside as well."""
    aside = Random(f"interest of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    return aside.random() < FOLLOWED_PART


def _drawn(seed: int) -> Routing:
    """Draw a pair of routing strategies; most schedules have the default.

    It has a generator of its own, so the rest of a schedule does not depend on it.
    """
    aside = Random(f"routing of {seed}")  # noqa: S311 - chance here is repeatable, not secret
    if aside.random() >= ROUTED_PART:
        return DEFAULT
    return parse("+".join(aside.choice(known()) for _ in range(2)))


def trace_of(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
) -> str:
    """Return a digest of everything that happens in the schedule of a seed: always the same."""
    digest = sha256()
    world = world_of(seed, faults, brokers, ordering, routing)
    world.watch = lambda line: digest.update(f"{line}\n".encode())
    outcome = happen(world)
    for fault in outcome.faults:
        digest.update(f"{fault}\n".encode())
    return digest.hexdigest()


def happen(world: WholeWorld) -> WholeOutcome:
    """Run the schedule of a world, and judge it."""

    def everything() -> list[Fault]:
        wrong = run_schedule(world)
        calm(world)
        return wrong or _rest(world)

    return _judged(world, everything)


def at_rest(world: WholeWorld) -> WholeOutcome:
    """Bring a world without further faults to rest, let it go on, and judge it."""
    return _judged(world, lambda: _rest(world))


def _judged(world: WholeWorld, what_happens: Callable[[], list[Fault]]) -> WholeOutcome:
    try:
        with undisturbed(), cached_parsing():
            wrong = what_happens()
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what we look for
        where = extract_tb(error.__traceback__)[-1]
        wrong = [("error", f"{type(error).__name__}: {error} in {where.name}")]
    return WholeOutcome(world, (*wrong, *judge(world)))


def _rest(world: WholeWorld) -> list[Fault]:
    """Bring a world to rest and let it go on; return what is wrong."""
    wrong = settle(world)
    if wrong or any(kind == "error" for kind, _ in world.history.faults):
        return wrong
    return go_on(world)
