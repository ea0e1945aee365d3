"""The outcome of a schedule: its faults, by kind, after the liveness phase.

An exception out of a core is a fault of kind "error": in a world of honest brokers no core may raise.
"""

from collections.abc import Callable
from hashlib import sha256

from attrs import frozen

from broker.routing import DEFAULT, Routing
from harness.simulator.liveness import go_on, rest
from harness.simulator.promises import broken_promises
from harness.simulator.schedule import driver, repeat
from harness.simulator.verdict import Fault
from harness.simulator.world import Action, Watch, World
from ordering.interface import OrderingFactory


@frozen
class Outcome:
    """The outcome of one schedule. `actions` are the schedule without its liveness phase."""

    world: World
    actions: tuple[Action, ...]
    faults: tuple[Fault, ...]

    def has(self, kind: str) -> bool:
        """Return whether some fault is of this kind."""
        return any(fault[0] == kind for fault in self.faults)


def of_seed(  # noqa: PLR0913, PLR0917 - what a schedule follows from
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    watch: Watch | None = None,
    routing: Routing = DEFAULT,
) -> Outcome:
    """Run the schedule of a seed and judge it."""
    made = driver(seed, faults, brokers, ordering, routing)
    made.world.watch = watch
    return _judged(made.world, made.run)


def of_actions(
    actions: tuple[Action, ...],
    ordering: OrderingFactory,
    watch: Watch | None = None,
    announce: Callable[[Action], None] | None = None,
    routing: Routing = DEFAULT,
) -> Outcome:
    """Run a schedule and judge it; `announce` gets each action, `watch` what follows from it."""
    world = World(ordering, routing, watch=watch, announce=announce)
    return _judged(world, lambda: repeat(world, actions))


def trace_of(
    seed: int,
    faults: str,
    brokers: tuple[int, int],
    ordering: OrderingFactory,
    routing: Routing = DEFAULT,
) -> str:
    """Return a digest of everything that happens in the schedule of a seed: always the same."""
    digest = sha256()

    def watch(place: str, text: str) -> None:
        digest.update(f"{place} {text}\n".encode())

    outcome = of_seed(seed, faults, brokers, ordering, watch, routing)
    for line in (*outcome.actions, *outcome.faults):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def _judged(world: World, happen: Callable[[], None]) -> Outcome:
    count = None
    try:
        happen()
        count = len(world.actions)
        left = rest(world)
        if world.has_losses or world.leasing.corruptions:
            left += go_on(world)
    except Exception as error:  # noqa: BLE001 - whatever a core raises is what we look for
        left = [("error", f"{type(error).__name__}: {error}")]
    return Outcome(world, tuple(world.actions[:count]), (*left, *broken_promises(world)))
