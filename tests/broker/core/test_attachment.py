"""R9: who may attach, and that no cycle ever forms."""

from collections.abc import Iterator
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.core import BrokerCore, ProtocolError
from broker.core.attachment import AttachmentState
from broker.core.membership import Attach, Membership, Take
from broker.messages import (
    AttachAnswer,
    AttachRequest,
    BrokersChanged,
    Publication,
    RouteIds,
    SubscriptionWithdrawn,
    Synchronise,
)
from ordering.fifo import Fifo
from ordering.pairwise import Pairwise
from tests.broker.core.network import Network


def roots(network: Network) -> list[str]:
    return [name for name, core in network.cores.items() if core.uplink is None]


def links(network: Network) -> int:
    return sum(len(core.neighbours) for core in network.cores.values()) // 2


@pytest.mark.parametrize("names", ["".join(order) for order in permutations("ABC")])
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_a_ring_of_brokers_that_dial_at_once_becomes_a_tree(names: str, seed: int) -> None:
    network = Network(Fifo, Random(seed))
    network.add(*names)
    for child, parent in zip(names, names[1:] + names[0], strict=True):
        network.dial(child, parent)
    network.settle()
    assert len(roots(network)) == 1
    assert links(network) == 2
    assert [reason for _, _, reason in network.rejected] == ["cycle"]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 7))
def test_the_result_of_any_dials_is_a_forest(seed: int, count: int) -> None:
    random = Random(seed)
    network = Network(Fifo, random)
    names = "ABCDEFG"[:count]
    network.add(*names)
    for child in random.sample(names, count):
        parents = [name for name in names if name != child and (name, child) not in network.hops]
        if parents:
            network.dial(child, random.choice(parents))
        for _ in range(random.randint(0, 5)):
            network.step_any()
    network.settle()
    assert links(network) == count - len(roots(network))
    assert {name for name, _, _ in network.rejected} <= set(roots(network))


def test_a_broker_whose_name_is_taken_is_refused() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.cores["X"] = BrokerCore("C", Fifo, incarnation="other")
    outside = network.cores["X"].open_link("A", uplink=True)
    requests = dict(network.cores["X"].take().outgoing)[outside]
    joining = network.cores["A"].open_link("C", uplink=False)
    network.cores["A"].receive(joining, requests)
    answers = dict(network.cores["A"].take().outgoing)[joining]
    network.cores["X"].receive(outside, answers)
    assert network.cores["X"].take().rejected == [(outside, "duplicate")]


def test_a_child_that_is_lost_frees_its_name() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.cut("C", "B")
    network.settle()
    network.cores["C"] = BrokerCore("C", Fifo, incarnation="later")
    network.dial("C", "A")
    network.settle()
    assert network.cores["C"].uplink is not None
    assert not network.rejected


def test_what_was_advertised_and_subscribed_before_crosses_a_new_link() -> None:
    network = Network(Fifo)
    network.add("A", "B")
    network.advertise("A", "p", "c > 0")
    network.subscribe("B", "s", "c == 1")
    network.dial("B", "A")
    network.settle()
    network.publish("A", "p", c=1)
    network.publish("A", "p", c=2)
    network.settle()
    assert network.got("s") == [("p", 1)]


def test_a_lost_link_withdraws_what_was_known_through_it() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.advertise("C", "p", "c > 0")
    network.subscribe("C", "s", "c == 1")
    network.settle()
    network.cut("C", "B")
    network.settle()
    counts = network.cores["A"].counts()
    assert counts["advertisements"] == counts["subscriptions"] == 0


@pytest.mark.parametrize("message", [SubscriptionWithdrawn("s"), Publication("p", 1, {}, True, b"")])
def test_nothing_about_routes_is_taken_from_a_link_that_is_not_attached(
    message: SubscriptionWithdrawn | Publication,
) -> None:
    core = BrokerCore("A", Fifo)
    link = core.open_link("B", uplink=False)
    with pytest.raises(ProtocolError, match="before it was attached"):
        core.receive(link, [message])


def test_a_root_asks_when_the_broker_it_granted_has_come_and_then_names_it() -> None:
    core = BrokerCore("A", Fifo)
    child = core.open_link("B", uplink=False)
    core.receive(child, [AttachRequest("B.", 1, frozenset(("B.",)))])
    uplink = core.open_link("C", uplink=True)
    assert not any(hop is uplink for hop, _ in core.take().outgoing)
    core.receive(child, [RouteIds(frozenset(), frozenset())])
    core.receive(child, [Synchronise(())])
    sent = dict(core.take().outgoing)
    assert sent[uplink] == [AttachRequest("A.", 1, frozenset(("A.", "B.")))]


def test_a_neighbour_that_was_granted_nothing_does_not_attach() -> None:
    core = BrokerCore("A", Fifo)
    link = core.open_link("B", uplink=False)
    with pytest.raises(ProtocolError, match="RouteIds before it was attached"):
        core.receive(link, [RouteIds(frozenset(), frozenset()), Synchronise(())])
    assert not core.attached(link)


@pytest.mark.parametrize(
    "message", [AttachRequest("X.", 1, frozenset(("X.",))), BrokersChanged(frozenset(), frozenset())]
)
def test_an_uplink_does_not_ask_its_child(message: AttachRequest | BrokersChanged) -> None:
    network = Network(Fifo)
    network.chain("A", "B")
    with pytest.raises(ProtocolError, match="the uplink A"):
        network.cores["B"].receive(network.hops["B", "A"], [message])


@pytest.mark.parametrize("verdict", ["granted", "cycle"])
def test_a_verdict_counts_only_from_the_broker_that_was_asked(verdict: str) -> None:
    network = Network(Fifo)
    network.chain("A", "B")
    core = network.cores["A"]
    core.open_link("C", uplink=True)
    core.receive(network.hops["A", "B"], [AttachAnswer("A.", 1, verdict)])
    assert core.take().rejected == []
    assert core._membership.attachments.state is AttachmentState.ASKING


def test_attachments_are_looked_at_when_a_link_joins_and_not_else(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(Pairwise)
    network.chain("A", "B")
    looks = []
    go_on = Membership.go_on

    def counting(self: Membership) -> Iterator[Attach | Take]:
        looks.append(self)
        return go_on(self)

    monkeypatch.setattr(Membership, "go_on", counting)
    for broker in ("A", "B"):
        network.advertise(broker, f"p{broker}", "c > 0")
        network.subscribe(broker, f"s{broker}", "c == 1")
    network.settle()
    network.publish("B", "pB", c=1)
    network.settle()
    network.unsubscribe("B", "sB")
    network.unadvertise("B", "pB")
    network.settle()
    assert not looks
    network.add("C")
    network.dial("C", "B")
    network.settle()
    assert network.cores["C"].uplink is not None
    assert looks
