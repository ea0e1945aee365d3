"""Leases measured: how soon corrupted tables are right again, and what renewing costs.

    python -m harness.benchmarks.leases --seeds 200

Recovery is that of simulated worlds with clocks, for each routing strategy. The cost is that of one turn,
in processor time: a broker with so many local subscriptions renews what it has announced to its neighbour,
which compares it with what it knows; and the bytes on the link.
"""

from collections.abc import Sequence
from statistics import median
from time import process_time
from typing import Final

import click

from broker.filters import parse as filter_of
from broker.messages import LeaseRenewed
from broker.routing import parse
from broker.station.inputs import frame_of
from harness.benchmarks.pair import Pair
from harness.simulator.recovery import recover
from harness.tables import Table, show
from ordering.pairwise import Pairwise

ROUTINGS: Final = ("simple", "identity", "covering", "merging")

SIZES: Final = (1_000, 10_000)


RECOVERY: Final = (
    "routing",
    "worlds",
    "corruptions",
    "wrong after the bound",
    "median s",
    "longest s",
    "of its bound",
)
COST: Final = ("routing", "subscriptions", "renewing, ms", "comparing, ms", "bytes on the link")


@click.command(epilog="Example: python -m harness.benchmarks.leases --seeds 200")
@click.option("--seeds", default=100, show_default=True, help="Worlds for each strategy.")
def command(seeds: int) -> None:
    """Measure the duration of recovery, and the cost of renewing leases."""
    show(Table(RECOVERY, [_recovery(name, seeds) for name in ROUTINGS]))
    click.echo()
    show(Table(COST, [_cost(name, size) for name in ROUTINGS for size in SIZES]))


def _recovery(name: str, seeds: int) -> Sequence[str]:
    worlds = [recover(seed, Pairwise, parse(name)) for seed in range(seeds)]
    wrong = sum(1 for each in worlds if each.faults)
    corruptions = sum(len(each.corruptions) for each in worlds)
    longest = max(worlds, key=lambda each: each.took_s / each.bound_s)
    share = longest.took_s / longest.bound_s
    typical_s = median(each.took_s for each in worlds)
    longest_s = max(each.took_s for each in worlds)
    counts = (f"{seeds}", f"{corruptions}", f"{wrong}")
    return name, *counts, f"{typical_s:.1f}", f"{longest_s:.1f}", f"{share:.0%}"


def _cost(name: str, size: int) -> Sequence[str]:
    """Let a broker announce many subscriptions to the one above it, and renew them."""
    pair = Pair.joined(parse(name))
    one, other = pair.lower, pair.upper
    other.advertise("p", filter_of("True"))
    for number in range(size):
        one.subscribe(
            f"s{number}", filter_of(f"symbol == 'S{number}' and price > {number % 97}"), ordered=True
        )
    pair.settle()
    begun_s = process_time()
    one.refresh()
    said_s = process_time() - begun_s
    said = [m for _, messages in one.take().outgoing for m in messages]
    begun_s = process_time()
    other.receive(pair.down, said)
    received_s = process_time() - begun_s
    assert [type(each) for each in said] == [LeaseRenewed]
    assert not other.leases.repaired, "nothing was corrupted"
    size_bytes = sum(len(frame_of(each)) for each in said)
    return name, f"{size:,}", f"{said_s * 1000:.0f}", f"{received_s * 1000:.0f}", f"{size_bytes}"


if __name__ == "__main__":
    command()
