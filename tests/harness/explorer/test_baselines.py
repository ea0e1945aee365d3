"""The plugins to compare with, explored: what each keeps and breaks."""

import pytest

from harness.explorer.campaign import CampaignSettings, run
from harness.simulator.outcome import Outcome, of_seed
from ordering.plugins import load

BROKERS = (2, 6)

MISSED = {"missing", "gap", "promise: complete", "promise: matched"}
"""Something that was owed did not come, and nothing else is wrong."""


def wrong(outcome: Outcome) -> set[str]:
    """What is wrong, and of the formal promises which."""
    found = [(kind, text.partition(":")[0]) for kind, text in outcome.faults]
    return {f"promise: {axiom}" if kind == "promise" else kind for kind, axiom in found}


@pytest.mark.parametrize("sequencer", ["B1", "B2"])
@pytest.mark.parametrize("faults", ["none", "churn"])
def test_the_sequencer_keeps_every_promise_without_losses(faults: str, sequencer: str) -> None:
    options = {"sequencer": sequencer, "requests": "2"}
    assert run(CampaignSettings(300, 0, faults, "sequencer", None, BROKERS, options)).violations == 0


@pytest.mark.parametrize("sequencer", ["B1", "B2"])
def test_the_sequencer_keeps_all_order_whichever_broker_is_lost(sequencer: str) -> None:
    ordering = load("sequencer", {"sequencer": sequencer, "requests": "2"})
    for seed in range(300):
        outcome = of_seed(seed, "crash", BROKERS, ordering)
        # A broker that loses its way to the sequencer gives up what it has under way. Without a sequencer
        # publications wait until there is one again.
        waits = set() if sequencer in outcome.world.sites else {"stuck"}
        assert wrong(outcome) <= MISSED | waits


def test_a_full_queue_refuses_and_what_is_left_is_in_order() -> None:
    ordering = load("sequencer", {"requests": "1", "queue": "1"})
    outcomes = [of_seed(seed, "none", BROKERS, ordering) for seed in range(100)]
    refused = [sum(s.core.measures.refused for s in each.world.sites.values()) for each in outcomes]
    assert sum(refused) > 0
    for outcome, count in zip(outcomes, refused, strict=True):
        assert wrong(outcome) <= MISSED
        assert count or not outcome.faults


@pytest.mark.parametrize("form", ["basic", "progressive", "fast"])
def test_published_breaks_pairwise_order(form: str) -> None:
    tally = run(CampaignSettings(200, 0, "none", "published", None, BROKERS, {"form": form}))
    assert tally.kinds["pairwise"] > 10
    assert f"--ordering-option form={form}" in str(tally.first["replay"])
