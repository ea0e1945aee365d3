"""The core's tables are those of the strategies alone, and those worked out from who wants what."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.evaluation.routing.expected import expected_tables, is_countable
from harness.evaluation.routing.network import CountedNetwork
from harness.evaluation.routing.thesis import ROOT, Tree, Want, thesis_tree
from tests.harness.evaluation.routing.forwarding import Forwarding

TREE = thesis_tree(levels=2)
LOCALS = [place.name for place in TREE.locals]

Step = tuple[int, int, int, int]
steps = st.lists(
    st.tuples(st.integers(0, len(LOCALS) - 1), st.integers(0, 2), st.integers(0, 8), st.integers(0, 8)),
    max_size=25,
)


def windows(name: str, stock: int, low: int, width: int) -> Want:
    """Windows of different stocks never have the same prices, and none is a single price: those merge too."""
    start = low + stock / 8
    return Want(name, stock, start, start + width + 1)


def quotes(name: str, stock: int, low: int, width: int) -> Want:
    return Want(name, stock * 4 + (low + width) % 4)


def happen(
    network: CountedNetwork | Forwarding, steps: list[Step], kind: Callable[..., Want]
) -> dict[str, list[Want]]:
    """Every step subscribes, or ends what an equal step before it has subscribed."""
    active: dict[Step, tuple[str, Want]] = {}
    for number, step in enumerate(steps):
        broker = LOCALS[step[0]]
        if step in active:
            network.unsubscribe(broker, active.pop(step)[1].id)
        else:
            want = kind(f"s{number}", *step[1:])
            active[step] = broker, want
            network.subscribe(broker, want.id, want.filter)
    return {name: [want for broker, want in active.values() if broker == name] for name in LOCALS}


def entries(network: CountedNetwork | Forwarding, tree: Tree) -> dict[str, int]:
    return {place.name: network.remote_entries(place.name) for place in tree.places}


@pytest.mark.parametrize("advertising", ["flooding", "simple", "covering"])
@pytest.mark.parametrize("strategy", ["flooding", "simple", "identity", "covering", "merging", "merging:1.5"])
@pytest.mark.parametrize("kind", [windows, quotes])
@settings(max_examples=12, deadline=None)
@given(steps=steps, source=st.sampled_from([ROOT, LOCALS[2]]))
def test_tables_are_what_they_should_be(
    strategy: str, advertising: str, kind: Callable[..., Want], steps: list[Step], source: str
) -> None:
    routing = f"{strategy}+{advertising}"
    network, alone = CountedNetwork.of(TREE, routing, source), Forwarding.of(TREE, routing, source)
    active = happen(network, steps, kind)
    happen(alone, steps, kind)
    found = entries(network, TREE)
    assert found == entries(alone, TREE)
    if is_countable(strategy):
        advertised = None if advertising == "flooding" else source
        assert found == expected_tables(TREE, strategy, active, advertised)


@pytest.mark.parametrize("strategy", ["simple", "identity", "covering"])
@settings(max_examples=15, deadline=None)
@given(steps=steps)
def test_a_change_is_one_message_over_a_link_and_is_acknowledged_once_where_something_came(
    strategy: str, steps: list[Step]
) -> None:
    network, alone = CountedNetwork.of(TREE, f"{strategy}+simple"), Forwarding.of(TREE, f"{strategy}+simple")
    happen(network, steps, windows)
    happen(alone, steps, windows)
    sent = network.take()
    assert sent.changes == alone.take().changes
    assert sent.acknowledgements <= sent.changes


def test_quotes_go_where_a_consumer_wants_them() -> None:
    network = CountedNetwork.of(TREE, "identity+simple")
    for name in LOCALS[:2]:
        want = Want(f"{name}.0", 3)
        network.subscribe(name, want.id, want.filter)
    network.take()
    network.publish(ROOT, {"symbol": "ad", "price": 5.0})
    network.publish(ROOT, {"symbol": "ae", "price": 5.0})
    sent = network.take()
    assert (sent.publications, sent.deliveries) == (3, 2)
