"""The sieve against looking at every conjunction, and simplifying within a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.filters import disjunctions, parse
from broker.filters.constraints import Conjunction, conjunction_covers, overlap_within
from broker.filters.limits import OverBudgetError, Steps
from broker.filters.sieve import bit_positions, sieve
from tests.broker.filters.reference import filters, predicates

MIXED = filters(predicates(affixes=True), 6)
MANY = st.lists(MIXED, min_size=1, max_size=6)


def conjunctions_of(texts: list[str]) -> list[Conjunction]:
    return [each for text in texts for each in parse(text).conjunctions]


@given(MANY, MANY)
def test_a_sieve_leaves_out_nothing_that_covers_overlaps_or_helps(ones: list[str], others: list[str]) -> None:
    conjunctions, steps = conjunctions_of(ones), Steps()
    found = sieve(conjunctions, steps)
    for box in map(dict, conjunctions_of(others)):
        covering = set(bit_positions(found.covering(box, steps)))
        touching = set(bit_positions(found.touching(box, steps)))
        helping = set(bit_positions(found.helping(box, steps)))
        for position, one in enumerate(conjunctions):
            overlapping = overlap_within(box, one, steps)
            assert position in covering or not conjunction_covers(one, box)
            assert position in touching or not overlapping
            assert position in helping or not (overlapping and {name for name, _ in one} <= box.keys())


def test_a_sieve_leaves_out_nearly_all_ranges_and_points() -> None:
    conjunctions = conjunctions_of(
        [f"{position} < x < {position}.5 and y == {position}" for position in range(100)]
    )
    found = sieve(conjunctions, Steps())
    box = dict(parse("7.1 < x < 7.2 and y == 7").conjunctions[0])
    assert list(bit_positions(found.covering(box, Steps()))) == [7]
    assert list(bit_positions(found.touching(box, Steps()))) == [7]
    assert not found.covering(dict(parse("7.1 < x < 7.2").conjunctions[0]), Steps())


@given(MIXED, st.integers(0, 400))
def test_what_is_too_dear_to_simplify_keeps_its_form_and_its_meaning(text: str, steps: int) -> None:
    simplified = parse(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disjunctions, "SIMPLIFYING_STEPS", steps)
        wanted = parse(text)
        assert parse(str(wanted)) == wanted
    assert wanted.covers(simplified)
    assert simplified.covers(wanted)


def test_a_budget_ends_what_takes_more() -> None:
    steps = Steps(10)
    steps.take(7)
    assert steps.spent == 7
    with pytest.raises(OverBudgetError):
        steps.take(4)
