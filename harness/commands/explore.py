"""`concord harness explore`: many schedules from one seed, and their results, as one JSON object."""

import sys
import time
from typing import Final

import click

from broker.commands.lines import to_json
from harness.commands.schedules import check_ordering, faults_and_depth, routing_or_default, schedule_options
from harness.explorer.campaign import CampaignSettings, Tally, run

PROGRESS_EVERY_S: Final = 5.0
"""Often enough to see that it goes on."""


class _Progress:
    """Prints progress on standard error, if the campaign takes long."""

    def __init__(self, schedules: int) -> None:
        self._schedules = schedules
        self._begun_s = self._last_s = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s >= PROGRESS_EVERY_S:
            self._last_s = now_s
            rate = tally.schedules / (now_s - self._begun_s)
            click.echo(
                f"{tally.schedules} of {self._schedules} schedules, {rate:.0f} a second, "
                f"{tally.violations} with violations",
                err=True,
            )


@click.command(
    "explore",
    epilog="Example: concord harness explore --schedules 10000 --seed 0 --faults crash --jobs 2",
)
@click.option(
    "--schedules", type=click.IntRange(1), default=1000, show_default=True, help="How many schedules."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The first schedule's seed; then upwards."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that share the work."
)
@click.option("--until-found", is_flag=True, help="Stop soon after the first violation.")
@click.option(
    "--reports", is_flag=True, help="Also count schedules without local total order, or without one sequence."
)
@schedule_options
def command(  # noqa: PLR0913 - one parameter per option
    *,
    schedules: int,
    seed: int,
    jobs: int,
    until_found: bool,
    reports: bool,
    faults: str | None,
    ordering: str,
    routing: str | None,
    options: dict[str, str],
    mutant: str | None,
    brokers: tuple[int, int],
    is_whole: bool,
) -> None:
    """Let seeded schedules happen on simulated brokers and judge each of them.

    Prints one JSON object. The exit status is 1 if a promise was broken, 0 if none was.
    """
    check_ordering(ordering, options)
    chosen, is_whole = faults_and_depth(faults, mutant, is_whole=is_whole)
    if reports and is_whole:
        raise click.UsageError(
            "--reports: only schedules of cores are reported on, and these are whole brokers'"
        )
    settings = CampaignSettings(
        schedules,
        seed,
        chosen,
        ordering,
        mutant,
        brokers,
        options,
        routing_or_default(routing, mutant, ordering),
        is_whole,
        reports,
    )
    tally = run(settings, jobs, _Progress(schedules), until_found=until_found)
    click.echo(to_json(tally.as_json()))
    sys.exit(1 if tally.violations else 0)
