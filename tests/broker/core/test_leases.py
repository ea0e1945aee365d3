"""Leases: what is true stays, what is not goes, and every broker that keeps the rules changes nothing."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from broker.core import BrokerCore
from broker.core.leases import Leases
from broker.core.tables import RouteEntry
from broker.filters import parse
from broker.messages import LeaseAsked, LeaseRenewed, SubscriptionAcknowledged, SubscriptionAdded
from broker.routing import parse as strategies
from harness.explorer import broken_leases
from ordering.pairwise import Pairwise
from tests.broker.core.network import Network

EXPIRE_AFTER = 2


class Overlay(Network):
    """A chain of brokers with leases, whose clocks go alike."""

    def chain_with(self, routing: str, *names: str) -> None:
        for name in names:
            self.cores[name] = BrokerCore(name, self.ordering, routing=strategies(routing))
        for parent, child in pairwise(names):
            self.dial(child, parent)
            self.settle()

    def refresh(self, name: str) -> None:
        """One broker renews, and everything arrives that follows."""
        self.cores[name].refresh()
        self.collect(name)
        self.settle()

    def turn(self) -> None:
        """Everybody renews; then everybody sweeps."""
        for name, core in self.cores.items():
            core.refresh()
            self.collect(name)
        self.settle()
        for name, core in self.cores.items():
            core.sweep(EXPIRE_AFTER)
            self.collect(name)
        self.settle()


def overlay(routing: str) -> Overlay:
    """A publisher at A, subscribers elsewhere: two at C want the same."""
    network = Overlay(Pairwise, Random(1))
    network.chain_with(routing, "A", "B", "C", "D")
    network.advertise("A", "p", "kind == 'a'")
    for broker, name, text in (
        ("C", "s1", "x > 1"),
        ("C", "s2", "x > 1"),
        ("D", "s3", "x > 5"),
        ("B", "s4", "x < 0"),
    ):
        network.subscribe(broker, name, text)
    network.settle()
    return network


def tables(network: Network) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    """The filters that each broker knows through each link."""
    return {
        (name, link.name): (
            sorted(map(str, core.tables.advertisements(link).filters.values())),
            sorted(f"{each.filter} {each.closed}" for each in core.tables.entries_of(link).values()),
        )
        for name, core in network.cores.items()
        for link in core.neighbours.values()
    }


def changes(network: Network) -> int:
    return sum(c.leases.expired + c.leases.mended + c.leases.repairs.count for c in network.cores.values())


@pytest.mark.parametrize("routing", ["simple", "identity", "covering", "covering+identity", "flooding"])
def test_what_is_true_is_renewed_and_no_other_message_is_sent(routing: str) -> None:
    network = overlay(routing)
    before = tables(network)
    for core, name in ((core, name) for name, core in network.cores.items()):
        core.refresh()
        effects = core.take()
        sent = [message for _, messages in effects.outgoing for message in messages]
        assert [type(message) for message in sent] == [LeaseRenewed] * len(core.neighbours)
        for hop, messages in effects.outgoing:
            network.in_flight[name, hop.name].extend(messages)
    network.settle()
    for _ in range(2 * EXPIRE_AFTER):
        network.turn()
    assert tables(network) == before
    assert changes(network) == 0


def test_refreshing_per_subscription_loses_what_two_want_and_refreshing_per_link_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = overlay("identity")
    for _ in range(2 * EXPIRE_AFTER):
        network.turn()
    network.publish("A", "p", kind="a", x=3)
    network.settle()
    assert len(network.got("s1")) == len(network.got("s2")) == 1
    monkeypatch.setattr(Leases, "_announced", broken_leases.refreshes_like_the_thesis)
    for _ in range(2 * EXPIRE_AFTER):
        network.turn()
    network.publish("A", "p", kind="a", x=3)
    network.settle()
    assert len(network.got("s1")) == len(network.got("s2")) == 1  # The second one never came.


Corruption = Callable[[BrokerCore], None]


def _lose_an_entry(core: BrokerCore) -> None:
    link = core.neighbours["C"]
    core.tables.remove_entry(link, next(iter(core.tables.entries_of(link))))


def _invent_an_entry(core: BrokerCore) -> None:
    core.tables.add_entry(RouteEntry("garbage", parse("kind == 'z'"), True, core.neighbours["C"]))


def _change_a_filter(core: BrokerCore) -> None:
    link = core.neighbours["C"]
    entry = next(iter(core.tables.entries_of(link).values()))
    core.tables.add_entry(RouteEntry(entry.id, parse("x == 77"), entry.ordered, link))


def _close_a_gate(core: BrokerCore) -> None:
    entry = next(iter(core.tables.entries_of(core.neighbours["C"]).values()))
    core.tables.close_gate(entry, core.neighbours["A"])


def _lose_an_advertisement(core: BrokerCore) -> None:
    link = core.neighbours["A"]
    core.tables.remove_advertisement(link, next(iter(core.tables.advertisements(link).filters)))


def _invent_an_advertisement(core: BrokerCore) -> None:
    core.tables.add_advertisement(core.neighbours["C"], "garbage", parse("x == 0"))


def _forget_what_was_announced(core: BrokerCore) -> None:
    neighbour = core._routing.subscribing.neighbours[core.neighbours["A"]]
    neighbour.announced.edit(remove=[each.id for each in neighbour.offered.values()])


@pytest.mark.parametrize("routing", ["simple", "identity", "covering"])
@pytest.mark.parametrize(
    "corrupt",
    [
        _lose_an_entry,
        _invent_an_entry,
        _change_a_filter,
        _close_a_gate,
        _lose_an_advertisement,
        _invent_an_advertisement,
        _forget_what_was_announced,
    ],
)
def test_the_middle_broker_heals(routing: str, corrupt: Corruption) -> None:
    network = overlay(routing)
    before = tables(network)
    corrupt(network.cores["B"])
    assert tables(network) != before or corrupt is _forget_what_was_announced
    for _ in range(EXPIRE_AFTER + 2):
        network.turn()
    assert tables(network) == before
    assert changes(network)
    network.publish("A", "p", kind="a", x=7)
    network.settle()
    assert [len(network.got(each)) for each in ("s1", "s2", "s3", "s4")] == [1, 1, 1, 0]


def _subscriptions(network: Network, name: str) -> int:
    return network.cores[name].tables.counts()["subscriptions"]


def test_what_a_neighbour_without_leases_announced_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    network = overlay("simple")
    monkeypatch.setattr(Leases, "refresh", broken_leases.says_nothing)
    for _ in range(10 * EXPIRE_AFTER):
        network.turn()
    assert _subscriptions(network, "A") == 4


def test_what_is_wrong_expires_with_as_many_lists_as_were_set_and_not_before() -> None:
    network = overlay("simple")
    network.cores["B"].sweep(EXPIRE_AFTER)
    before = _subscriptions(network, "B")
    _invent_an_entry(network.cores["B"])
    for _ in range(EXPIRE_AFTER - 1):
        network.refresh("C")
    assert _subscriptions(network, "B") == before + 1
    network.refresh("C")
    assert _subscriptions(network, "B") == before
    assert network.cores["B"].leases.expired == 1


def test_nothing_expires_in_a_broker_that_never_sweeps() -> None:
    network = overlay("simple")
    _invent_an_entry(network.cores["B"])
    before = _subscriptions(network, "B")
    for _ in range(10 * EXPIRE_AFTER):
        network.refresh("C")
    assert _subscriptions(network, "B") == before


def test_lists_are_counted_in_a_row() -> None:
    network = overlay("simple")
    core = network.cores["B"]
    core.sweep(EXPIRE_AFTER)
    for _ in range(5):
        _invent_an_entry(core)
        for _ in range(EXPIRE_AFTER - 1):
            network.refresh("C")
        core.tables.remove_entry(core.neighbours["C"], "garbage")
        network.refresh("C")
    assert core.leases.expired == 0


def test_what_is_announced_again_serves_on() -> None:
    network = overlay("simple")
    core = network.cores["B"]
    link = core.neighbours["C"]
    entry = core.tables.entries_of(link)["s1"]
    core.receive(link, [SubscriptionAdded("s1", entry.filter, entry.ordered, 99)])
    assert core.tables.entries_of(link)["s1"] is entry
    assert core.take().outgoing == [(link, [SubscriptionAcknowledged(99)])]


def test_a_neighbour_that_knows_something_else_asks() -> None:
    network = overlay("simple")
    core = network.cores["B"]
    link = core.neighbours["A"]
    core.receive(link, [LeaseRenewed(1)])
    [(hop, messages)] = core.take().outgoing
    assert hop is link
    assert [type(message) for message in messages] == [LeaseAsked]
