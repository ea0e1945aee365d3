"""Who is away is waited for once, however often the broker is started meanwhile."""

from collections.abc import Callable

from attrs import Factory, define

from broker.filters import parse
from broker.node.reconnect_timeouts import PART, ReconnectTimeouts
from broker.node.timers import Timers
from broker.station import Station, SubscriptionTerms, recover
from ordering.pairwise import Pairwise

AGE_S = 100
LINK_S = 10


@define(eq=False)
class DisconnectedPeer:
    """A peer without a connection: its key at the station, and whether it has been given up."""

    station_key: tuple[str, str]
    is_given_up: bool = False

    def give_up(self) -> None:
        self.is_given_up = True


@define(eq=False)
class Broker:
    """A broker's journal and the clock on its wall; `wall_s` is what it shows when nothing has passed."""

    records: list[bytes] = Factory(list)
    wall_s: float = 1_000_000.0

    def station(self) -> Station:
        station = recover("B1", Pairwise, "", None, self.records)
        if station is None:
            station = Station("B1", Pairwise)
        station.begin(self.records.append)
        return station

    def run(self, up_s: float, what: Callable[[ReconnectTimeouts], None]) -> ReconnectTimeouts:
        """Be up for so long, and be killed; what is done first is done by this call."""
        timers = Timers()
        timeouts = ReconnectTimeouts(
            lambda: None, timers, lambda: round((self.wall_s + timers.now_s) * 1e9), self.station()
        )
        timeouts.broker_started(LINK_S)
        what(timeouts)
        pass_time(timers, up_s)
        self.wall_s += up_s
        return timeouts


def pass_time(timers: Timers, until_s: float) -> None:
    """Fire every timer at its time."""
    while timers.next_s() <= until_s:
        timers.now_s = max(timers.now_s, timers.next_s())
        timers.fire()
    timers.now_s = until_s


def made() -> Broker:
    broker = Broker()
    station = broker.station()
    station.open_link("B2", "B2/1", uplink=False)
    terms = SubscriptionTerms(parse("x > 0"), ordered=True, client="c", durable="d", age_s=AGE_S)
    station.subscribe("s", terms)
    station.take()
    return broker


def waiting_for_link(link: DisconnectedPeer) -> Callable[[ReconnectTimeouts], None]:
    return lambda timeouts: timeouts.start(link, LINK_S)


def meeting(link: DisconnectedPeer) -> Callable[[ReconnectTimeouts], None]:
    def meet(timeouts: ReconnectTimeouts) -> None:
        timeouts.start(link, LINK_S)
        timeouts.cancel(link)

    return meet


def waiting_for_durable(durable: DisconnectedPeer) -> Callable[[ReconnectTimeouts], None]:
    return lambda timeouts: timeouts.start(durable, AGE_S, chance_s=LINK_S)


def test_a_link_is_given_up_although_the_broker_is_killed_more_often_than_that() -> None:
    broker, link = made(), DisconnectedPeer(("link", "B2"))
    runs = 0
    while not link.is_given_up:
        broker.run(LINK_S / 4, waiting_for_link(link))
        runs += 1
    assert 3 <= runs <= 5


def test_even_one_that_is_never_up_for_long_ends_its_waiting() -> None:
    broker, link = made(), DisconnectedPeer(("link", "B2"))
    for _ in range(21):  # The first start is before it was away.
        broker.run(LINK_S / 1000, waiting_for_link(link))
    assert link.is_given_up


def test_what_a_broker_was_down_does_not_count_for_links() -> None:
    broker, link = made(), DisconnectedPeer(("link", "B2"))
    broker.run(1, waiting_for_link(link))
    broker.wall_s += 1000
    broker.run(LINK_S / 2, waiting_for_link(link))
    assert not link.is_given_up
    broker.run(LINK_S / 2, waiting_for_link(link))
    assert link.is_given_up


def test_a_resumed_session_has_its_whole_timeout_again() -> None:
    broker, link = made(), DisconnectedPeer(("link", "B2"))
    for _ in range(10):
        broker.run(LINK_S / 2, waiting_for_link(link))
        broker.run(1, meeting(link))
    assert not link.is_given_up


def test_the_age_of_a_durable_subscription_goes_on_over_restarts() -> None:
    broker, durable = made(), DisconnectedPeer(("subscription", "s"))
    broker.run(AGE_S / 2, waiting_for_durable(durable))
    broker.wall_s += AGE_S / 4
    broker.run(AGE_S / 4 - 5, waiting_for_durable(durable))
    assert not durable.is_given_up
    broker.run(6, waiting_for_durable(durable))
    assert durable.is_given_up


def test_a_clock_that_was_set_back_ages_no_session() -> None:
    broker, durable = made(), DisconnectedPeer(("subscription", "s"))
    broker.run(AGE_S / 2, waiting_for_durable(durable))
    broker.wall_s -= 500_000
    broker.run(AGE_S / 2 - 5, waiting_for_durable(durable))
    assert not durable.is_given_up
    broker.run(6 + AGE_S * PART, waiting_for_durable(durable))
    assert durable.is_given_up


def test_a_clock_that_was_set_forward_leaves_time_to_resume() -> None:
    broker, durable = made(), DisconnectedPeer(("subscription", "s"))
    broker.run(1, waiting_for_durable(durable))
    broker.wall_s += 500_000
    broker.run(LINK_S / 2, waiting_for_durable(durable))
    assert not durable.is_given_up
    broker.run(LINK_S, waiting_for_durable(durable))
    assert durable.is_given_up


def test_without_a_recorder_sessions_time_out_all_the_same() -> None:
    link = DisconnectedPeer(("link", "B2"))
    timers = Timers()
    timeouts = ReconnectTimeouts(lambda: None, timers, lambda: 0)
    timeouts.start(link, LINK_S)
    pass_time(timers, LINK_S - 1)
    assert not link.is_given_up
    pass_time(timers, LINK_S + 1)
    assert link.is_given_up
