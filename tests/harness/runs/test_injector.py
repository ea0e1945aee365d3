"""Faults hit whom they name, and say when nobody is called that."""

from random import Random

import pytest

from harness.faults import FaultError, LinkTarget
from harness.runs.injector import read_faults
from harness.runs.plan import plan_of
from harness.scenarios import Scenario, from_content

CONTENT = {"overlay": {"cores": 2, "edges_per_core": 2, "fallbacks": 1}}
PLAN = plan_of(from_content("x", CONTENT, "x").first)


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("crash edge-3 at 1s", {"edge-3"}),
        ("crash core-* at 1s", {"core-1", "core-2"}),
        ("cut link edge-3 at 1s", {LinkTarget("edge-3", "core-2")}),
        ("cut link core-1 core-2 at 1s", {LinkTarget("core-2", "core-1")}),
        ("cut link edge-3 core-1 at 1s", {LinkTarget("edge-3", "core-1")}),
        ("disconnect client pub-2 at 1s", {LinkTarget("pub-2", "edge-2")}),
        ("slow subscriber sub-5 at 1s", {"sub-5"}),
    ],
)
def test_a_name_is_looked_up(text: str, hit: set[object]) -> None:
    (found,) = read_faults([text], PLAN)
    assert set(found.candidates) == hit


def test_anybody_is_anybody() -> None:
    (found,) = read_faults(["kill random every 1s"], PLAN)
    random = Random(1)
    assert {found.draw(random) for _ in range(200)} == set(PLAN.uplinks)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("crash edge-9 at 1s", "at word 2, 'edge-9': no broker is called that; there are core-1"),
        ("cut link core-1 at 1s", "at word 3, 'core-1': no link is called that; there are core-2"),
        ("cut link edge-1 edge-2 at 1s", "at word 4, 'edge-2': there is no link between edge-1 and edge-2"),
        ("slow subscriber pub-1 at 1s", "at word 3, 'pub-1': no subscription is called that"),
        ("disconnect client edge-1 at 1s", "at word 3, 'edge-1': no client is called that"),
    ],
)
def test_an_error_points_at_the_name(text: str, complaint: str) -> None:
    with pytest.raises(FaultError) as raised:
        read_faults([text], PLAN)
    assert complaint in str(raised.value)


def test_clients_are_dealt_out_evenly_and_none_is_left_out() -> None:
    plan = plan_of(Scenario())
    for role, count in (("publisher", 12), ("subscriber", 12)):
        seats = [seat for job in plan.jobs if job.role == role for seat in job.seats]
        names = [name for seat in seats for name in seat.roles]
        assert len(names) == len(set(names)) == count
        per_broker = [sum(seat.broker == broker for seat in seats) for broker in plan.uplinks]
        assert max(per_broker) <= 1
