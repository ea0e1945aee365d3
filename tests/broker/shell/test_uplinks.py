from collections.abc import Callable
from random import Random

import pytest
import trio
from attrs import define, field

from broker.addresses import Address
from broker.errors import BrokerFaultError
from broker.shell.uplinks import Attempt, keep_attached

FIRST, SECOND = Address("first.example", 1), Address("second.example", 2)
ENOUGH = 6


class EnoughError(Exception):
    """Ends a dialling that would go on for ever."""


def unreachable(_: Attempt) -> None:
    raise OSError("nobody is there")


def refuses(code: str) -> Callable[[Attempt], None]:
    return lambda attempt: attempt.refused(code, f"because of {code}")


def attaches(attempt: Attempt) -> None:
    attempt.attached()


@define
class World:
    """What each uplink does when it is dialled, and what was tried and waited."""

    behaviour: dict[Address, Callable[[Attempt], None]]
    dialled: list[Address] = field(factory=list)
    waited_s: list[float] = field(factory=list)
    settled: trio.Event = field(factory=trio.Event)
    settled_at: int | None = None

    async def dial(self, endpoint: Address, attempt: Attempt) -> None:
        await trio.lowlevel.checkpoint()
        self._look()
        self.dialled.append(endpoint)
        self.behaviour[endpoint](attempt)
        self._look()

    def _look(self) -> None:
        if self.settled.is_set() and self.settled_at is None:
            self.settled_at = len(self.dialled)

    async def sleep(self, wait_s: float) -> None:
        await trio.lowlevel.checkpoint()
        self.waited_s.append(wait_s)
        if len(self.waited_s) == ENOUGH:
            raise EnoughError

    async def run(self) -> None:
        await keep_attached(tuple(self.behaviour), self.dial, Random(1), self.settled, self.sleep)


async def test_uplinks_are_tried_in_order_with_growing_waits_between_rounds() -> None:
    world = World({FIRST: unreachable, SECOND: unreachable})
    with pytest.raises(EnoughError):
        await world.run()
    assert world.dialled == [FIRST, SECOND] * ENOUGH
    assert world.waited_s == sorted(world.waited_s)


async def test_it_is_settled_when_it_is_attached() -> None:
    world = World({FIRST: attaches})
    with pytest.raises(EnoughError):
        await world.run()
    assert world.settled_at == 1


async def test_it_is_settled_when_a_whole_round_has_failed() -> None:
    world = World({FIRST: unreachable, SECOND: unreachable})
    with pytest.raises(EnoughError):
        await world.run()
    assert world.settled_at == 2


async def test_after_a_loss_it_begins_with_the_first_again() -> None:
    world = World({FIRST: attaches, SECOND: attaches})
    with pytest.raises(EnoughError):
        await world.run()
    assert world.dialled == [FIRST] * ENOUGH
    assert max(world.waited_s) <= 2 * min(world.waited_s)


@pytest.mark.parametrize(
    "code", ["auth", "cycle", "duplicate", "duplicate-name", "ordering", "second-path", "version"]
)
async def test_a_broker_that_every_uplink_refuses_for_good_gives_up(code: str) -> None:
    world = World({FIRST: refuses(code), SECOND: refuses(code)})
    with pytest.raises(BrokerFaultError, match=f"--uplink second.example:2 refused .* because of {code}"):
        await world.run()
    assert world.dialled == [FIRST, SECOND]


@pytest.mark.parametrize("other", [unreachable, refuses("closing")])
async def test_it_goes_on_while_one_uplink_may_still_take_it(other: Callable[[Attempt], None]) -> None:
    world = World({FIRST: refuses("ordering"), SECOND: other})
    with pytest.raises(EnoughError):
        await world.run()


async def test_who_was_attached_once_goes_on_when_refused() -> None:
    behaviours = iter([attaches])

    def take_once(attempt: Attempt) -> None:
        next(behaviours, refuses("duplicate-name"))(attempt)

    world = World({FIRST: take_once})
    with pytest.raises(EnoughError):
        await world.run()
