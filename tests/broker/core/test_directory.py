"""Locations of brokers are known everywhere once they have arrived, in spite of failures in between."""

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.core import BrokerCore
from broker.healing import Location
from broker.messages import Whereabouts
from ordering.fifo import Fifo
from tests.broker.core.network import Network


def chain(*names: str) -> Network:
    """Each broker's uplink is the one before it; everybody knows everybody."""
    network = Network(Fifo)
    network.add(*names)
    reach_all(network)
    for parent, child in pairwise(names):
        network.dial(child, parent)
        network.settle()
    return network


def reach_all(network: Network) -> None:
    for name, core in network.cores.items():
        core.reached_at(f"{name}:1")
        network.collect(name)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_all_brokers_of_a_tree_know_each_other(seed: int, count: int) -> None:
    random = Random(seed)
    network = Network(Fifo, random)
    names = "ABCDEF"[:count]
    network.add(*names)
    reach_all(network)
    parents = {}
    for place, name in enumerate(names[1:], 1):
        parents[name] = random.choice(names[:place])
        network.dial(name, parents[name])
        for _ in range(random.randint(0, 9)):
            network.step_any()
    network.settle()
    for core in network.cores.values():
        assert {p.name: (p.address, p.uplink) for p in core.roster.everything()} == {
            name: (f"{name}:1", parents.get(name, "")) for name in names
        }


def test_a_dialler_gets_all_locations_before_it_is_attached() -> None:
    network = chain("A", "B")
    network.add("C")
    network.dial("C", "B")
    first = network.step(("B", "C"))
    assert isinstance(first, Whereabouts)
    assert set(network.cores["C"].roster.places) == {"A", "B"}
    assert not network.cores["C"].attached(network.hops["C", "B"])


def test_a_broker_that_is_refused_stays_unknown() -> None:
    network = chain("A", "B", "C")
    network.cores["X"] = BrokerCore("C", Fifo, incarnation="other")
    network.cores["X"].reached_at("elsewhere:1")
    outside = network.cores["X"].open_link("A", uplink=True)
    sent = dict(network.cores["X"].take().outgoing)[outside]
    joining = network.cores["A"].open_link("C", uplink=False)
    network.cores["A"].receive(joining, sent)
    whereabouts, verdict = dict(network.cores["A"].take().outgoing)[joining]
    assert isinstance(whereabouts, Whereabouts)
    network.cores["X"].receive(outside, [whereabouts, verdict])
    effects = network.cores["X"].take()
    assert effects.rejected == [(outside, "duplicate")]
    assert effects.outgoing == []
    assert network.cores["X"].roster.address_of("C") == "elsewhere:1"


def test_a_broker_that_restarts_at_another_address_is_believed() -> None:
    network = chain("A", "B", "C")
    network.cut("C", "B")
    network.settle()
    network.add("C")
    network.cores["C"].reached_at("elsewhere:1")
    network.dial("C", "A")
    network.settle()
    for core in network.cores.values():
        place = core.roster.places["C"]
        assert (place.address, place.uplink) == ("elsewhere:1", "A")
        assert place.version > 3


def test_below_are_the_names_of_all_brokers_below() -> None:
    network = chain("A", "B", "C")
    assert [network.cores[name].below for name in "ABC"] == [{"B", "C"}, {"C"}, set()]


def test_a_broker_without_an_address_announces_none() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    assert network.cores["A"].roster.everything() == ()


def test_what_was_known_stays_known_when_links_are_lost() -> None:
    network = chain("A", "B", "C")
    network.cut("C", "B")
    network.settle()
    assert network.cores["C"].roster.places["A"] == Location("A", 1, "A:1", "")
    assert network.cores["C"].roster.ancestors("C") == ["B", "A"]
