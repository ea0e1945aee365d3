from collections.abc import Callable
from random import Random

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from broker.addresses import Address
from broker.backoff import longest_while_kept_s
from broker.core import BrokerCore
from broker.errors import BrokerFaultError
from broker.healing import Place, Search
from broker.node.uplinks import STEADY_S, Attempt, Uplinks
from ordering.fifo import Fifo
from tests.broker.healing.test_roster import roster_of

FIRST, SECOND = Address("first.example", 1), Address("second.example", 2)
ENOUGH = 6
KEPT_S = 6.0


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
    settled_at: int | None = None
    lasts_s: float = 0
    core: BrokerCore = field(factory=lambda: BrokerCore("B5", Fifo))
    uplinks: Uplinks = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.uplinks = Uplinks(self.core, Search("B5", tuple(map(str, self.behaviour))))

    async def dial(self, endpoint: Address, attempt: Attempt) -> None:
        await trio.lowlevel.checkpoint()
        self._look()
        self.dialled.append(endpoint)
        self.behaviour.get(endpoint, unreachable)(attempt)
        self._look()
        await trio.sleep(self.lasts_s)

    def _look(self) -> None:
        if self.uplinks.settled.is_set() and self.settled_at is None:
            self.settled_at = len(self.dialled)

    async def sleep(self, wait_s: float) -> None:
        await trio.lowlevel.checkpoint()
        self.waited_s.append(wait_s)
        if len(self.waited_s) == ENOUGH:
            raise EnoughError

    async def run(self) -> None:
        await self.uplinks.keep_attached(self.dial, Random(1), self.sleep)


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
    assert world.uplinks.search.moves == ENOUGH


async def test_an_uplink_that_does_not_last_is_asked_ever_less_often() -> None:
    world = World({FIRST: attaches})
    with pytest.raises(EnoughError):
        await world.run()
    assert world.waited_s[-1] > 4 * world.waited_s[0]


async def test_an_uplink_that_lasted_is_dialled_soon_again(autojump_clock: MockClock) -> None:
    del autojump_clock
    world = World({FIRST: attaches}, lasts_s=STEADY_S)
    with pytest.raises(EnoughError):
        await world.run()
    assert max(world.waited_s) <= 2 * min(world.waited_s)


async def test_when_no_uplink_is_left_others_that_were_heard_of_are_tried() -> None:
    world = World({FIRST: unreachable})
    world.core.reached_at("B5:1")
    world.core.roster.attached_to("B1")
    world.core.roster.learn(roster_of("B1", B2="B1", B3="B1", B9="B1").everything())
    with pytest.raises(EnoughError):
        await world.run()
    assert world.dialled[:4] == [FIRST, Address("B1", 1), Address("B2", 1), Address("B3", 1)]
    assert world.settled_at == 4


async def test_the_link_that_an_earlier_run_left_open_is_dialled_before_all_others() -> None:
    world = World({FIRST: attaches})
    world.core.reached_at("B5:1")
    world.core.roster.learn(roster_of("B1").everything())
    link = world.core.open_link("B1", uplink=True)
    with pytest.raises(EnoughError):
        await world.run()
    assert world.dialled == [Address("B1", 1)] * ENOUGH
    world.core.close_link(link)
    world.waited_s.clear()
    with pytest.raises(EnoughError):
        await world.run()
    assert world.dialled[ENOUGH:] == [FIRST] * ENOUGH


@pytest.mark.parametrize("is_known", [True, False])
async def test_an_uplink_that_keeps_the_link_of_an_earlier_run_is_asked_often_to_the_end(
    is_known: bool,  # noqa: FBT001 - a parameter
) -> None:
    world = World({FIRST: unreachable})
    world.uplinks.patience_s = KEPT_S
    world.core.reached_at("B5:1")
    if is_known:
        world.core.roster.learn(roster_of("B1").everything())
    world.core.open_link("B1", uplink=True)
    for _ in range(3):
        with pytest.raises(EnoughError):
            await world.run()
        assert max(world.waited_s) <= longest_while_kept_s(KEPT_S)
        world.waited_s.clear()


async def test_an_address_that_makes_no_sense_is_passed_over() -> None:
    world = World({FIRST: unreachable})
    world.core.reached_at("B5:1")
    world.core.roster.attached_to("B1")
    world.core.roster.learn([Place("B1", 1, "nonsense", "")])
    with pytest.raises(EnoughError):
        await world.run()
    assert world.dialled == [FIRST] * ENOUGH


@pytest.mark.parametrize("code", ["cycle", "second-path"])
async def test_a_broker_whose_uplinks_are_below_it_stays_the_top(code: str) -> None:
    world = World({FIRST: refuses(code)})
    with pytest.raises(EnoughError):
        await world.run()
    assert world.settled_at == 1


@pytest.mark.parametrize("code", ["auth", "duplicate", "duplicate-name", "ordering", "version"])
async def test_a_broker_that_every_uplink_refuses_for_good_gives_up(code: str) -> None:
    world = World({FIRST: refuses(code), SECOND: refuses(code)})
    with pytest.raises(BrokerFaultError, match=f"--uplink second.example:2 refused .* because of {code}"):
        await world.run()
    assert world.dialled == [FIRST, SECOND]


async def test_a_name_that_is_taken_may_be_that_of_an_earlier_run_for_a_while(
    autojump_clock: MockClock,
) -> None:
    del autojump_clock
    world = World({FIRST: refuses("duplicate")}, lasts_s=3)
    world.uplinks.patience_s = 10
    with pytest.raises(BrokerFaultError, match="because of duplicate"):
        await world.run()
    assert world.dialled == [FIRST] * 4


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
