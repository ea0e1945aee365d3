"""What each ordering plugin costs on the same workload: `python -m harness.benchmarks.costs`.

The workload is the explorer's calm schedules: trees of 2 to 6 brokers, a few publishers and subscribers,
messages that arrive in random order. Everything but detection is counted, so it depends on the seeds alone.
"Deferred for" is counted in messages that arrived anywhere meanwhile: a simulation has no seconds.
"""

from collections.abc import Mapping, Sequence
from time import process_time_ns
from typing import Final

import click
from attrs import define, frozen

from harness.simulator.outcome import of_seed
from harness.tables import show, shown, table_of
from ordering.interface import OrderingFactory
from ordering.plugins import load
from ordering.published.plugin import FORMS
from ordering.watched import Watch

SCHEDULES: Final = 1_000
BROKERS: Final = (2, 6)

PLUGINS: Final[Mapping[str, OrderingFactory]] = {
    "fifo": load("fifo"),
    "pairwise": load("pairwise"),
    "sequencer": load("sequencer"),
    **{f"published {form}": load("published", {"form": form}) for form in FORMS},
}

NS_PER_US: Final = 1_000


@frozen
class CostRow:
    """One plugin. Counts are per publication."""

    plugin: str = shown("plugin")
    disagreements_percent: float = shown("schedules out of order", ".1f", "%")
    requests: float = shown("requests", ".2f")
    acknowledgements: float = shown("acknowledgements", ".2f")
    deferred: float = shown("deferred", ".2f")
    deferred_mean: float = shown("for (mean)", ".1f")
    deferred_max: int = shown("(longest)")
    waiting_max: int = shown("longest queue")
    metadata_bytes: float = shown("metadata bytes", ".1f")
    detection_us: float = shown("detection us", ".1f")


@define
class _Arrivals:
    """The simulation's clock: messages that arrived."""

    count: int = 0

    def watch(self, place: str, text: str) -> None:
        del place
        self.count += text.startswith("<")

    def now(self) -> int:
        return self.count


def run(schedules: int = SCHEDULES) -> list[CostRow]:
    """Let the same seeds happen with every plugin."""
    return [_row(name, factory, range(schedules)) for name, factory in PLUGINS.items()]


def _row(name: str, factory: OrderingFactory, seeds: Sequence[int]) -> CostRow:
    arrivals = _Arrivals()
    watch = Watch(process_time_ns, arrivals.now)
    publications = disagreements = 0
    for seed in seeds:
        outcome = of_seed(seed, "none", BROKERS, watch.over(factory), arrivals.watch)
        publications += len(outcome.world.record.publications)
        disagreements += outcome.has("pairwise")
    measures = watch.measures()
    return CostRow(
        name,
        100 * disagreements / len(seeds),
        measures.requests / publications,
        measures.acknowledgements / publications,
        watch.deferrals / publications,
        watch.deferral_total / max(1, watch.deferrals),
        watch.deferral_max,
        watch.waiting_max,
        measures.metadata_bytes / publications,
        watch.detection_total / watch.detections / NS_PER_US,
    )


@click.command(epilog="Example: python -m harness.benchmarks.costs")
def command() -> None:
    """Measure the cost of each ordering plugin per publication."""
    click.echo("What each ordering plugin costs per publication, in simulated overlays of 2 to 6 brokers.\n")
    show(table_of(run()))


if __name__ == "__main__":
    command()
