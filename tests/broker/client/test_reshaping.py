"""Which moves drain a broker or insert one."""

import pytest

from broker.client.reshaping import Moves, to_drain, to_insert

UPLINKS = {"B1": "", "B2": "B1", "B3": "B2", "B4": "B2", "B5": "B1", "B6": "B1"}
PLACES = [{"name": name, "uplink": uplink} for name, uplink in UPLINKS.items()]


@pytest.mark.parametrize(
    ("broker", "moves"),
    [
        ("B2", [("B3", "B1"), ("B4", "B1")]),
        ("B3", []),
        ("B1", [("B5", "B2"), ("B6", "B2")]),
        ("B9", []),
    ],
)
def test_the_children_of_a_drained_broker_go_up_or_below_the_next_root(broker: str, moves: Moves) -> None:
    assert to_drain(PLACES, broker) == moves


@pytest.mark.parametrize(
    ("new", "between", "moves"),
    [
        ("B5", ("B1", "B2"), [("B2", "B5")]),
        ("B5", ("B3", "B2"), [("B5", "B2"), ("B3", "B5")]),
        ("B5", ("B3", "B4"), []),
        ("B3", ("B2", "B3"), []),
        ("B5", ("B9", "B8"), []),
    ],
)
def test_a_broker_that_is_inserted_goes_below_the_upper_and_takes_the_lower(
    new: str, between: tuple[str, str], moves: Moves
) -> None:
    assert to_insert(PLACES, new, *between) == moves
