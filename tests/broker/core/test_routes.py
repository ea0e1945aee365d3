"""R5 to R7: which routes are announced where, and when a publisher or a subscriber may continue."""

from broker.core.hops import members
from broker.messages import (
    AdvertisementAdded,
    OrderingMessage,
    Publication,
    SubscriptionAdded,
    SubscriptionWithdrawn,
)
from ordering.fifo import Fifo
from ordering.pairwise import Pairwise
from tests.broker.core.network import Network


def test_a_publisher_may_publish_when_the_whole_overlay_knows_it() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.advertise("A", "p", "True")
    network.step(("A", "B"))
    network.step(("B", "C"))
    network.step(("C", "B"))
    assert network.advertised == []
    network.step(("B", "A"))
    assert network.advertised == ["p"]


def test_an_advertisement_is_acknowledged_after_the_subscriptions_it_attracts() -> None:
    network = Network(Fifo)
    network.chain("A", "B")
    network.subscribe("B", "s", "True")
    network.advertise("A", "p", "True")
    network.step(("A", "B"))
    assert isinstance(network.step(("B", "A")), SubscriptionAdded)
    assert not network.in_flight["B", "A"], "the advertisement waits for the subscription"
    network.step(("A", "B"))
    network.step(("B", "A"))
    assert network.advertised == ["p"]


def test_a_subscription_is_complete_when_all_brokers_on_the_path_to_the_publishers_know_it() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.advertise("C", "p", "True")
    network.settle()
    network.subscribe("A", "s", "True")
    assert network.subscribed == []
    for end in [("A", "B"), ("B", "C"), ("C", "B")]:
        network.step(end)
    assert network.subscribed == []
    network.step(("B", "A"))
    assert network.subscribed == ["s"]


def test_a_gate_keeps_publications_out_until_the_neighbour_has_acknowledged() -> None:
    network = Network(Fifo)
    network.chain("A", "B")
    network.subscribe("B", "early", "True")
    network.advertise("A", "p", "True")
    network.settle()
    network.publish("A", "p", c=1)
    network.subscribe("B", "s", "True")
    network.settle()
    assert network.got("early") == [("p", 1)]
    assert network.got("s") == []
    network.publish("A", "p", c=2)
    network.settle()
    assert network.got("s") == [("p", 2)]


def test_subscriptions_go_only_towards_overlapping_advertisements() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.advertise("A", "p", "c < 5")
    network.settle()
    network.subscribe("C", "near", "c < 3")
    network.subscribe("C", "far", "c > 7")
    network.settle()
    assert network.cores["A"].counts()["subscriptions"] == 1
    assert network.cores["B"].counts()["subscriptions"] == 1


def test_a_subscription_is_taken_back_when_the_last_overlapping_advertisement_goes() -> None:
    network = Network(Fifo)
    network.chain("A", "B")
    network.advertise("A", "p", "c < 5")
    network.advertise("A", "q", "c < 9")
    network.subscribe("B", "s", "c < 3")
    network.settle()
    network.unadvertise("A", "p")
    network.settle()
    assert network.cores["A"].counts()["subscriptions"] == 1
    network.unadvertise("A", "q")
    network.step(("A", "B"))
    assert network.step(("B", "A")) == SubscriptionWithdrawn("s")
    assert network.cores["A"].counts()["subscriptions"] == 0


def test_news_of_routes_do_not_overtake_pending_publications_for_the_same_child() -> None:
    network = Network(Pairwise)
    network.chain("A", "B", "C")
    network.subscribe("A", "above", "True")
    network.subscribe("C", "below", "True")
    network.advertise("A", "q", "True")
    network.advertise("B", "p", "True")
    network.settle()
    network.publish("B", "p", c=1)
    network.advertise("B", "r", "True")
    assert not network.in_flight["B", "C"]
    network.step(("B", "A"))
    network.step(("A", "B"))
    kinds = [type(message) for message in network.in_flight["B", "C"]]
    assert kinds == [Publication, AdvertisementAdded]


def test_acknowledgements_in_a_row_are_one_message_with_a_count() -> None:
    network = Network(Pairwise)
    network.chain("A", "B")
    network.subscribe("A", "above", "True")
    network.subscribe("B", "below", "True")
    network.advertise("A", "q", "True")
    network.advertise("B", "p", "True")
    network.settle()
    for c in range(3):
        network.publish("B", "p", c=c)
    messages = list(network.in_flight["B", "A"])
    network.in_flight["B", "A"].clear()
    network.cores["A"].receive(network.hops["A", "B"], messages)
    network.collect("A")
    assert list(network.in_flight["A", "B"]) == [OrderingMessage((3,))]
    network.settle()
    assert network.got("below") == [("p", 1), ("p", 2), ("p", 3)]


def test_a_bit_is_used_again_after_its_hop_is_gone() -> None:
    network = Network(Fifo)
    network.chain("A")
    network.advertise("A", "p", "True")
    for round_ in range(5):
        network.subscribe("A", f"s{round_}", "True")
        network.publish("A", "p", c=round_)
        network.unsubscribe("A", f"s{round_}")
    assert [len(network.got(f"s{round_}")) for round_ in range(5)] == [1] * 5
    assert network.cores["A"]._hops.open("x", is_link=False).number == 0


def test_members_of_a_set_of_hops() -> None:
    assert list(members(0b1011)) == [0, 1, 3]
