"""Whom a broker dials and when, by a clock that the tests set; links are stood in for by their context."""

from collections.abc import Callable
from random import Random

import pytest
from attrs import Factory, define, field

from broker.backoff import longest_while_kept_s
from broker.core import BrokerCore
from broker.healing import Location, Search
from broker.node.effects import Dial
from broker.node.log import Log
from broker.node.timers import Timers
from broker.node.uplinks import STALE_TIMEOUTS, STEADY_S, Uplinks, Waiting
from ordering.fifo import Fifo
from tests.broker.healing.test_roster import roster_of

FIRST, SECOND = "first.example:1", "second.example:2"
ENOUGH = 6
KEPT_S = 6.0


def unreachable(uplinks: Uplinks) -> None:
    uplinks.unreached("nobody is there")


def refuses(code: str) -> Callable[[Uplinks], None]:
    def refuse(uplinks: Uplinks) -> None:
        uplinks.connected()
        uplinks.refused(code, f"because of {code}")

    return refuse


def attaches(uplinks: Uplinks) -> None:
    uplinks.connected()
    uplinks.attached()


@define(eq=False)
class NoLinks:
    """A context in which no link is open: every candidate that is lost is given up."""

    uplink: None = None
    settled: list[int] = Factory(list)
    settle: Callable[[], None] = lambda: None


@define(eq=False)
class World:
    """What each uplink does when it is dialled, and what was tried and waited."""

    behaviour: dict[str, Callable[[Uplinks], None]]
    lasts_s: float = 0.0
    link_timeout_s: float = 0.0
    core: BrokerCore = Factory(lambda: BrokerCore("B5", Fifo))
    timers: Timers = Factory(Timers)
    dialled: list[str] = Factory(list)
    waited_s: list[float] = Factory(list)
    settled_at: int | None = None
    uplinks: Uplinks = field(init=False)
    _asked: list[Dial] = Factory(list)
    search: Search = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.search = Search("B5", tuple(self.behaviour))
        self._make()

    def _make(self) -> None:
        self._asked.clear()
        self.timers = Timers(self.timers.now_s)
        context = NoLinks(settle=self._settle)
        self.uplinks = Uplinks(
            self.core,
            self.search,
            context,  # type: ignore[arg-type] # stands in for one
            self.timers,
            Log(),
            self.link_timeout_s,
            Random(1),
            self._asked.append,
        )

    def _settle(self) -> None:
        if self.settled_at is None:
            self.settled_at = len(self.dialled)

    def run(self) -> None:
        """Dial until there was enough waiting, or the search has failed."""
        waits = len(self.waited_s) + ENOUGH
        self._make()
        self.uplinks.begin()
        while self.uplinks.failure is None:
            while self._asked:
                self._answer(self._asked.pop())
            if self._has_failed():
                return
            due_s = self.timers.next_s()
            self.waited_s.append(due_s - self.timers.now_s)
            if len(self.waited_s) == waits:
                return
            self.timers.now_s = due_s
            self.timers.fire()

    def _has_failed(self) -> bool:
        return self.uplinks.failure is not None

    def _answer(self, dial: Dial) -> None:
        self.dialled.append(dial.address)
        self.behaviour.get(dial.address, unreachable)(self.uplinks)
        if self.uplinks.state is Waiting.GREETED:
            self.timers.now_s += self.lasts_s
            self.uplinks.ended()


def test_uplinks_are_tried_in_order_with_growing_waits_between_rounds() -> None:
    world = World({FIRST: unreachable, SECOND: unreachable})
    world.run()
    assert world.dialled == [FIRST, SECOND] * ENOUGH
    assert world.waited_s == sorted(world.waited_s)


def test_it_is_settled_when_it_is_attached() -> None:
    world = World({FIRST: attaches})
    world.run()
    assert world.settled_at == 1


def test_it_is_settled_when_a_whole_round_has_failed() -> None:
    world = World({FIRST: unreachable, SECOND: unreachable})
    world.run()
    assert world.settled_at == 2


def test_after_a_loss_it_begins_with_the_first_again() -> None:
    world = World({FIRST: attaches, SECOND: attaches})
    world.run()
    assert world.dialled == [FIRST] * ENOUGH
    assert world.search.moves == ENOUGH


def test_an_uplink_that_does_not_last_is_asked_ever_less_often() -> None:
    world = World({FIRST: attaches})
    world.run()
    assert world.waited_s[-1] > 4 * world.waited_s[0]


def test_an_uplink_that_lasted_is_dialled_soon_again() -> None:
    world = World({FIRST: attaches}, lasts_s=STEADY_S)
    world.run()
    assert max(world.waited_s) <= 2 * min(world.waited_s)


def test_when_no_uplink_is_left_other_known_brokers_are_tried() -> None:
    world = World({FIRST: unreachable})
    world.core.reached_at("B5:1")
    world.core.roster.attached_to("B1")
    world.core.roster.learn(roster_of("B1", B2="B1", B3="B1", B9="B1").everything())
    world.run()
    assert world.dialled[:4] == [FIRST, "B1:1", "B2:1", "B3:1"]
    assert world.settled_at == 4


def test_the_link_that_an_earlier_run_left_open_is_dialled_before_all_others() -> None:
    world = World({FIRST: attaches})
    world.core.reached_at("B5:1")
    world.core.roster.learn(roster_of("B1").everything())
    link = world.core.open_link("B1", uplink=True)
    world.run()
    assert world.dialled == ["B1:1"] * ENOUGH
    world.core.close_link(link)
    world.waited_s.clear()
    world.run()
    assert world.dialled[ENOUGH:] == [FIRST] * ENOUGH


@pytest.mark.parametrize("is_known", [True, False])
def test_an_uplink_that_keeps_the_link_of_an_earlier_run_is_asked_often_to_the_end(
    is_known: bool,  # noqa: FBT001 - a parameter
) -> None:
    world = World({FIRST: unreachable})
    world.link_timeout_s = KEPT_S
    world.core.reached_at("B5:1")
    if is_known:
        world.core.roster.learn(roster_of("B1").everything())
    world.core.open_link("B1", uplink=True)
    for _ in range(3):
        world.run()
        assert max(world.waited_s) <= longest_while_kept_s(KEPT_S)
        world.waited_s.clear()


def test_an_address_that_makes_no_sense_is_passed_over() -> None:
    world = World({FIRST: unreachable})
    world.core.reached_at("B5:1")
    world.core.roster.attached_to("B1")
    world.core.roster.learn([Location("B1", 1, "nonsense", "")])
    world.run()
    assert world.dialled == [FIRST, "nonsense"] * ENOUGH


@pytest.mark.parametrize("code", ["cycle", "second-path"])
def test_a_broker_whose_uplinks_are_below_it_stays_the_top(code: str) -> None:
    world = World({FIRST: refuses(code)})
    world.run()
    assert world.settled_at == 1


@pytest.mark.parametrize("code", ["auth", "duplicate", "duplicate-name", "ordering", "version"])
def test_a_broker_that_every_uplink_refuses_for_good_gives_up(code: str) -> None:
    world = World({FIRST: refuses(code), SECOND: refuses(code)})
    world.run()
    assert f"--uplink second.example:2 refused this broker: because of {code}" in str(world.uplinks.failure)
    assert world.dialled == [FIRST, SECOND]


def test_a_name_that_is_taken_may_be_that_of_an_earlier_run_for_a_while() -> None:
    world = World({FIRST: refuses("duplicate")}, lasts_s=3)
    world.link_timeout_s = 10 / STALE_TIMEOUTS
    world.run()
    assert "because of duplicate" in str(world.uplinks.failure)
    assert world.dialled == [FIRST] * 5


@pytest.mark.parametrize("other", [unreachable, refuses("closing")])
def test_it_goes_on_while_one_uplink_may_still_take_it(other: Callable[[Uplinks], None]) -> None:
    world = World({FIRST: refuses("ordering"), SECOND: other})
    world.run()


def test_a_broker_that_was_attached_once_goes_on_when_refused() -> None:
    behaviours = iter([attaches])

    def take_once(uplinks: Uplinks) -> None:
        next(behaviours, refuses("duplicate-name"))(uplinks)

    world = World({FIRST: take_once})
    world.run()
