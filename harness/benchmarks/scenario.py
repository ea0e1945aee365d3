"""What is measured: how many brokers, and where publishers and subscribers are."""

from typing import Final

import attrs

__all__ = ["ORDER_SCENARIOS", "QUICK", "SCENARIOS", "THOROUGH", "Scenario", "Timing"]


@attrs.frozen
class Scenario:
    """A chain of brokers with publishers at its first broker and subscribers at its last.

    If `is_star`, all brokers but the first have that as their uplink. If `is_spread`, publishers and
    subscribers are dealt out to all brokers in turn: then whatever is below a top is exposed.

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
    Scenario("1 broker, 1 x 1", 1, 1, 1),
    Scenario("1 broker, 4 x 4", 1, 4, 4),
    Scenario("1 broker, 10 x 50", 1, 10, 50, subscriber_processes=2),
    Scenario("5 brokers, 1 x 1", 5, 1, 1),
    Scenario("5 brokers, 4 x 4", 5, 4, 4),
)


ORDER_SCENARIOS: Final = (
    Scenario("1 broker, 4 x 4, nothing exposed", 1, 4, 4),
    Scenario("5 brokers, 4 x 4, nothing exposed", 5, 4, 4),
    Scenario("5 brokers, 5 x 5 spread, exposed", 5, 5, 5, is_spread=True),
    Scenario("3 brokers, 4 x 4 spread, exposed", 3, 4, 4, is_star=True, is_spread=True),
)
"""Where order may cost something, and where it should not."""


@attrs.frozen
class Timing:
    """How long to look, and how often."""

    repeat: int
    warm_up_s: float
    measure_s: float
    rate_per_s: float = 500.0
    """Events per second, over all publishers, while latency is measured: light load."""


THOROUGH: Final = Timing(repeat=3, warm_up_s=1.0, measure_s=3.0)
QUICK: Final = Timing(repeat=1, warm_up_s=0.5, measure_s=1.0)
