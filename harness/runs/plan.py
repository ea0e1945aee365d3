"""Who is where, and when: from a scenario to brokers with ports, links, clients dealt out to processes.

When the publications of a publisher are due follows from the kind of its rate, in seconds after the start.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Final

import attrs

from harness.processes import ProcessError
from harness.scenarios import Scenario, edges, fallbacks, uplinks
from harness.scenarios.scenario import Publishers

HOST: Final = "127.0.0.1"

PORTS: Final = range(10_000, 32_000)
"""Below the ports that systems give to connecting clients: a client that dials a dead broker's port could
otherwise be given that very port, and be connected to itself."""

ATTEMPTS: Final = 1000
"""Ports tried per broker before giving up."""


@attrs.frozen
class Seat:
    """One client's place: its name, its broker, the broker's place among those with clients, what it does.

    A publisher has its own name as its only role; a subscriber's connection carries several subscriptions.
    """

    name: str
    broker: str
    place: int
    roles: tuple[str, ...]


@attrs.frozen
class Job:
    """The job of one process of clients."""

    number: int
    role: str
    seats: tuple[Seat, ...]

    @property
    def name(self) -> str:
        """The name of the process in errors."""
        return f"{self.role}s-{self.number}"


@attrs.frozen
class Plan:
    """Everything that is decided before anything is started."""

    scenario: Scenario
    uplinks: Mapping[str, str | None]
    ports: Mapping[str, int]
    jobs: tuple[Job, ...]

    def address(self, broker: str) -> str:
        """Return where a broker listens."""
        return f"{HOST}:{self.ports[broker]}"

    def fallbacks(self, broker: str) -> list[str]:
        """Name the brokers that one may fall back to."""
        return fallbacks(self.uplinks, broker, self.scenario.overlay.fallbacks)

    @property
    def top(self) -> str:
        """The broker without an uplink."""
        return next(name for name, above in self.uplinks.items() if above is None)

    @property
    def seats(self) -> Mapping[str, Seat]:
        """Every client by each of its names."""
        return {name: seat for job in self.jobs for seat in job.seats for name in (seat.name, *seat.roles)}


def plan_of(scenario: Scenario) -> Plan:
    """Decide everything."""
    above = uplinks(scenario.overlay, scenario.seed, "scenario")
    publishers, subscribers = list(publisher_seats(scenario)), list(subscriber_seats(scenario))
    size = scenario.clients.per_process
    jobs = [Job(number, "publisher", seats) for number, seats in enumerate(_cut(publishers, size), 1)]
    jobs += [Job(number, "subscriber", seats) for number, seats in enumerate(_cut(subscribers, size), 1)]
    return Plan(scenario, above, dict(zip(above, free_ports(len(above)), strict=True)), tuple(jobs))


def _places(scenario: Scenario, chosen: Sequence[str]) -> Sequence[str]:
    return chosen or edges(uplinks(scenario.overlay, scenario.seed, "scenario"))


def publisher_seats(scenario: Scenario) -> Iterator[Seat]:
    """Deal publishers out to brokers in turn."""
    places = _places(scenario, scenario.publishers.at)
    for number in range(scenario.publishers.count):
        place, name = number % len(places), f"pub-{number + 1}"
        yield Seat(name, places[place], place, (name,))


def subscriber_seats(scenario: Scenario) -> Iterator[Seat]:
    """Deal subscriptions out to brokers in turn, then those of one broker to connections."""
    places = _places(scenario, scenario.subscribers.at)
    size = scenario.subscribers.per_connection
    for place, broker in enumerate(places):
        here = [f"sub-{number + 1}" for number in range(place, scenario.subscribers.count, len(places))]
        for start in range(0, len(here), size):
            roles = tuple(here[start : start + size])
            name = roles[0] if size == 1 else f"subs-{broker}-{start // size + 1}"
            yield Seat(name, broker, place, roles)


def _cut(seats: Sequence[Seat], size: int) -> Iterator[tuple[Seat, ...]]:
    """Cut into as few processes as there must be, of about the same size."""
    count = -(-len(seats) // size)
    for number in range(count):
        yield tuple(seats[number::count])


def free_ports(count: int) -> list[int]:
    """Return ports that are free."""
    random = Random(f"{os.getpid()}/{os.urandom(8).hex()}")  # noqa: S311 - spreads runs over ports, hides nothing
    found: set[int] = set()
    for _ in range(ATTEMPTS * count):
        if len(found) == count:
            return sorted(found)
        port = random.choice(PORTS)
        if port not in found and _is_free(port):
            found.add(port)
    raise ProcessError(f"found no {count} free ports between {PORTS.start} and {PORTS.stop}")


def _is_free(port: int) -> bool:
    with socket.socket() as attempt:
        try:
            attempt.bind((HOST, port))
        except OSError:
            return False
        return True


def stream_name(subscription: str, restarts: int) -> str:
    """Name what a subscription is delivered after its stream has begun anew so many times."""
    return f"{subscription}#{restarts + 1}" if restarts else subscription


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
