"""Requests to move: how they are refused, and that they reach their broker and return."""

import json

import pytest

from broker.core import BrokerCore, Hop, ProtocolError
from broker.core.stepping import WAITING_MAX
from broker.messages import LinkMessage
from broker.move_messages import (
    LiftAsked,
    Lifted,
    LiftReady,
    LowerAsked,
    LowerCancelled,
    LowerGranted,
    StepAsked,
    StepCancelled,
    StepGranted,
    StepQueued,
    StepRefused,
    Switched,
)
from ordering.pairwise import Pairwise
from tests.broker.core.network import Network


def chain() -> Network:
    """B1 above B2 above B3, all of which can be dialled."""
    network = Network(Pairwise)
    network.chain("B1", "B2", "B3")
    for name, core in network.cores.items():
        core.reached_at(name)
        network.collect(name)
    network.settle()
    return network


@pytest.mark.parametrize(
    ("broker", "uplink", "method", "state", "text"),
    [
        ("B1", "B2", "reattach", "refused", "B1 is the root of its tree"),
        ("B2", "B3", "reattach", "refused", "B3 is below B2: the overlay would have a cycle"),
        ("B2", "B2", "path", "refused", "B2 cannot be its own uplink"),
        ("B3", "B9", "reattach", "refused", "B3 knows no address of a broker B9"),
        ("B9", "B1", "path", "unknown", "no broker of this overlay is called B9"),
        ("B3", "B2", "path", "moved", "B3 is below B2 already"),
        ("B2", "", "end", "refused", "B3 is still below B2"),
        ("B3", "", "end", "ended", "B3 ends"),
    ],
)
def test_a_request_is_answered_where_it_was_made(
    broker: str, uplink: str, method: str, state: str, text: str
) -> None:
    network = chain()
    network.cores["B1"].move("question", broker, uplink, method)
    network.collect("B1")
    network.settle()
    (answer,) = network.explained
    outcome = json.loads(answer.steps[0])
    assert (answer.question, answer.more, outcome["state"]) == ("question", False, state)
    assert text in outcome["text"]


def test_a_second_move_waits_for_the_first() -> None:
    network = chain()
    for _ in range(2):
        network.cores["B1"].move("question", "B3", "B1", "reattach")
        network.collect("B1")
    network.settle()
    states = [json.loads(answer.steps[0])["state"] for answer in network.explained]
    assert states == ["begun", "queued"]
    assert all(answer.more for answer in network.explained)


def test_a_step_waits_for_another_at_the_same_broker() -> None:
    core = chain().cores["B1"]
    links = [core.open_link(name, uplink=False) for name in ("B3", "B4")]
    for link in links:
        core.receive(link, [StepAsked(f"{link.name}.", 1, "B2")])
    sent = {hop.name: messages[-1] for hop, messages in core.take().outgoing}
    assert (sent["B3"], sent["B4"]) == (StepGranted(1), StepQueued(1))
    core.close_link(links[0])
    ((_, (answer,)),) = core.take().outgoing
    assert answer == StepRefused(1, "B2 is not its child, with B4 below it")


def busy() -> tuple[Network, BrokerCore, Hop]:
    """B2 of a chain of four takes part in the lift of B4, over its child B3."""
    network = Network(Pairwise)
    network.chain("B1", "B2", "B3", "B4")
    core = network.cores["B2"]
    new = core.open_link("B4", uplink=False)
    core.receive(new, [StepAsked("B4.", 1, "B3")])
    assert sent(core) == {"B4": [StepGranted(1)]}
    return network, core, new


def sent(core: BrokerCore) -> dict[str, list[LinkMessage]]:
    return {hop.name: messages for hop, messages in core.take().outgoing}


def test_the_lift_of_a_child_waits_for_a_step_of_its_parent() -> None:
    network, core, new = busy()
    core.receive(network.hops["B2", "B3"], [LiftAsked(1, "B1")])
    assert sent(core) == {"B3": [StepQueued(1)]}
    core.close_link(new)
    assert sent(core) == {"B3": [LiftReady(1)]}


def test_a_lowering_waits_for_a_step_of_the_parent() -> None:
    network, core, new = busy()
    network.add("B5")
    network.dial("B5", "B2")
    network.settle()
    core.receive(network.hops["B2", "B3"], [LowerAsked("B5", 1)])
    assert sent(core) == {"B5": [StepQueued(1)]}
    core.close_link(new)
    assert sent(core) == {"B3": [LowerGranted("B5", 1)]}


def test_a_lowering_waits_for_a_step_of_the_sibling_once_the_parent_has_granted_it() -> None:
    network, core, _ = busy()
    sibling = core.open_link("B5", uplink=False)
    core.receive(sibling, [StepAsked("B5.", 1, "B1")])
    assert sent(core) == {"B1": [LowerAsked("B5", 1)]}
    core.receive(network.hops["B2", "B1"], [LowerGranted("B5", 1)])
    assert sent(core) == {"B5": [StepQueued(1)]}
    core.close_link(sibling)
    ((cancelled,),) = sent(core).values()
    assert isinstance(cancelled, LowerCancelled)


def test_what_is_given_up_waits_no_longer() -> None:
    network, core, new = busy()
    core.receive(network.hops["B2", "B3"], [LiftAsked(1, "B1"), StepCancelled(1)])
    core.close_link(new)
    assert sent(core) == {"B3": [StepQueued(1)]}
    assert core.counts()["steps"] == 0


def test_no_more_than_a_limit_waits() -> None:
    network, core, _ = busy()
    core.receive(network.hops["B2", "B3"], [LiftAsked(n, "B1") for n in range(WAITING_MAX + 1)])
    *queued, refused = sent(core)["B3"]
    assert queued == [StepQueued(number) for number in range(WAITING_MAX)]
    assert refused == StepRefused(WAITING_MAX, f"{WAITING_MAX} steps wait already")


def test_what_makes_no_sense_ends_the_link() -> None:
    network = chain()
    hops, b1 = network.hops, network.cores["B1"]
    with pytest.raises(ProtocolError, match="B2 lifted itself"):
        b1.receive(hops["B1", "B2"], [Lifted("B2", 1)])
    with pytest.raises(ProtocolError, match="B2 sent Switched, and is not the uplink"):
        b1.receive(hops["B1", "B2"], [Switched("B2", 1)])


def test_a_child_that_nobody_expects_is_taken_over_and_lost_at_once() -> None:
    network = chain()
    network.cores["B1"].receive(network.hops["B1", "B2"], [Lifted("B7", 1)])
    network.collect("B1")
    assert set(network.cores["B1"].neighbours) == {"B2"}
