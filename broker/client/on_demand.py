"""Producers on demand: one for each value of an attribute that subscriptions name.

Laws:

* A producer runs while its value is wanted and for a while after that, never twice at a time.
* Values follow from the interest as the client knows it: over a broken connection producers go on, and the
  list that comes behind it decides.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, Protocol, cast

from attrs import define, field

from broker.client.driver import Driver, Shell
from broker.client.interest_changes import InterestChanges
from broker.client.linger import Linger
from broker.client.outbox import Outbox
from broker.filters import Conjunction, Filter
from broker.filters.conjunctions import intersection
from broker.filters.constraints import NumberSet, TextSet, Truths
from broker.filters.limits import COMPARING_STEPS, OverBudgetError, Steps
from broker.filters.values import Scalar

Work = Callable[[], Awaitable[object]]
Make = Callable[[Scalar | None], Awaitable[object]]

ValueKey = tuple[type, Scalar | None]
"""A value with its type: `1` and `True` are two values."""

_OPEN: Final[ValueKey] = (type(None), None)


class CrewShell(Shell, Protocol):
    """A shell of a loop, where work can run beside other work."""

    def crew(self) -> AbstractAsyncContextManager[Callable[[Work], object]]:
        """Give a function that starts work beside the block; what one raises ends all and is raised there."""
        ...


def named_values(key: str, advertised: Filter, interests: Iterable[Filter]) -> dict[ValueKey, None]:
    """Return the values of an attribute that these filters and the advertisement both name.

    That of None is there too if a filter leaves the value open, within what is advertised.
    """
    found: dict[ValueKey, None] = {}
    for interest in interests:
        for asked in interest.conjunctions:
            for offered in advertised.conjunctions:
                found.update(dict.fromkeys(_values_of_both(key, asked, offered)))
    return found


def _values_of_both(key: str, asked: Conjunction, offered: Conjunction) -> Iterable[ValueKey]:
    try:
        both = intersection(dict(asked), dict(offered), Steps(COMPARING_STEPS))
    except OverBudgetError:
        both = dict(asked)
    if both is None:
        return ()
    named = both.get(key)
    if isinstance(named, NumberSet | TextSet | Truths):
        return tuple((type(each), each) for each in sorted(named.values))
    return (_OPEN,)


@define(eq=False)
class OnDemand:
    """The producers of one publisher. `run` runs them for ever."""

    _outbox: Outbox
    _driver: Driver
    _key: str
    _make: Make
    _linger_s: float
    _changes: InterestChanges = field(init=False)
    _wanted: dict[ValueKey, None] = field(factory=dict, init=False)
    _running: set[ValueKey] = field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        self._changes = InterestChanges(self._outbox, self._driver)

    @property
    def _is_over(self) -> bool:
        return self._outbox.is_over or self._driver.machine.failure is not None

    async def run(self) -> None:
        """Start and stop producers as interest comes and goes, until the publisher ends."""
        async with cast("CrewShell", self._driver.shell).crew() as start:
            async for _ in self._changes:
                self._wanted = named_values(self._key, self._outbox.filter, self._changes.present.values())
                for value in [each for each in self._wanted if each not in self._running]:
                    self._running.add(value)
                    start(partial(self._serve, value))
                # Those whose value is not wanted any more look at their deadlines.
                self._driver.announce_change()

    async def _serve(self, value: ValueKey) -> None:
        """Run the producer of a value for as long as it is wanted, and for the linger behind that."""
        linger = Linger(
            lambda: self.wants(value), lambda: self._is_over, self._driver.shell.now_s, self._linger_s
        )

        async def produce() -> None:
            await self._make(value[1])
            await self._driver.until(lambda: not self.wants(value))

        try:
            while self.wants(value):
                await self._driver.shell.run_until(produce, linger.deadline_s)
        finally:
            self._running.discard(value)

    def wants(self, value: ValueKey) -> bool:
        """Return whether some filter names the value and the publisher can serve it."""
        return value in self._wanted and not self._is_over
