"""What `concord explain` gets to know."""

import json

from broker.core.ways import WAYS_REMEMBERED
from broker.messages import WayAnswer
from ordering.pairwise import Pairwise
from tests.broker.core.network import Network


def asked(network: Network, broker: str, publisher: str, sequence: int) -> list[dict[str, object]]:
    network.cores[broker].explain_way("q", publisher, sequence)
    network.collect(broker)
    network.settle()
    (answer,) = network.explained
    assert isinstance(answer, WayAnswer)
    return [json.loads(step) for step in answer.steps]


def overlay() -> Network:
    network = Network(Pairwise)
    network.chain("A", "B", "C")
    network.subscribe("A", "above", "True")
    network.subscribe("C", "below", "True")
    network.advertise("A", "q", "True")
    network.advertise("C", "p", "True")
    network.settle()
    return network


def test_the_way_of_a_publication_is_explained_from_any_broker_it_came_to() -> None:
    network = overlay()
    network.publish("C", "p", c=1)
    network.settle()
    steps = {step["broker"]: step for step in asked(network, "B", "p", 1)}
    assert steps["C"]["came_from"] == "a client"
    assert steps["C"]["went_to"] == ["B", "below"]
    assert (steps["B"]["came_from"], steps["B"]["went_to"]) == ("C", ["A"])
    assert (steps["A"]["came_from"], steps["A"]["went_to"]) == ("B", ["above"])


def test_where_it_still_waits_is_explained_too() -> None:
    network = overlay()
    network.publish("C", "p", c=1)
    network.in_flight["C", "B"].clear()
    (step, beyond) = asked(network, "C", "p", 1)
    assert (step["went_to"], step["waits_for"]) == (["B"], ["below"])
    assert beyond == {"broker": "B", "remembered": False}


def test_waiting_names_the_item_its_targets_and_the_broker_that_owes_the_answer() -> None:
    network = overlay()
    network.publish("C", "p", c=1)
    network.publish("C", "p", c=2)
    (line,) = network.cores["C"].explain_waiting()
    assert json.loads(line) == {
        "broker": "C",
        "target": "below",
        "head": {"publisher": "p", "sequence": 1},
        "published_ns": None,
        "needs": "the uplink's acknowledgement",
        "from": "B",
        "behind": 1,
    }
    assert "blocked: the uplink's acknowledgement" in repr(network.cores["C"])


def test_a_hop_that_took_over_a_bit_is_not_named() -> None:
    network = overlay()
    network.publish("C", "p", c=1)
    network.settle()
    network.unsubscribe("C", "below")
    network.subscribe("C", "later", "c == 7")
    network.settle()
    steps = {step["broker"]: step for step in asked(network, "C", "p", 1)}
    assert steps["C"]["went_to"] == ["B"]
    assert steps["C"]["hops_gone_since"] == 1


def test_a_lost_link_counts_as_having_answered() -> None:
    network = overlay()
    network.publish("C", "p", c=1)
    network.settle()
    network.cores["C"].explain_way("q", "p", 1)
    network.collect("C")
    network.cut("C", "B")
    assert [json.loads(step)["broker"] for step in network.explained[0].steps] == ["C"]


def test_only_so_many_ways_are_remembered() -> None:
    network = overlay()
    for c in range(WAYS_REMEMBERED + 1):
        network.publish("C", "p", c=c % 10)
    network.settle()
    assert asked(network, "C", "p", 1) == [{"broker": "C", "remembered": False}]
