"""A day of trading: made up from a seed, or read from a CSV file; and what an exchange publishes of it.

    python -m examples.ticker.day --seed 7 > day.csv

writes one that `concord demo ticker --csv day.csv` feeds. Columns: `at_s` (since the bell), `exchange`,
`kind` (trade or quote), `symbol`, `price`, `size`, `bid`, `ask`.

A made-up day has what matters for those who watch it: most happens near the open and the close, prices of one
symbol at several exchanges follow each other closely and never quite, sizes are many small and few large, and
quotes narrow and widen.
"""

import csv
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, cast

import click
import trio
from attrs import asdict, evolve, fields, frozen

from concord import ConcordError, Publisher
from examples.ticker.investor import PriceTick

DAY_S: Final = 8.5 * 3600
EXCHANGES: Final = ("FRA", "NYC", "SIN")
OPENING: Final = {"ASML": 702.0, "SAP": 248.0, "SIE": 187.4, "IBM": 101.5, "NOVO": 61.2, "RIO": 44.8}

TICKS: Final = 2400
"""Of a made-up day; played in a minute that is forty a second, which is fast and can still be followed."""

VOLATILITY: Final = 0.018
"""Of a day's prices: a lively day of a large company."""

APART: Final = 0.0006
"""How far exchanges are from each other, typically."""

CENTS: Final = 2
QUOTE_SHARE: Final = 0.4


@frozen
class Moment:
    """A tick, and its time in seconds since the bell."""

    at_s: float
    tick: PriceTick


def made(seed: int, count: int = TICKS) -> list[Moment]:
    """A day drawn from a seed."""
    random = Random(seed)  # noqa: S311 - made-up prices
    middle = dict(OPENING)
    step = VOLATILITY * math.sqrt(len(middle) / count)
    moments = []
    for at_s in sorted(DAY_S * random.betavariate(0.65, 0.75) for _ in range(count)):
        symbol = random.choice(list(middle))
        middle[symbol] *= math.exp(random.gauss(0, step))
        price = middle[symbol] * math.exp(random.gauss(0, APART))
        moments.append(Moment(round(at_s, 3), _tick(random, symbol, price)))
    return moments


def _tick(random: Random, symbol: str, price: float) -> PriceTick:
    size = 10 * max(1, round(random.lognormvariate(2.6, 1.0)))
    tick = PriceTick(
        kind="trade", exchange=random.choice(EXCHANGES), symbol=symbol, price=round(price, CENTS), size=size
    )
    if random.random() > QUOTE_SHARE:
        return tick
    half = price * 0.0004 * random.lognormvariate(0, 0.4)
    bid, ask = round(price - half, CENTS), round(price + half, CENTS)
    return evolve(tick, kind="quote", bid=bid, ask=ask, price=round((bid + ask) / 2, CENTS + 1))


_COLUMNS: Final = {each.name: each.type for each in fields(PriceTick) if each.name != "day"}


def write(moments: Iterable[Moment], lines: Any) -> None:
    """As CSV, with a header."""
    writer = csv.DictWriter(lines, ["at_s", *_COLUMNS], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for moment in moments:
        writer.writerow({"at_s": moment.at_s, **asdict(moment.tick)})


def read(path: Path) -> list[Moment]:
    """Return a day from a CSV file, in order of time; raise `ConcordError` for a line that cannot be read."""
    with path.open(newline="", encoding="utf-8") as lines:
        return sorted(_moments(path, csv.DictReader(lines)), key=lambda moment: moment.at_s)


def _moments(path: Path, rows: "csv.DictReader[str]") -> Iterator[Moment]:
    for row in rows:
        try:
            values = {name: cast("Any", kind)(row[name]) for name, kind in _COLUMNS.items()}
            moment = Moment(float(row["at_s"]), PriceTick(**values))
        except (KeyError, TypeError, ValueError) as error:
            raise ConcordError(
                f"{path}, line {rows.line_num}: {error}; expected at_s, {', '.join(_COLUMNS)}"
            ) from None
        if moment.tick.kind not in {"trade", "quote"}:
            raise ConcordError(
                f"{path}, line {rows.line_num}: kind is trade or quote, not {moment.tick.kind!r}"
            )
        yield moment


async def publish(publisher: Publisher, moments: Iterable[Moment], day_s: float) -> None:
    """Publish one exchange's part of a day, which takes so many seconds."""
    began_s = trio.current_time()
    for moment in moments:
        await trio.sleep_until(began_s + moment.at_s / DAY_S * day_s)
        said = {name: value for name, value in asdict(moment.tick).items() if value or name == "size"}
        await publisher.publish(said)


@click.command(epilog="Example: python -m examples.ticker.day --seed 7 > day.csv")
@click.option("--seed", default=0, show_default=True, help="What the day is drawn from.")
@click.option("--ticks", default=TICKS, show_default=True, help="How many trades and quotes.")
def command(seed: int, ticks: int) -> None:
    """Write a made-up day of trading as CSV."""
    write(made(seed, ticks), sys.stdout)


if __name__ == "__main__":
    command()
