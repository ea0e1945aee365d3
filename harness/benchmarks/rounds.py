"""The measurements end to end: scenarios, rounds of them, and medians.

Every command that measures whole overlays has the options `--repeat`, `--quick` and `--only` from here.
"""

import os
import platform
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from typing import Final, TypeVar

import attrs
import click
import trio


@attrs.frozen
class BenchmarkScenario:
    """A chain of brokers with publishers at its first broker and subscribers at its last.

    If `is_star`, all brokers but the first have that as their uplink. If `is_spread`, publishers and
    subscribers are dealt out to all brokers in turn: then whatever is below a root is exposed.

    Everything published matches every subscription, so each event is delivered `subscribers` times. Clients
    of one kind share `publisher_processes` or `subscriber_processes` processes: on a machine with two cores
    more processes only take turns. Fifty subscribers get two, since reading for fifty is more than a core's
    work.
    """

    name: str
    brokers: int
    publishers: int
    subscribers: int
    publisher_processes: int = 1
    subscriber_processes: int = 1
    is_star: bool = False
    is_spread: bool = False

    def uplinks(self) -> dict[str, str | None]:
        """Name each broker's uplink, in an order in which they can be started."""
        names = [f"B{number}" for number in range(1, self.brokers + 1)]
        above = [None, *(names[:1] * self.brokers if self.is_star else names)]
        return dict(zip(names, above, strict=False))


SCENARIOS: Final = (
    BenchmarkScenario("1 broker, 1 x 1", 1, 1, 1),
    BenchmarkScenario("1 broker, 4 x 4", 1, 4, 4),
    BenchmarkScenario("1 broker, 10 x 50", 1, 10, 50, subscriber_processes=2),
    BenchmarkScenario("5 brokers, 1 x 1", 5, 1, 1),
    BenchmarkScenario("5 brokers, 4 x 4", 5, 4, 4),
)

ORDER_SCENARIOS: Final = (
    BenchmarkScenario("1 broker, 4 x 4, nothing exposed", 1, 4, 4),
    BenchmarkScenario("5 brokers, 4 x 4, nothing exposed", 5, 4, 4),
    BenchmarkScenario("5 brokers, 5 x 5 spread, exposed", 5, 5, 5, is_spread=True),
    BenchmarkScenario("3 brokers, 4 x 4 spread, exposed", 3, 4, 4, is_star=True, is_spread=True),
)
"""Where order may cost something, and where it should not."""


@attrs.frozen
class RoundTiming:
    """How long to look, and how often."""

    repeat: int
    warm_up_s: float
    measure_s: float
    rate_per_s: float = 500.0
    """Events per second, over all publishers, while latency is measured: light load."""


THOROUGH: Final = RoundTiming(repeat=3, warm_up_s=1.0, measure_s=3.0)
QUICK: Final = RoundTiming(repeat=1, warm_up_s=0.5, measure_s=1.0)

_Command = TypeVar("_Command", bound=Callable[..., object])
_Result = TypeVar("_Result")


def round_options(command: _Command) -> _Command:
    """Give a command the options that say what is measured, and how often."""
    for option in (
        click.option("--only", metavar="TEXT", default="", help="Only scenarios with this in their names."),
        click.option("--quick", is_flag=True, help="One short run."),
        click.option(
            "--repeat", type=click.IntRange(min=1), help="Runs to take the medians of.  [default: 3]"
        ),
    ):
        command = option(command)
    return command


def chosen(
    scenarios: Sequence[BenchmarkScenario], repeat: int | None, only: str, *, quick: bool
) -> tuple[list[BenchmarkScenario], RoundTiming]:
    """Return what those options ask for.

    Raises:
        click.UsageError: no scenario has that name; says which there are.
    """
    found = [scenario for scenario in scenarios if only in scenario.name]
    if not found:
        known = "; ".join(scenario.name for scenario in scenarios)
        raise click.UsageError(f"no scenario has {only!r} in its name; there are: {known}")
    timing = QUICK if quick else THOROUGH
    return found, timing if repeat is None else attrs.evolve(timing, repeat=repeat)


async def measured(
    measure: Callable[[BenchmarkScenario, RoundTiming], Awaitable[_Result]],
    scenarios: Sequence[BenchmarkScenario],
    timing: RoundTiming,
) -> list[_Result]:
    """Measure whole rounds, so that a slow minute of the machine does not hit all runs of one scenario."""
    rounds = []
    for number in range(1, timing.repeat + 1):
        results = []
        for scenario in scenarios:
            click.echo(f"run {number} of {timing.repeat}: {scenario.name}", err=True)
            results.append(await measure(scenario, timing))
        rounds.append(results)
    return [middle_of(runs) for runs in zip(*rounds, strict=True)]


def middle_of(results: Sequence[_Result]) -> _Result:
    """The median of repeated runs of one scenario, figure by figure."""
    result = _middle(results)
    assert isinstance(result, type(results[0]))
    return result


def _middle(values: Sequence[object]) -> object:
    kind = type(values[0])
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
        return kind(**{name: _middle([getattr(value, name) for value in values]) for name in names})
    figures = [value for value in values if isinstance(value, int | float)]
    return median(figures) if figures else values[0]


def machine() -> str:
    """Return the machine of the measurement."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, Trio {trio.__version__}"
    )
