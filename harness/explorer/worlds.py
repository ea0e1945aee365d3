"""All small worlds, and a program that explores them.

    python -m harness.explorer.worlds [--only KIND] [--jobs N] [--every N]

Static worlds are those of the protocol's model: two and three brokers, two publishers with two publications
each, two and three subscriptions of a few filters anywhere. Changing worlds add one advertisement,
subscription, withdrawal or crash at any point; in moving worlds a root attaches elsewhere at any point, or a
broker loses its uplink and dials another; in stepping worlds of three and four brokers one goes up, or below
its sibling, at any point; in reading worlds publishers read, and some subscriptions are not
ordered.
"""

import sys
import time
from collections.abc import Iterator
from itertools import combinations_with_replacement, islice, product
from typing import Final

import click

from harness.explorer.exhaustive import Cores, Exploration, Input, SmallWorld, WorldFinding
from harness.worker_processes import worker_processes
from ordering.pairwise import Pairwise

TREES: Final = (
    (("B1", ""), ("B2", "B1")),
    (("B1", ""), ("B2", "B1"), ("B3", "B2")),
    (("B1", ""), ("B2", "B1"), ("B3", "B1")),
)

MOVES: Final[tuple[tuple[tuple[tuple[str, str], ...], tuple[str, Input]], ...]] = (
    ((("B1", ""), ("B2", "")), ("B2", ("dial", "B1"))),
    ((("B1", ""), ("B2", "B1"), ("B3", "")), ("B3", ("dial", "B1"))),
    ((("B1", ""), ("B2", "B1"), ("B3", "")), ("B3", ("dial", "B2"))),
    ((("B1", ""), ("B2", "B1"), ("B3", "")), ("B1", ("dial", "B3"))),
    (TREES[1], ("B3", ("move", "B1"))),
    (TREES[2], ("B3", ("move", "B2"))),
    (TREES[2], ("B2", ("move", "B3"))),
)

STEPS: Final[tuple[tuple[tuple[tuple[str, str], ...], tuple[str, Input]], ...]] = (
    (TREES[1], ("B3", ("step", "B1"))),
    ((*TREES[1], ("B4", "B3")), ("B4", ("step", "B2"))),
    ((*TREES[1], ("B4", "B3")), ("B3", ("step", "B1"))),
    ((*TREES[1], ("B4", "B2")), ("B3", ("step", "B1"))),
    (TREES[2], ("B3", ("step", "B2"))),
    ((*TREES[1], ("B4", "B2")), ("B4", ("step", "B3"))),
    ((*TREES[2], ("B4", "B2")), ("B2", ("step", "B3"))),
    ((*TREES[2], ("B4", "B3")), ("B2", ("step", "B3"))),
)

SCRIPTS: Final = (
    (("ab", "ab"), ("ab", "ab")),
    (("ab", "aa"), ("b", "bb")),
    (("a", "aa"), ("a", "aa")),
    (("ab", "ab"), ("ab", "ba")),
)
"""The advertisements and publications of two publishers."""

FILTERS: Final = ("a", "ab", "b")

PIECE: Final = 40
"""Worlds that share the reactions of cores: most have the same tree."""


def static_worlds() -> Iterator[SmallWorld]:
    """Yield every world in which nothing changes."""
    for tree in TREES:
        names = [name for name, _ in tree]
        for places in product(names, repeat=2):
            for scripts in SCRIPTS:
                publishers = tuple((b, *script) for b, script in zip(places, scripts, strict=True))
                for count in (2, 3):
                    for where in combinations_with_replacement(names, count):
                        for kinds in product(FILTERS, repeat=count):
                            yield SmallWorld(tree, publishers, tuple(zip(where, kinds, strict=True)))


def changing_worlds() -> Iterator[SmallWorld]:
    """Yield every world in which all want one kind of event, with each possible change."""
    for tree in TREES:
        names = [name for name, _ in tree]
        for places in product(names, repeat=2):
            publishers = tuple((broker, "a", "aa") for broker in places)
            for count in (2, 3):
                for where in combinations_with_replacement(names, count):
                    subscriptions = tuple((broker, "a") for broker in where)
                    for change in _changes(names, publishers, subscriptions):
                        yield SmallWorld(tree, publishers, subscriptions, change)


def moving_worlds() -> Iterator[SmallWorld]:
    """Yield every world in which a root attaches elsewhere, or a broker moves; all want one kind of event."""
    for tree, change in MOVES:
        names = [name for name, _ in tree]
        for places in product(names, repeat=2):
            publishers = tuple((broker, "a", "aa") for broker in places)
            for where in combinations_with_replacement(names, 2):
                yield SmallWorld(tree, publishers, tuple((broker, "a") for broker in where), change)


def stepping_worlds() -> Iterator[SmallWorld]:
    """Yield every world in which a broker takes a step; all want one kind of event."""
    for tree, change in STEPS:
        names = [name for name, _ in tree]
        published = "aa" if len(names) == 3 else "a"  # noqa: PLR2004 - worlds of four are large
        for places in product(names, repeat=2):
            publishers = tuple((broker, "a", published) for broker in places)
            for where in combinations_with_replacement(names, 2):
                yield SmallWorld(tree, publishers, tuple((broker, "a") for broker in where), change)


def reading_worlds() -> Iterator[SmallWorld]:
    """Yield every world in which publishers read, with subscriptions ordered or not; a broker may move."""
    for tree, change in (*((tree, None) for tree in TREES), *MOVES[4:]):
        names = [name for name, _ in tree]
        for places in product(names, repeat=2):
            publishers = tuple((broker, "a", "aa"[: 2 if change is None else 1]) for broker in places)
            for where in combinations_with_replacement(names, 3):
                subscriptions = tuple((broker, "a") for broker in where)
                for flags in product((False, True), repeat=3):
                    unordered = frozenset(f"S{n}" for n, flag in enumerate(flags, 1) if flag)
                    yield SmallWorld(tree, publishers, subscriptions, change, unordered, is_read=True)


def _changes(
    names: list[str],
    publishers: tuple[tuple[str, str, str], ...],
    subscriptions: tuple[tuple[str, str], ...],
) -> Iterator[tuple[str, Input]]:
    for name in names:
        yield name, ("advertise", "P3", "a")
        yield name, ("subscribe", "S9", "a")
        yield name, ("crash",)
    yield publishers[0][0], ("unadvertise", "P1")
    yield subscriptions[0][0], ("unsubscribe", "S1")


KINDS_OF_WORLDS: Final = {
    "static": static_worlds,
    "changing": changing_worlds,
    "moving": moving_worlds,
    "stepping": stepping_worlds,
    "reading": reading_worlds,
}


def explore(worlds: list[SmallWorld]) -> list[tuple[SmallWorld, WorldFinding]]:
    """Explore some worlds, one after the other."""
    cores = Cores(Pairwise)
    return [(world, Exploration(world, cores).run()) for world in worlds]


def _pieces(worlds: Iterator[SmallWorld]) -> Iterator[list[SmallWorld]]:
    while piece := list(islice(worlds, PIECE)):
        yield piece


@click.command()
@click.option("--only", type=click.Choice(list(KINDS_OF_WORLDS)), help="Only worlds of this kind.")
@click.option("--every", type=click.IntRange(1), default=1, help="Explore one world in so many.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True)
def main(*, only: str | None, every: int, jobs: int) -> None:
    """Explore small worlds exhaustively; the exit status is 1 if one of them breaks a promise."""
    begun_s = time.monotonic()
    kinds = [only] if only else list(KINDS_OF_WORLDS)
    with worker_processes(jobs) as pool:
        for kind in kinds:
            count = states = 0
            worlds = KINDS_OF_WORLDS[kind]()
            for findings in pool.map(explore, _pieces(islice(worlds, 0, None, every))):
                for world, finding in findings:
                    count += 1
                    states += finding.states
                    if finding.wrong:
                        click.echo(f"{world}: {finding.wrong}")
                        sys.exit(1)
            click.echo(
                f"{count} {kind} worlds, {states} states, {time.monotonic() - begun_s:.0f} s: no violation"
            )


if __name__ == "__main__":
    main()
