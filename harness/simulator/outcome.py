"""What a schedule came to: its faults, by kind, after the liveness phase.

An exception out of a core is a fault of kind "error": in a world of honest brokers no core may raise.
"""

from collections.abc import Callable

from attrs import frozen

from harness.simulator.liveness import rest
from harness.simulator.schedule import Driver, driver, repeat
from harness.simulator.verdict import Fault, faults_in, missing_in
from harness.simulator.world import Action, World
from ordering.interface import OrderingFactory


@frozen
class Outcome:
    """One schedule's end. `actions` are the schedule without its liveness phase."""

    world: World
    actions: tuple[Action, ...]
    faults: tuple[Fault, ...]

    def has(self, kind: str) -> bool:
        """Whether some fault is of this kind."""
        return any(fault[0] == kind for fault in self.faults)


def of_seed(seed: int, faults: str, brokers: tuple[int, int], ordering: OrderingFactory) -> Outcome:
    """Let the schedule of a seed happen and judge it."""
    made: Driver = driver(seed, faults, brokers, ordering)
    return _judged(made.world, made.run)


def of_actions(actions: tuple[Action, ...], ordering: OrderingFactory) -> Outcome:
    """Carry out a schedule and judge it."""
    world = World(ordering)
    return _judged(world, lambda: repeat(world, actions))


def _judged(world: World, happen: Callable[[], None]) -> Outcome:
    count = None
    try:
        happen()
        count = len(world.actions)
        left = rest(world)
    except Exception as error:  # noqa: BLE001 - whatever a core raises is what we look for
        left = [("error", f"{type(error).__name__}: {error}")]
    faults = [*left, *faults_in(world.record)]
    if not world.is_lossy:
        faults += missing_in(world.record, list(world.subscribers))
    return Outcome(world, tuple(world.actions[:count]), tuple(faults))
