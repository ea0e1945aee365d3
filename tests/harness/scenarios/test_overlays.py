"""Shapes: one root, no loops, and brokers behind their uplinks."""

from hypothesis import given
from hypothesis import strategies as st

from harness.scenarios.overlays import edges, fallbacks, uplinks
from harness.scenarios.scenario import Overlay

OVERLAYS = st.one_of(
    st.builds(Overlay, shape=st.just("chain"), cores=st.integers(1, 9), edges_per_core=st.integers(0, 4)),
    st.builds(Overlay, shape=st.sampled_from(["star", "tree"]), brokers=st.integers(1, 20)),
)


@given(OVERLAYS, st.integers(0, 99))
def test_every_broker_stands_behind_its_uplink_and_one_has_none(overlay: Overlay, seed: int) -> None:
    above = uplinks(overlay, seed, "x")
    started: list[str | None] = [None]
    for name, uplink in above.items():
        assert uplink in started
        started.append(name)
    assert list(above.values()).count(None) == 1
    assert edges(above)


@given(OVERLAYS, st.integers(0, 99), st.integers(0, 5))
def test_a_broker_never_falls_back_to_itself_or_below_itself(overlay: Overlay, seed: int, count: int) -> None:
    above = uplinks(overlay, seed, "x")
    for name in above:
        others = fallbacks(above, name, count)
        assert len(others) <= count
        assert len(set(others)) == len(others)
        assert not {name, above[name]} & set(others)
        assert all(above[other] != name for other in others)


def test_the_papers_chain_has_its_top_in_the_middle() -> None:
    above = uplinks(Overlay(shape="chain", cores=16, edges_per_core=5), 1, "x")
    assert len(above) == 96
    assert above["core-8"] is None
    assert (above["core-1"], above["core-16"]) == ("core-2", "core-15")
    assert (above["edge-1"], above["edge-5"], above["edge-6"], above["edge-80"]) == (
        "core-1",
        "core-1",
        "core-2",
        "core-16",
    )
    assert len(edges(above)) == 80


def test_a_list_may_come_in_any_order() -> None:
    given_ = {"c": "b", "a": "", "b": "a"}
    assert list(uplinks(Overlay(shape="list", uplinks=given_), 1, "x")) == ["a", "b", "c"]
