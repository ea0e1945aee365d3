"""The audit of local entries: what clients have asked for is there again after a renewal."""

from collections.abc import Callable
from itertools import chain

import pytest

from broker.core.tables import RouteEntry, route_filter_of
from broker.filters import parse
from broker.messages import LinkMessage, PublicationsLost
from broker.replay import Bounds
from broker.sessions import Missing
from broker.station import Station, SubscriptionTerms
from ordering.pairwise import Pairwise
from tests.broker.station.stations import publication

A, B = parse("kind == 'a'"), parse("kind == 'b'")
EVERYTHING = (0, 0)
"""A replay of all that is cached."""


def station() -> Station:
    """Make a broker with one publisher, and a subscription that has been notified."""
    made = Station("B1", Pairwise)
    made.bound_replays(Bounds(4096, 100, 1, 1))
    made.advertise("p", A)
    made.subscribe("s", SubscriptionTerms(A, ordered=True))
    made.take()
    return made


def entry_of(of: Station) -> RouteEntry:
    return next(of.core.tables.entries())


def renew(of: Station) -> tuple[list[LinkMessage], list[str]]:
    """Renew; return what clients are sent, and which subscriptions are notified."""
    of.refresh()
    effects = of.take()
    return list(chain.from_iterable(messages for _, messages in effects.outgoing)), effects.subscribed


def lose(of: Station) -> None:
    of.core.tables.remove_entry(entry_of(of).hop, "s")


def take_another_filter(of: Station) -> None:
    of.core.tables.add_entry(RouteEntry("s", B, True, entry_of(of).hop))


def take_no_order(of: Station) -> None:
    entry_of(of).ordered = False


@pytest.mark.parametrize("damage", [lose, take_another_filter, take_no_order])
def test_a_subscription_is_restored_and_gets_a_gap(damage: Callable[[Station], None]) -> None:
    made = station()
    right = route_filter_of(entry_of(made))
    damage(made)
    sent, notified = renew(made)
    assert [route_filter_of(each) for each in made.core.tables.entries()] == [right]
    assert sent == [PublicationsLost()]
    assert notified == []
    assert made.core.leases.repairs.count == 1
    made.publish("p", [publication("p", 1, "a")])
    assert len(made.take().outgoing) == 1


def test_what_no_client_has_asked_for_goes() -> None:
    made = station()
    made.core.tables.add_entry(RouteEntry("G", B, True, entry_of(made).hop))
    made.core.tables.local.add("G", B)
    assert renew(made) == ([], [])
    assert [each.id for each in made.core.tables.entries()] == ["s"]
    assert made.core.tables.local.filters == {"p": A}
    assert made.core.leases.repairs.count == 2


def test_a_subscription_ends_although_another_is_in_its_place() -> None:
    made = station()
    made.core.tables.add_entry(RouteEntry("G", A, True, entry_of(made).hop))
    made.unsubscribe("s")
    renew(made)
    assert list(made.core.tables.entries()) == []


@pytest.mark.parametrize("content", [None, B])
def test_an_advertisement_is_restored_and_may_be_withdrawn_before(content: object) -> None:
    made = station()
    other = station()
    for each in (made, other):
        each.core.tables.local.remove("p")
        if content is not None:
            each.core.tables.local.add("p", B)
    renew(made)
    assert made.core.tables.local.filters == {"p": A}
    other.publish("p", [publication("p", 1, "a")])
    other.unadvertise("p")
    other.subscribe("t", SubscriptionTerms(A, ordered=True))
    assert other.take().wanted == []


def test_a_client_is_notified_once() -> None:
    made = station()
    entry_of(made).is_answered = False
    assert renew(made) == ([], [])
    assert entry_of(made).is_answered
    for wrong in (True, False):
        entry_of(made).is_answered, made.subscriptions["s"].is_open = wrong, False
        assert renew(made) == ([], ["s"])
        assert renew(made) == ([], [])


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_subscription_that_is_lost_while_its_past_is_played_gets_all_of_it(*, has_begun: bool) -> None:
    made = station()
    made.publish("p", [publication("p", number, "a") for number in (1, 2)])
    made.take()
    hop = made.subscribe("r", SubscriptionTerms(A, ordered=True, bound_bytes=4096), EVERYTHING)
    if has_begun:
        made.take()
        made.replay_more("r", 1)
        made.take()
    made.core.tables.remove_entry(hop, "r")
    renew(made)
    for _ in range(4):
        made.replay_more("r", 4096)
        made.take()
    assert made.subscriptions["r"].is_open
    runs = [run for run in made.subscriptions["r"].after(0) if not isinstance(run, Missing)]
    kept = list(chain.from_iterable(runs))
    assert [getattr(each, "sequence", "gap") for each in kept] == [1, 2, "gap"]


def test_a_publisher_whose_barrier_is_lost_is_notified_once() -> None:
    made = station()
    made.publishers["p"].is_open = False
    made.refresh()
    assert made.take().advertised == ["p"]
    assert made.core.leases.repairs.count == 1
    assert renew(made) == ([], [])
    assert made.core.leases.repairs.count == 1


def test_nothing_is_changed_where_nothing_is_wrong() -> None:
    made = station()
    assert renew(made) == ([], [])
    assert made.core.leases.repairs.count == 0
