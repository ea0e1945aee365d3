"""What the clients of one process share: what they are told, what they count, and where they write."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import trio
from attrs import define, field

from broker.trace import RowFiles
from harness.scenarios import Interests, Scenario, interests

__all__ = ["Crew", "Slowness", "is_ordered"]


@define(eq=False)
class Slowness:
    """How slowly a subscription is read at present; `per_second` is None if it is not slow."""

    per_second: float | None = None
    until_s: float = 0.0

    async def endure(self) -> None:
        """Take as long over a delivery as a slow program would."""
        if self.per_second is None:
            return
        left_s = self.until_s - trio.current_time()
        if left_s <= 0:
            self.per_second = None
        elif self.per_second > 0:
            await trio.sleep(min(left_s, 1 / self.per_second))
        else:
            await trio.sleep(left_s)


@define(eq=False)
class Crew:
    """The state of one process of clients. `started_s` is by Trio's clock, once `go` is set.

    `expected` counts the deliveries of what these clients published, or is None if that is not known at once.
    """

    scenario: Scenario
    addresses: Mapping[str, str]
    rows: RowFiles
    folder: Path
    go: trio.Event = field(factory=trio.Event)
    started_s: float = 0.0
    published: int = 0
    delivered: int = 0
    expected: int | None = 0
    gaps: int = 0
    publishing: int = 0
    slowness: dict[str, Slowness] = field(factory=dict)
    restarts: dict[str, list[int]] = field(factory=dict)
    ended: dict[str, str] = field(factory=dict)
    interests: Interests = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.interests = interests(self.scenario.filters, self.scenario.seed)

    def chance(self, *words: str) -> Random:
        """Return a source of chance that is the same in every run."""
        return Random("/".join((str(self.scenario.seed), *words)))  # noqa: S311 - repeatable, not secret


def is_ordered(seed: int, name: str, percent: float) -> bool:
    """Whether a subscription is one of those that ask for order."""
    chance = Random(f"{seed}/{name}/ordered")  # noqa: S311 - repeatable, not secret
    return chance.random() * 100 < percent
