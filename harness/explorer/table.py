"""How soon the explorer finds each broken rule, as the table of `docs/explanation/order.md`.

    python -m harness.explorer.table [--seeds N] [--within-s S]

Every mutant is searched from several seeds, far apart, on one processor. A cell has the number of schedules
that it took, the last column the processor time of the slowest search. The exit status is 1 if one needed too
much.
"""

import sys
import time
from typing import Final

import click
from attrs import frozen

from harness.explorer.campaign import CampaignSettings, run
from harness.explorer.mutants import MUTANTS

APART: Final = 1_000_000
"""From one first seed to the next: no campaign in the table reaches another's seeds."""

PIECE: Final = 200
"""Schedules between two looks at the clock."""


@frozen
class MutantSearch:
    """How many schedules it took to find a mutant, and how long; 0 schedules if it was not found."""

    schedules: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.schedules:,}" if self.schedules else "not found"


def search(name: str, seed: int, within_s: float) -> MutantSearch:
    """Explore from a seed until the mutant is found, or the processor time is over."""
    begun_s = time.process_time()
    start = seed
    while time.process_time() - begun_s < within_s:
        mutant = MUTANTS[name]
        settings = CampaignSettings(
            PIECE, start, mutant.faults, "pairwise", name, routing=mutant.routing, is_whole=mutant.is_whole
        )
        tally = run(settings, until_found=True)
        if tally.first:
            return MutantSearch(int(str(tally.first["seed"])) - seed + 1, time.process_time() - begun_s)
        start += PIECE
    return MutantSearch(0, time.process_time() - begun_s)


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="First seeds to try.")
@click.option("--within-s", type=float, default=60.0, show_default=True, help="Seconds for one search.")
def main(*, seeds: int, within_s: float) -> None:
    """Look for every mutant and print the table."""
    firsts = [number * APART for number in range(seeds)]
    click.echo(
        f"| rule | mutant | faults | {' | '.join(f'from seed {first:,}' for first in firsts)} | slowest |"
    )
    click.echo("|---" * (seeds + 4) + "|")
    is_complete = True
    for name, mutant in sorted(MUTANTS.items(), key=lambda item: item[1].rule):
        found = [search(name, first, within_s) for first in firsts]
        is_complete &= all(each.schedules for each in found)
        slowest = max(each.seconds for each in found)
        cells = " | ".join(map(str, found))
        click.echo(f"| {mutant.rule} | `{name}` | {mutant.faults} | {cells} | {slowest:.1f} s |")
    sys.exit(0 if is_complete else 1)


if __name__ == "__main__":
    main()
