"""`concord harness advised-moves`: what following `concord explain --advise` gains."""

import sys
from pathlib import Path

import click
import trio

from broker.advice import root_of
from harness.commands.reshaping_options import command_of, program_option, rate_option
from harness.reshaping.advised import run
from harness.reshaping.advising import CASES, AdvisedFigures, advised
from harness.reshaping.load import is_kept
from harness.results import filled, stamped
from harness.tables import Column, Table, number, plain, show, table


def _both(each: AdvisedFigures, name: str) -> str:
    """Return a figure before, after, and in the best tree."""
    found = (getattr(figures, name) for figures in (each.before, each.after, each.best))
    return " / ".join(plain(value, 2) for value in found)


_COLUMNS: tuple[Column[AdvisedFigures], ...] = (
    ("tree and load", lambda each: each.case.name),
    ("brokers", lambda each: str(len(each.case.uplinks))),
    ("steps", lambda each: str(len(each.advice.steps))),
    ("root", lambda each: root_of(each.advice.uplinks)),
    ("waits, links", lambda each: _both(each, "waited")),
    ("expected", lambda each: plain(each.advice.after.waited / each.advice.after.deliveries, 2)),
    ("travels, links", lambda each: _both(each, "travelled")),
)


@click.command("advised-moves", epilog="Example: concord harness advised-moves --out docs/results/moves.md")
@click.option(
    "--seconds", type=click.FloatRange(1), default=20.0, show_default=True, help="Of counting, twice."
)
@rate_option
@program_option
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The page to write the tables into."
)
def command(seconds: float, rate: float, program: str, out: Path | None) -> None:
    """Move brokers as `concord explain --advise` has it, and measure how long events wait before and after.

    First on the simulator's cores, in trees whose best one is known, then on nine real brokers under load.
    The exit status is 1 if an event was lost, repeated or out of order there, or a subscription got a gap.
    """
    simulated = table(_COLUMNS, [advised(case) for case in CASES])
    before, after, advice, verdict = trio.run(run, command_of(program), seconds, rate)
    rows = [(name, number(value), number(after[name])) for name, value in before.items()]
    real = Table(("nine brokers", "before", f"after {len(advice.steps)} moves"), rows)
    if out is None:
        show(simulated)
        show(real)
    else:
        page = out.read_text(encoding="utf-8")
        whole = filled(page, "advised", simulated.markdown())
        out.write_text(stamped(page, filled(whole, "advised-brokers", real.markdown())), encoding="utf-8")
    sys.exit(0 if is_kept(verdict) else 1)
