"""Every axiom means what its formula says, and catches what is made for it alone."""

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

import pytest
from attrs import evolve
from hypothesis import given, settings

from ordering.promises import (
    AXIOMS,
    DEFINITIONS,
    Operation,
    Trace,
    TraceError,
    acknowledge,
    advertise,
    check,
    notify,
    publish,
    rest,
    subscribe,
    torn,
    unsubscribe,
)
from tests.ordering.promises.formulas import outcome
from tests.ordering.promises.mutants import MUTANTS
from tests.ordering.promises.traces import any_traces, lawful_trace, lawful_traces, matches

Mutant = Callable[[Trace], Iterator[list[Operation]]]

TRACES = 100


@settings(max_examples=500, deadline=None)
@given(any_traces())
def test_every_axiom_says_what_its_formula_says(trace: Trace) -> None:
    promises = check(trace)
    for axiom, verdict in promises.verdicts.items():
        assert verdict.outcome is outcome(trace, axiom), axiom
        assert bool(verdict.violations) is (verdict.outcome is False)
        assert bool(verdict.witnesses) is (verdict.outcome is not True)


@settings(deadline=None)
@given(lawful_traces())
def test_a_service_that_keeps_its_promises_has_nothing_held_against_it(trace: Trace) -> None:
    for asked in (trace, evolve(trace, acknowledging=False)):
        assert {verdict.outcome for verdict in check(asked).verdicts.values()} == {True}


@settings(deadline=None)
@given(lawful_traces(drained=False))
def test_what_is_still_in_flight_breaks_no_axiom(trace: Trace) -> None:
    assert check(trace).broken == ()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_breaks_the_axiom_it_is_made_for_and_no_other(mutant: Mutant) -> None:
    expected = {axiom: axiom != MUTANTS[mutant] for axiom in AXIOMS if axiom != "live"}
    changed = 0
    for seed in range(TRACES):
        trace = lawful_trace(Random(seed))
        for operations in islice(mutant(trace), 5):
            changed += 1
            promises = check(evolve(trace, operations=operations))
            assert {axiom: v.outcome for axiom, v in promises.verdicts.items()} == expected
    assert changed > 20


def test_liveness_without_advertisements_has_its_mutant_too() -> None:
    whole = [subscribe("Y", "all"), rest(), publish(("X", 1)), notify("Y", ("X", 1)), rest()]
    for operations, broken in ((whole, ()), (whole[:3] + whole[4:], ("live",))):
        trace = Trace(operations, matches, advertising=False, acknowledging=False)
        assert check(trace).broken == broken


# --- what follows from the definitions ---

Y_WANTS = [advertise("X", "all"), subscribe("Y", "even"), subscribe("Y", "all"), subscribe("Y", "all")]


def broken(*operations: Operation) -> tuple[str, ...]:
    return check(Trace(operations, matches, acknowledging=False)).broken


def test_one_unsubscribe_takes_back_a_filter_that_was_subscribed_several_times() -> None:
    odd, even = ("X", 1), ("X", 2)
    assert broken(*Y_WANTS, publish(odd), unsubscribe("Y", "all"), notify("Y", odd)) == ("wanted",)
    assert broken(*Y_WANTS, publish(even), unsubscribe("Y", "all"), notify("Y", even)) == ()


def test_unsubscribing_a_filter_leaves_those_that_it_covers() -> None:
    operations = [*Y_WANTS, unsubscribe("Y", "all"), rest(), publish(("X", 2)), rest()]
    assert broken(*operations) == ("matched",)


def test_matching_is_required_when_it_is_delivered_not_when_it_is_published() -> None:
    early = [advertise("X", "all"), publish(("X", 1)), subscribe("Y", "all"), notify("Y", ("X", 1)), rest()]
    assert broken(*early) == ()


def test_an_advertisement_that_was_there_when_it_was_published_is_enough() -> None:
    late = [*Y_WANTS, publish(("X", 1)), Operation("unadv", "X", "all"), notify("Y", ("X", 1)), rest()]
    assert broken(*late) == ()


def test_nothing_is_owed_that_is_published_during_a_loss() -> None:
    begun = [*Y_WANTS, rest(), publish(("X", 1))]
    assert broken(*begun, rest()) == ("matched",)
    assert broken(*begun, torn(), rest()) == ()
    assert broken(*begun, torn(), rest(), publish(("X", 2)), rest()) == ("matched",)


# --- undetermined ---


def test_an_obligation_is_undetermined_until_a_rest() -> None:
    operations = [advertise("X", "all"), subscribe("Y", "all"), acknowledge("Y", "all"), publish(("X", 1))]
    promises = check(Trace(operations, matches))
    assert promises["complete"].outcome is None
    assert promises["complete"].word == "undetermined"
    assert promises["complete"].open == 1
    assert promises.definition("liveness (5) and (6)").outcome is None
    assert check(Trace([*operations, rest()], matches)).broken == ("complete",)


def test_what_was_owed_before_an_earlier_rest_is_a_violation_though_the_trace_goes_on() -> None:
    operations = [subscribe("Y", "all"), rest(), publish(("X", 1))]
    assert check(Trace(operations, matches)).broken == ("acknowledged",)


# --- words ---


def test_every_definition_is_made_of_axioms_that_exist() -> None:
    assert {axiom for parts in DEFINITIONS.values() for axiom in parts} <= set(AXIOMS)


def test_a_definition_has_the_witnesses_of_the_axioms_that_break_it() -> None:
    operations = [*Y_WANTS, publish(("X", 1)), notify("Y", ("X", 1)), notify("Y", ("X", 1)), rest()]
    verdict = check(Trace(operations, matches, acknowledging=False)).definition("safety (2.4)")
    assert str(verdict) == ("safety (2.4): false (1 times) Y is notified of X/1 twice, at steps 5 and 6.")


@pytest.mark.parametrize(
    ("operations", "axiom", "text"),
    [
        (
            [subscribe("Y", "all"), notify("Y", ("X", 1))],
            "published",
            "Y is notified of X/1 at step 1, and nobody has published that.",
        ),
        (
            [*Y_WANTS[:2], publish(("X", 2)), unsubscribe("Y", "even"), notify("Y", ("X", 2))],
            "wanted",
            (
                "Y is notified of X/2 at step 4, and no filter that it has then matches. "
                "It unsubscribed even at step 3."
            ),
        ),
        (
            [subscribe("Y", "all"), publish(("X", 1)), notify("Y", ("X", 1))],
            "advertised",
            (
                "Y is notified of X/1 at step 2, and no advertisement of X matched it when it was published "
                "at step 1."
            ),
        ),
        (
            [acknowledge("Y", "all")],
            "pending",
            "Y has all acknowledged at step 0, and it has not subscribed that.",
        ),
        (
            [subscribe("Y", "all"), acknowledge("Y", "all"), acknowledge("Y", "all")],
            "pending",
            "Y has all acknowledged at step 2, and does not wait for it any more.",
        ),
        (
            [subscribe("Y", "all"), rest()],
            "acknowledged",
            "Y subscribes all at step 0, and it is not acknowledged.",
        ),
        (
            [*Y_WANTS[:2], acknowledge("Y", "even"), publish(("X", 2)), rest()],
            "complete",
            "Y is not notified of X/2, published at step 3: it subscribed even, acknowledged at step 2.",
        ),
        (
            [*Y_WANTS[:2], rest(), publish(("X", 2)), rest()],
            "matched",
            (
                "Y is not notified of X/2, published at step 3: it subscribed even, and advertised as all, "
                "both carried out after step 1."
            ),
        ),
    ],
)
def test_a_witness_is_a_sentence(operations: list[Operation], axiom: str, text: str) -> None:
    assert check(Trace(operations, matches))[axiom].witnesses == (text,)


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        ([publish(("X", 1)), publish(("X", 1))], "X/1 is published at steps 0 and 1"),
        ([Operation("guess")], "step 0 is 'guess'; a trace knows sub, unsub"),
    ],
)
def test_what_is_no_trace_is_refused(operations: list[Operation], complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint):
        check(Trace(operations, matches))
