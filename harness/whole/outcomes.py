"""What a schedule of whole brokers came to, and its trace."""

from collections.abc import Callable
from hashlib import sha256
from random import Random
from traceback import extract_tb
from typing import Final

from attrs import evolve, frozen

from broker.routing import DEFAULT, Routing, known, parse
from broker.server.collector import undisturbed
from harness.simulator.verdict import Fault
from harness.whole.judging import go_on, judge
from harness.whole.knobs import WholeKnobs, draw
from harness.whole.quiet import settle
from harness.whole.remembering import remembered
from harness.whole.story import calm, tell
from harness.whole.world import WholeWorld
from ordering.interface import OrderingFactory

ROUTED_PART: Final = 0.2
"""So many schedules have another pair of routing strategies."""


@frozen
class WholeOutcome:
    """One schedule's end."""

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
    """Let the schedule of a seed happen and judge it; knobs may be changed."""
    return happen(world_of(seed, faults, brokers, ordering, routing, **changed))


def world_of(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
    **changed: object,
) -> WholeWorld:
    """Make the world of a seed; nothing has happened in it. Unless routing is given, some seeds draw it."""
    random = Random(f"whole {seed} {faults} {brokers}")  # noqa: S311 - a schedule
    knobs: WholeKnobs = draw(random, faults, brokers)
    if changed:
        knobs = evolve(knobs, **changed)  # type: ignore[arg-type]  # names of knobs
    return WholeWorld(random, knobs, ordering, _drawn(seed) if routing == DEFAULT else routing)


def _drawn(seed: int) -> Routing:
    """Draw a pair of routing strategies; most schedules have what brokers do if nothing is said.

    It is drawn aside: the rest of a schedule does not depend on it.
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
    """Everything that happens in the schedule of a seed, as a text of fixed length: the same for ever."""
    digest = sha256()
    world = world_of(seed, faults, brokers, ordering, routing)
    world.watch = lambda line: digest.update(f"{line}\n".encode())
    outcome = happen(world)
    for fault in outcome.faults:
        digest.update(f"{fault}\n".encode())
    return digest.hexdigest()


def happen(world: WholeWorld) -> WholeOutcome:
    """Let the schedule of a world happen, and judge it."""

    def everything() -> list[Fault]:
        wrong = tell(world)
        calm(world)
        return wrong or _rest(world)

    return _judged(world, everything)


def at_rest(world: WholeWorld) -> WholeOutcome:
    """Let a world in which nothing breaks any more come to rest and go on, and judge it."""
    return _judged(world, lambda: _rest(world))


def _judged(world: WholeWorld, what_happens: Callable[[], list[Fault]]) -> WholeOutcome:
    try:
        with undisturbed(), remembered():
            wrong = what_happens()
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what we look for
        where = extract_tb(error.__traceback__)[-1]
        wrong = [("error", f"{type(error).__name__}: {error} in {where.name}")]
    return WholeOutcome(world, (*wrong, *judge(world)))


def _rest(world: WholeWorld) -> list[Fault]:
    """Let everything come to rest and go on; return what does not."""
    wrong = settle(world)
    if wrong or any(kind == "error" for kind, _ in world.history.faults):
        return wrong
    return go_on(world)
