"""Leases measured: how soon corrupted tables are right again, and what saying everything again costs.

    python -m harness.benchmarks.leases --seeds 200

Recovery is that of simulated worlds with clocks, for each routing strategy. The cost is that of one turn,
in processor time: a broker with so many local subscriptions says again what it has told its neighbour,
which compares it with what it knows; and the bytes on the link.
"""

from statistics import median
from time import process_time
from typing import Final

import click

from broker.core import BrokerCore
from broker.filters import parse as filter_of
from broker.messages import LeaseRenewed, LinkMessage
from broker.routing import parse
from broker.station.inputs import frame_of
from harness.simulator.recovery import recover
from ordering.pairwise import Pairwise

ROUTINGS: Final = ("simple", "identity", "covering", "merging")
RECOVERING: Final = ("simple", "identity", "covering")
"""Those that ask for nothing but what is wanted, so that tables can be compared exactly."""

SIZES: Final = (1_000, 10_000)


@click.command(epilog="Example: python -m harness.benchmarks.leases --seeds 200")
@click.option("--seeds", default=100, show_default=True, help="Worlds for each strategy.")
def command(seeds: int) -> None:
    """Print what recovery takes, and what refreshing costs."""
    click.echo(
        "| routing | worlds | corruptions | wrong after the bound | median s | longest s | of its bound |"
    )
    click.echo("|---|---|---|---|---|---|---|")
    for name in RECOVERING:
        click.echo(_recovery(name, seeds))
    click.echo("")
    click.echo("| routing | subscriptions | saying again, ms | hearing it, ms | bytes on the link |")
    click.echo("|---|---|---|---|---|")
    for name in ROUTINGS:
        for size in SIZES:
            click.echo(_cost(name, size))


def _recovery(name: str, seeds: int) -> str:
    worlds = [recover(seed, Pairwise, parse(name)) for seed in range(seeds)]
    wrong = sum(1 for each in worlds if each.faults)
    corruptions = sum(len(each.corruptions) for each in worlds)
    longest = max(worlds, key=lambda each: each.took_s / each.bound_s)
    share = longest.took_s / longest.bound_s
    typical_s = median(each.took_s for each in worlds)
    longest_s = max(each.took_s for each in worlds)
    return f"| {name} | {seeds} | {corruptions} | {wrong} | {typical_s:.1f} | {longest_s:.1f} | {share:.0%} |"


def _cost(name: str, size: int) -> str:
    """Let A tell B of many subscriptions, and say it again."""
    one, other = (BrokerCore(each, Pairwise, routing=parse(name)) for each in "AB")
    at_other, at_one = other.open_link("A", uplink=False), one.open_link("B", uplink=True)

    def talk() -> list[LinkMessage]:
        said: list[LinkMessage] = []
        while True:
            ours = [m for hop, messages in one.take().outgoing if hop is at_one for m in messages]
            theirs = [m for hop, messages in other.take().outgoing if hop is at_other for m in messages]
            if not ours and not theirs:
                return said
            said += ours
            if ours:
                other.receive(at_other, ours)
            if theirs:
                one.receive(at_one, theirs)

    talk()
    other.advertise("p", filter_of("True"))
    for number in range(size):
        one.subscribe(
            f"s{number}", filter_of(f"symbol == 'S{number}' and price > {number % 97}"), ordered=True
        )
    talk()
    begun_s = process_time()
    one.refresh()
    said_s = process_time() - begun_s
    said = [m for _, messages in one.take().outgoing for m in messages]
    begun_s = process_time()
    other.receive(at_other, said)
    heard_s = process_time() - begun_s
    assert [type(each) for each in said] == [LeaseRenewed]
    assert not other.leases.mended, "nothing was corrupted"
    size_bytes = sum(len(frame_of(each)) for each in said)
    return f"| {name} | {size:,} | {said_s * 1000:.0f} | {heard_s * 1000:.0f} | {size_bytes} |"


if __name__ == "__main__":
    command()
