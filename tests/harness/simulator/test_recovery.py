"""Whatever happens to the tables of brokers with leases, they are right again in time."""

import pytest

from broker.core.audit import StateAudit
from broker.core.leases import Leases, Repairs
from broker.routing import parse
from harness.explorer import broken_audits, broken_leases
from harness.simulator.recovery import recover
from ordering.pairwise import Pairwise

SEEDS = 8
ENOUGH = 40
"""So many seeds find what is broken."""


@pytest.mark.parametrize(
    "routing", ["simple", "identity", "covering", "covering+identity", "flooding", "merging"]
)
def test_tables_and_deliveries_are_right_again_within_the_bound(routing: str) -> None:
    corrupted = 0
    for seed in range(SEEDS):
        recovered = recover(seed, Pairwise, parse(routing))
        assert recovered.faults == (), (seed, recovered.corruptions)
        assert recovered.took_s <= recovered.bound_s
        corrupted += len(recovered.corruptions)
    assert corrupted


@pytest.mark.parametrize(
    ("owner", "name", "instead"),
    [
        (Leases, "refresh", broken_leases.says_nothing),
        (Leases, "renewed", broken_leases.renews_nothing),
        (Leases, "listed", broken_leases.forgets_what_was_left_out),
        (Repairs, "make", broken_leases.repairs_nothing),
        (StateAudit, "make_local", broken_audits.looks_at_no_client),
    ],
)
def test_without_one_of_the_rules_some_world_stays_wrong(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, instead: object
) -> None:
    monkeypatch.setattr(owner, name, instead)
    assert any(recover(seed, Pairwise, parse("identity")).faults for seed in range(ENOUGH))
