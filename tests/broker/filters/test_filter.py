"""The algebra against brute force over every event of a small world."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import parse
from tests.broker.filters.reference import (
    CUTS,
    NUMBERS_SEEN,
    VALUES,
    events,
    filters,
    holds,
    predicates,
)

MIXED = filters(predicates(affixes=True))
EXACT = {
    "numbers": (filters(predicates(types="number"), 8), list(events((*NUMBERS_SEEN, "a", True)))),
    "texts": (filters(predicates(["x"], types="text"), 8), list(events((*CUTS, 1, True), ["x"]))),
    "two texts": (filters(predicates(types="text"), 5), list(events((*CUTS, True)))),
    "all types": (filters(predicates(["x"]), 8), list(events(VALUES, ["x"]))),
}
EVENTS = list(events((0, 0.5, 1, 2, float("nan"), "", "a", "ab", "aba", "b", True, False)))


@given(MIXED)
def test_a_filter_matches_exactly_what_its_text_means(text: str) -> None:
    wanted = parse(text)
    for event in EVENTS:
        assert wanted.match(event) == holds(text, event), event


@given(MIXED)
def test_a_filter_survives_being_printed_and_parsed(text: str) -> None:
    wanted = parse(text)
    assert parse(str(wanted)) == wanted
    assert str(parse(str(wanted))) == str(wanted)
    assert hash(parse(str(wanted))) == hash(wanted)


@settings(deadline=None)
@given(st.data(), st.sampled_from(sorted(EXACT)))
def test_covers_is_exact_without_suffixes_and_substrings(data: st.DataObject, world: str) -> None:
    strategy, seen = EXACT[world]
    one, other = parse(data.draw(strategy)), parse(data.draw(strategy))
    assert one.covers(other) == all(one.match(event) for event in seen if other.match(event))


@settings(deadline=None)
@given(st.data(), st.sampled_from(sorted(EXACT)))
def test_overlaps_is_exact_without_suffixes_and_substrings(data: st.DataObject, world: str) -> None:
    strategy, seen = EXACT[world]
    one, other = parse(data.draw(strategy)), parse(data.draw(strategy))
    assert one.overlaps(other) == any(one.match(event) and other.match(event) for event in seen)


@given(MIXED, MIXED)
def test_covers_is_never_true_where_an_event_is_a_counterexample(left: str, right: str) -> None:
    one, other = parse(left), parse(right)
    if one.covers(other):
        assert all(one.match(event) for event in EVENTS if other.match(event))


@given(MIXED, MIXED)
def test_overlaps_is_never_false_where_an_event_is_an_example(left: str, right: str) -> None:
    one, other = parse(left), parse(right)
    if not one.overlaps(other):
        assert not any(one.match(event) and other.match(event) for event in EVENTS)


@given(MIXED, MIXED)
def test_merge_matches_what_either_matches(left: str, right: str) -> None:
    one, other = parse(left), parse(right)
    union = one.merge(other)
    assert union == other.merge(one)
    for event in EVENTS:
        assert union.match(event) == (one.match(event) or other.match(event))


@given(MIXED, MIXED)
def test_a_union_prints_as_itself_and_equals_the_disjunction(left: str, right: str) -> None:
    union = parse(left).merge(parse(right))
    assert parse(str(union)) == union
    assert union.covers(parse(left))
    assert union.covers(parse(right))


@given(MIXED)
def test_every_filter_covers_itself_and_overlaps_itself_unless_it_is_false(text: str) -> None:
    wanted = parse(text)
    assert wanted.covers(wanted)
    assert wanted.overlaps(wanted) == bool(wanted.conjunctions)


@given(
    filters(predicates(["x"], types="number truth"), 8), filters(predicates(["x"], types="number truth"), 8)
)
def test_over_one_attribute_numbers_of_equal_meaning_have_equal_form(left: str, right: str) -> None:
    one, other = parse(left), parse(right)
    alike = all(one.match(event) == other.match(event) for event in events(VALUES, ["x"]))
    assert (one == other) == alike


@given(MIXED)
def test_double_negation_of_a_filter_is_the_filter(text: str) -> None:
    assert parse(f"not (not ({text}))") == parse(text)


@given(MIXED)
def test_failing_is_empty_exactly_when_the_filter_matches(text: str) -> None:
    wanted = parse(text)
    for event in EVENTS:
        assert (wanted.failing(event) == "") == wanted.match(event)
