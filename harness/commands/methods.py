"""`concord harness methods`: what moves cost step by step, and by detaching, on the simulator's cores."""

from pathlib import Path
from statistics import fmean
from typing import Final

import click
from attrs import evolve

from harness.reshaping.methods import METHODS, MoveCase, MoveCost, costs
from harness.results import filled, stamped
from harness.tables import Table

SIZES: Final = (10, 30, 100)
LINKS: Final = (1, 2, 4, 6)
DENSITIES: Final = (0.05, 0.3, 0.8)
CHURNS: Final = (0.0, 0.2)

USUAL: Final = MoveCase(30, 2, 0.3, 0.0)
"""What stays while one of the four changes."""

LONG: Final = evolve(USUAL, brokers=16, links=6)
"""A long way in a small tree."""

COUNTED: Final = ("messages", "touched", "changes", "late", "late_by", "gaps")

HEAD: Final = ("brokers", "links", "density", "churn", *COUNTED, "fewer messages")


def cases() -> list[MoveCase]:
    """Return the usual case with one thing changed at a time, and a long way in a small tree."""
    found = [
        USUAL,
        *(evolve(USUAL, brokers=each) for each in SIZES),
        *(evolve(USUAL, links=each) for each in LINKS),
        *(evolve(USUAL, density=each) for each in DENSITIES),
        *(evolve(USUAL, churn=each) for each in CHURNS),
        LONG,
    ]
    return list(dict.fromkeys(found))


def _figure(name: str, both: dict[str, list[MoveCost]]) -> str:
    """Return the means of one figure, of the path and of detaching."""
    return " / ".join(f"{fmean(getattr(each, name) for each in both[method]):.0f}" for method in METHODS)


def compared(seeds: int) -> Table:
    """Return a table with a line for each case: each figure by both methods, and who sends less."""
    found: dict[MoveCase, dict[str, list[MoveCost]]] = {}
    for case, method, measured in costs(cases(), seeds):
        found.setdefault(case, {})[method] = measured
    rows = []
    for case, both in found.items():
        means = [fmean(each.messages for each in both[method]) for method in METHODS]
        facts = (str(case.brokers), str(case.links), f"{case.density:g}", f"{case.churn:g}")
        winner = METHODS[means.index(min(means))]
        rows.append((*facts, *(_figure(name, both) for name in COUNTED), winner))
    return Table(HEAD, rows, 0)


@click.command("methods", epilog="Example: concord harness methods --seeds 20 --out docs/results/moves.md")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Worlds of each case.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The page to write the table into."
)
def command(seeds: int, out: Path | None) -> None:
    """Compare moves step by step with detaching and attaching again, in trees of 10 to 100 brokers.

    Counts messages, brokers whose tables change and how often, late events and gaps: those of the path first.
    """
    table = compared(seeds)
    if out is None:
        click.echo(table.text())
        return
    before = out.read_text(encoding="utf-8")
    out.write_text(stamped(before, filled(before, "methods", table.markdown())), encoding="utf-8")
