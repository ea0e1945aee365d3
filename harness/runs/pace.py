"""When publications are due: seconds after the start, for each kind of rate."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from random import Random
from typing import Final

from harness.scenarios.scenario import Publishers

__all__ = ["due_times"]


def due_times(publishers: Publishers, random: Random) -> Iterator[float]:
    """Return when each publication of one publisher is due; publishers start at different moments."""
    return _RATES[publishers.rate](publishers, random)


def _steady(publishers: Publishers, random: Random) -> Iterator[float]:
    phase = random.random()
    for number in count():
        yield (number + phase) / publishers.per_second


def _random(publishers: Publishers, random: Random) -> Iterator[float]:
    due_s = 0.0
    while True:
        due_s += random.expovariate(publishers.per_second)
        yield due_s


def _bursts(publishers: Publishers, random: Random) -> Iterator[float]:
    phase = random.random()
    for number in count():
        for _ in range(publishers.burst):
            yield (number + phase) * publishers.burst / publishers.per_second


def _flood(publishers: Publishers, random: Random) -> Iterator[float]:
    del publishers, random
    while True:
        yield 0.0


_RATES: Final[Mapping[str, Callable[[Publishers, Random], Iterator[float]]]] = {
    "steady": _steady,
    "random": _random,
    "bursts": _bursts,
    "flood": _flood,
}
