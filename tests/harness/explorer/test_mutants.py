"""Every rule that is broken is found, by a schedule that is clean without it."""

from pathlib import Path

import pytest
from attrs import evolve

from broker.routing import SIMPLE
from harness.explorer.campaign import CampaignSettings, run
from harness.explorer.mutants import MUTANTS, applied
from harness.simulator import directed
from harness.simulator.outcome import of_actions, of_seed
from harness.simulator.scenario import perform
from harness.simulator.scripts import read
from ordering.pairwise import Pairwise

SCENARIOS = Path(__file__).parents[2] / "scenarios"

SOON = 3000
"""Schedules that take ten seconds or less; most mutants are found within a hundred."""

FIRST_SEEDS = {
    "acknowledged-before-sync": 1500,
    "acts-on-every-page": 330,
    "all-is-synced": 40,
    "audit-asks-nothing": 300,
    "audit-notifies-nobody": 150,
    "audit-owes-nothing": 570,
    "backlog-forgotten": 30,
    "barrier-forgets": 2460,
    "batches-at-the-end": 360,
    "client-acknowledges-more": 2280,
    "client-flushes-all": 400,
    "client-keeps-old-offers": 120,
    "client-repeats-elsewhere": 80,
    "client-rewinds-backwards": 70,
    "client-skips-uncounted": 80,
    "control-overtakes": 900,
    "control-passes-queue": 60,
    "crossing-forgets-newcomers": 140,
    "crossing-opens-early": 1260,
    "crossing-sends-what-has-gone": 3340,
    "crossing-withdraws-nothing": 2480,
    "ends-unsaid": 134_010_990,
    "forgets-who-moved": 190,
    "gap-lost-on-the-way": 30,
    "grants-everybody": 20,
    "greets-without-end": 60,
    "interest-kept-listed": 70,
    "interest-not-anew": 110,
    "journal-room-forgotten": 210,
    "late-one-by-one": 1400,
    "lease-announced-again": 240,
    "lease-behind-credit": 420,
    "lease-untold-here": 450,
    "lift-leases-overtaken": 810,
    "lift-no-drain": 400,
    "lift-parent-forgotten": 9_011_900,
    "lift-reads-at-once": 100,
    "lift-serves-later": 104_600,
    "lift-torn": 3080,
    "lift-waits-for-others": 150,
    "links-starve": 210,
    "look-not-again": 680,
    "look-not-awaited": 160,
    "lost-queue-holds": 70,
    "lower-old-leases": 200,
    "lower-older-passes": 170,
    "lower-own-side-passes": 33_140_690,
    "lower-torn": 400,
    "no-pump-after-written": 30,
    "numbers-forgotten": 2400,
    "owed-gap-late": 590,
    "publishers-of-others": 60,
    "publishers-wait-on": 160,
    "received-uncounted": 110,
    "replay-stops": 40,
    "says-once": 420,
    "silent-while-reading": 950,
    "steps-old-answers": 22_110_440,
    "subscriptions-of-others": 120,
    "unordered-subscription-waits": 600,
    "unsealed-early": 230,
    "unsettled": 190,
    "untold-crossing": 520,
    "withdrawn-page-first": 220,
}
"""Where the search begins, if it would take seconds from seed 0; `harness.explorer.table` begins there."""


SHOWN = {
    "crossing-announced-to-nobody": "replay-not-before-the-gap-is-known",
    "crossing-keeps-what-was-known-twice": "crossing-withdraws-what-was-known-twice",
    "crossing-serves-early": "crossing-serves-neighbours-last",
    "crossing-serves-what-is-asked": "crossing-serves-what-is-asked-last",
    "lift-requests-open": "move-two-siblings-up",
    "lower-grant-unanswered": "move-granted-to-nobody",
    "lower-loss-untold": "move-down-and-the-parent-is-lost",
}
"""Scenarios of rules that chance meets once in ten thousand schedules, or more rarely."""


@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - SHOWN))
def test_a_broken_rule_is_found_within_seconds(name: str) -> None:
    mutant = MUTANTS[name]
    settings = CampaignSettings(
        SOON,
        FIRST_SEEDS.get(name, 10 if mutant.is_whole else 0),
        mutant.faults,
        "pairwise",
        name,
        routing=mutant.routing,
        is_whole=mutant.is_whole,
    )
    found = run(settings, until_found=True)
    assert found.violations
    whole = evolve(settings, schedules=1, seed=int(str(found.first["seed"])), mutant=None)
    assert not run(whole).violations


@pytest.mark.parametrize(("name", "scenario"), SHOWN.items())
def test_a_scenario_needs_the_rule_it_is_made_for(name: str, scenario: str) -> None:
    text = (SCENARIOS / f"{scenario}.txt").read_text()
    assert perform(text, Pairwise) == text
    with applied(name):
        assert "= every promise was kept" not in perform(text, Pairwise)


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("any-answer-opens", directed.EARLY_ANSWER),
        ("crosses-early", directed.FLOOD_BEHIND),
        ("old-flood-opens", directed.OLD_FLOODS),
        ("opens-without-asking", directed.BEHIND_A_NEW_LINK),
        ("no-deferral", directed.KNOWN_TWO_WAYS),
        ("no-second-look", directed.STALE_SINCE),
        ("lower-not-above", directed.PENDING_FOR_THE_CHILD),
        ("lower-both-ways", directed.PENDING_FOR_THE_SIBLING),
        ("lift-no-preparation", directed.OLDER_THAN_THE_LIFT),
        ("lift-older-passes", directed.OLDER_THAN_THE_LIFT),
        ("lift-own-returns", directed.WITHDRAWN_ON_THE_WAY),
        ("steps-given-up-wait", directed.GIVEN_UP_WHILE_IT_WAITS),
    ],
)
def test_a_directed_schedule_needs_the_rule_it_is_made_for(name: str, script: str) -> None:
    actions = tuple(action for action in read(script) if action != ("begin",))
    assert of_actions(actions, Pairwise, routing=SIMPLE).faults == ()
    with applied(name):
        assert of_actions(actions, Pairwise, routing=SIMPLE).faults


RULES = {
    *(
        "budgets",
        "client",
        "credit",
        "ends",
        "gaps",
        "greeting",
        "healing",
        "interest",
        "journal",
        "past",
        "leases",
        "moves",
        "offers",
        "needless",
        "outbox",
        "pace",
        "pages",
        "promises",
        "queues",
        "replay",
        "sessions",
        "snapshots",
        "timers",
    ),
    *(f"R{number}" for number in range(1, 10)),
}


def test_mutants_say_what_they_break() -> None:
    for name, mutant in MUTANTS.items():
        assert mutant.rule in RULES, name
        assert mutant.text.endswith((".", ")")), name


def test_the_product_is_whole_again_afterwards() -> None:
    before = [(owner, name, owner.__dict__[name]) for m in MUTANTS.values() for owner, name, _ in m.changes]
    for name in MUTANTS:
        with applied(name):
            pass
    assert all(owner.__dict__[name] is whole for owner, name, whole in before)


def test_a_mutant_leaves_everything_whole_when_something_raises() -> None:
    with pytest.raises(RuntimeError), applied("no-detection"):
        raise RuntimeError
    assert of_seed(2, "none", (2, 6), Pairwise).faults == ()
