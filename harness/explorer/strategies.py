"""Every pair of routing strategies under churn: random trees, and clients that come and go all the time.

    python -m harness.explorer.strategies [--runs N] [--seed N] [--routing NAME[+NAME]]... [--jobs N]

Prints a table with a row per pair, as in `docs/results/routing.md`. The exit status is 1 if any run had a
fault. A run follows from its seed and its pair alone. The properties that are checked:

| property | when |
|---|---|
| order, integrity, completeness, and the formal promises | always |
| weakly valid tables; local ones exact | after every step of every broker |
| valid tables; as from scratch; perfect, where the strategies promise it | when everything has arrived |
| nothing is left | when all clients have withdrawn |
| every step is legal (`legality`) | in every fifth run, again under `fifo` |
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from random import Random
from typing import Final

import click
from attrs import define, field, frozen

from broker.routing import Routing, parse
from broker.routing.flooding import EVERYTHING
from harness.explorer.configurations import PossibleWays, imperfect, inexact, invalid
from harness.explorer.legality import LegalityWatch
from harness.simulator.knobs import SHAPES, WEIGHTS, Knobs
from harness.simulator.liveness import rest
from harness.simulator.network import Port, Site
from harness.simulator.promises import broken_promises
from harness.simulator.schedule import ScheduleDriver
from harness.simulator.verdict import Fault
from harness.simulator.world import World
from harness.worker_processes import worker_processes
from ordering.fifo import Fifo
from ordering.interface import OrderingFactory
from ordering.pairwise import Pairwise

SUBSCRIPTIONS: Final = ("flooding", "simple", "identity", "covering", "merging", "merging:3")
ADVERTISEMENTS: Final = ("flooding", "simple", "identity", "covering", "merging")
PAIRS: Final = tuple("+".join(pair) for pair in product(SUBSCRIPTIONS, ADVERTISEMENTS))
"""Every pair; advertisements are merged exactly, as a wider one would let publishers publish more."""

MANY: Final = 16
"""So many kinds that ranges are apart, and two merged into one take more than any subscription wants."""

WIDE: Final = 6
"""The most kinds that one filter takes."""

LEGAL_EVERY: Final = 5
"""One run in so many happens again under `fifo`, to check that every step is legal (`legality`)."""

BATCH: Final = 100
"""Runs per piece of work: some seconds."""

LEFT_IN_ANY_CASE: Final = frozenset({"links", "subscriptions", "advertisements", "filters"})
"""The counts of a broker that are not zero at the end: its links, and the entries of flooding."""


@frozen
class StrategyRun:
    """The result of one run."""

    faults: tuple[Fault, ...]
    publications: int
    deliveries: int
    steps: int


def restless(random: Random) -> Knobs:
    """Draw the knobs of a schedule in which mostly clients come and go."""
    kinds = random.choice((2, 3, 4, 6, MANY, MANY))
    flags = random.choice((0.0, 0.0, 0.3))
    return Knobs(
        brokers=random.randint(2, 6),
        shape=random.choice(SHAPES),
        kinds=kinds,
        width=random.randint(1, min(kinds, WIDE)),
        publishers=random.randint(1, 4),
        subscriptions=random.randint(2, 16 if kinds == MANY else 8),
        publications=random.randint(4, 12),
        unordered_publications=flags * random.random(),
        unordered_subscriptions=flags,
        readers=random.choice((0.0, 0.6)),
        eagerness=random.choice((0.3, 0.6, 0.8, 0.95)),
        batch=random.choice((1, 1, 2, 5)),
        weights=random.choice(WEIGHTS),
        settles_first=random.random() < 0.5,  # noqa: PLR2004 - a fair coin
        ranges=random.choice((0.0, 1.0)),
        subscribe=0.25,
        advertise=random.choice((0.05, 0.15)),
        unsubscribe=random.choice((0.1, 0.25)),
        unadvertise=random.choice((0.05, 0.15)),
    )


@define(eq=False)
class _StrategySteps:
    """Checks every step of a world, and keeps what is wrong."""

    world: World
    ways: PossibleWays
    count: int = 0
    wrong: list[str] = field(factory=list)

    def step(self, site: Site, port: Port | None, count: int) -> None:
        del port, count
        self.count += 1
        if not self.wrong:
            self.wrong += self.ways.weakly_invalid(site)
            self.wrong += inexact(self.world, site)


def prepare(seed: int, routing: Routing, ordering: OrderingFactory) -> tuple[World, ScheduleDriver]:
    """Make the world and the driver of a seed, before any action."""
    random = Random(seed)  # noqa: S311 - chance here is repeatable, not secret
    knobs = restless(random)
    weights = knobs.weights
    world = World(ordering, routing, lambda: weights[int(random.random() * len(weights))])
    return world, ScheduleDriver(world, random, knobs)


def run(seed: int, routing: Routing, ordering: OrderingFactory = Pairwise) -> StrategyRun:
    """Run one schedule, and check every promise."""
    world, driver = prepare(seed, routing, ordering)
    steps = _StrategySteps(world, PossibleWays(world))
    driver.begin = partial(_watch, steps)
    faults = _caught(lambda: [*_happen(driver, world), *_end(world, driver.random, routing)])
    wrong = [("configuration", text) for text in steps.wrong]
    found = (*wrong, *faults, *broken_promises(world))
    return StrategyRun(found, len(world.record.publications), world.record.delivery_count, steps.count)


def illegal(seed: int, routing: Routing) -> list[Fault]:
    """Run the same schedule without order; return the steps that no legal strategy may take."""
    world, driver = prepare(seed, routing, Fifo)
    watches: list[LegalityWatch] = []

    def watch() -> None:
        watches.append(LegalityWatch(world))
        world.after = watches[0].step

    driver.begin = watch
    faults = _caught(lambda: _until_rest(driver, world))
    watches[0].rest()
    return [*(("illegal", text) for text in watches[0].wrong), *faults]


def _until_rest(driver: ScheduleDriver, world: World) -> list[Fault]:
    driver.run()
    world.do(("drain",))
    return []


def _watch(steps: _StrategySteps) -> None:
    """Check every step from now on: the tree is complete."""
    steps.ways = PossibleWays(steps.world)
    steps.world.after = steps.step


def _happen(driver: ScheduleDriver, world: World) -> Iterator[Fault]:
    driver.run()
    yield from rest(world)
    yield from (("configuration", text) for text in invalid(world))
    if world.routing.subscriptions.is_perfect:
        yield from (("configuration", text) for text in imperfect(world))


def _end(world: World, random: Random, routing: Routing) -> Iterator[Fault]:
    """Let all clients withdraw, in any order, while messages arrive; yield what is left."""
    leaving = [("unsubscribe", name) for name in world.subscribers]
    leaving += [("unadvertise", name) for name in world.publishers]
    random.shuffle(leaving)
    for action in leaving:
        world.do(action)
        ready = world.network.ready.ports
        if ready and random.random() < 0.5:  # noqa: PLR2004 - a fair coin
            world.arrive(random.choice(ready), 1)
    world.do(("drain",))
    advertised = {EVERYTHING.filter} if routing.advertisements.floods else set()
    subscribed = advertised if routing.subscriptions.floods else set()
    for site in world.sites.values():
        counts = {name: count for name, count in site.core.counts().items() if name not in LEFT_IN_ANY_CASE}
        if any(counts.values()):
            yield "left", f"{site.name} still has {counts}"
        for hop in site.core.neighbours.values():
            tables = site.core.tables
            if set(tables.advertisements(hop).filters.values()) != advertised:
                yield "left", f"{site.name} still knows advertisements through {hop.name}"
            if {entry.filter for entry in tables.entries_of(hop).values()} != subscribed:
                yield "left", f"{site.name} still knows subscriptions through {hop.name}"


def _caught(happen: Callable[[], list[Fault]]) -> list[Fault]:
    try:
        return happen()
    except Exception as error:  # noqa: BLE001 - whatever a core raises is what we look for
        return [("error", f"{type(error).__name__}: {error}")]


# --- many runs ---


@define
class StrategyRow:
    """The results of the runs of one pair."""

    pair: str
    runs: int = 0
    publications: int = 0
    deliveries: int = 0
    steps: int = 0
    failures: int = 0
    first: str = ""

    def add(self, other: "StrategyRow") -> None:
        """Add the results of later runs."""
        self.runs += other.runs
        self.publications += other.publications
        self.deliveries += other.deliveries
        self.steps += other.steps
        self.failures += other.failures
        self.first = self.first or other.first

    def __str__(self) -> str:
        first, _, second = self.pair.partition("+")
        counts = (self.runs, self.publications, self.deliveries, self.steps, self.failures)
        return f"| {first} | {second} | {' | '.join(f'{count:,}' for count in counts)} |"


HEADER: Final = (
    "| subscriptions | advertisements | runs | publications | deliveries | steps looked at | failures |\n"
    "|---|---|---|---|---|---|---|"
)


def runs(pair: str, seeds: range) -> StrategyRow:
    """Return the results of the runs of some seeds."""
    row, routing = StrategyRow(pair), parse(pair)
    for seed in seeds:
        became = run(seed, routing)
        found = [*became.faults, *(illegal(seed, routing) if seed % LEGAL_EVERY == 0 else ())]
        first = found[0] if found else None
        text = f"--routing {pair} --seed {seed} --runs 1: {first[0]}: {first[1]}" if first else ""
        counts = (became.publications, became.deliveries, became.steps)
        row.add(StrategyRow(pair, 1, *counts, int(first is not None), text))
    return row


def table(pairs: tuple[str, ...], seeds: range, jobs: int) -> Iterator[StrategyRow]:
    """Return a row per pair, as soon as it is complete."""
    pieces = [seeds[start : start + BATCH] for start in range(0, len(seeds), BATCH)]
    with worker_processes(jobs) as pool:
        for pair in pairs:
            row = StrategyRow(pair)
            for piece in pool.map(partial(runs, pair), pieces):
                row.add(piece)
            yield row


@click.command()
@click.option("--runs", "count", type=click.IntRange(1), default=3000, show_default=True, help="Per pair.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first run's seed; then upwards.")
@click.option(
    "--routing",
    "pairs",
    multiple=True,
    default=PAIRS,
    metavar="NAME+NAME",
    help="A pair; all if none is given.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
def main(*, count: int, seed: int, pairs: tuple[str, ...], jobs: int) -> None:
    """Run many schedules for every pair of strategies, and print the table."""
    click.echo(HEADER)
    rows = []
    for row in table(tuple(str(parse(pair)) for pair in pairs), range(seed, seed + count), jobs):
        rows.append(row)
        click.echo(str(row))
    for row in rows:
        if row.failures:
            click.echo(f"python -m harness.explorer.strategies {row.first}", err=True)
    sys.exit(1 if any(row.failures for row in rows) else 0)


if __name__ == "__main__":
    main()
