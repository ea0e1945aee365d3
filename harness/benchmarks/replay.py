"""What keeping the past costs every publication, and how fast it is replayed: cores alone, processor time.

    python -m harness.benchmarks.replay

Prints, for runs of several sizes, what the core takes for a publication with and without a cache; and what a
replay takes for an event that it looks at or delivers, asked for at the broker itself and one hop away.
"""

from collections.abc import Sequence
from time import process_time
from typing import TYPE_CHECKING, Final

import click

from broker.core import BrokerCore
from broker.filters import parse
from broker.messages import Publication
from broker.replay import Bounds, ReplayWindow
from broker.wire import encode_publication, publication_prefix
from harness.benchmarks.pair import Pair
from harness.tables import Table, show
from ordering.pairwise import Pairwise

if TYPE_CHECKING:
    from broker.filters.constraints import Value

PUBLISHER: Final = "alice@B1.k3f9/1"
COUNT: Final = 50_000
RUNS: Final = (1, 16, 64, 256)
REPEATS: Final = 5
US: Final = 1e6
BOUNDS: Final = Bounds(64 * 1024 * 1024, COUNT)


def _publications() -> list[Publication]:
    prefix, made = publication_prefix(PUBLISHER), []
    for number in range(1, COUNT + 1):
        event: dict[str, Value] = {"kind": "trade", "symbol": "IBM", "price": number * 0.5, "number": number}
        frame = encode_publication(prefix, number, number, event, b"", ordered=True)
        made.append(Publication(PUBLISHER, number, event, ordered=True, frame=frame, published_ns=number))
    return made


def _publishing_us(runs: Sequence[Sequence[Publication]], bounds: Bounds) -> float:
    core = BrokerCore("B1", Pairwise)
    core.bound_replays(bounds)
    core.advertise(PUBLISHER, parse("kind == 'trade'"))
    core.subscribe("S", parse("symbol == 'IBM' and price > 0"), ordered=True)
    core.take()
    begun_s = process_time()
    for run in runs:
        core.publish(PUBLISHER, run)
        core.take()
    return (process_time() - begun_s) / COUNT * US


def _kept(core: BrokerCore, publications: Sequence[Publication]) -> None:
    core.bound_replays(BOUNDS)
    core.advertise(PUBLISHER, parse("kind == 'trade'"))
    core.take()
    for start in range(0, COUNT, 64):
        core.publish(PUBLISHER, publications[start : start + 64])
    core.take()


def _replay_us(publications: Sequence[Publication], text: str, *, is_far: bool) -> tuple[float, int]:
    """The time of a replay for each stored event, and how many it delivers."""
    pair = Pair.joined()
    near, far = pair.upper, pair.lower
    _kept(near, publications)
    pair.settle()
    asker = far if is_far else near
    begun_s = process_time()
    asker.subscribe("S", parse(text), ordered=True, window=ReplayWindow(0, 0, BOUNDS.size_bytes))
    delivered = pair.settle()
    return (process_time() - begun_s) / COUNT * US, delivered


@click.command(epilog="Example: python -m harness.benchmarks.replay")
def command() -> None:
    """Measure the cost of retention for a publication, and the time of a replay."""
    publications = _publications()
    costs = []
    for size in RUNS:
        runs = [publications[start : start + size] for start in range(0, COUNT, size)]
        pairs = [(_publishing_us(runs, Bounds()), _publishing_us(runs, BOUNDS)) for _ in range(REPEATS)]
        without_us, with_us = (min(each) for each in zip(*pairs, strict=True))
        costs.append((f"{size}", f"{without_us:.2f}", f"{with_us:.2f}"))
    show(Table(("published at a time", "us without a cache", "us with one"), costs, words=0))
    replays = []
    for text in ("True", "price > 20000", "symbol == 'SAP'"):
        for is_far in (False, True):
            took_us, delivered = _replay_us(publications, text, is_far=is_far)
            where = "one hop away" if is_far else "here"
            replays.append((text, where, f"{took_us:.2f}", f"{delivered}"))
    click.echo()
    show(Table(("replay of", "kept", "us per event kept", "delivered"), replays, words=2))


if __name__ == "__main__":
    command()
