"""Faults are read word by word, and an error is about a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.faults import KINDS, LINK, FaultError, Kind, kind_of, parse

NAMES = st.from_regex(r"[a-z]{1,6}-[0-9]{1,3}", fullmatch=True)
TIMES = {"ms": 0.001, "s": 1.0, "m": 60.0}
UNITS = {"seconds": "s", "mbit": "mbit", "rate": "/s"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind.words))
def test_the_example_of_a_kind_is_of_that_kind(kind: Kind) -> None:
    assert kind_of(parse(kind.example)) is kind


@given(st.sampled_from(KINDS), st.data(), st.integers(0, 999), st.sampled_from(sorted(TIMES)))
def test_whatever_a_form_allows_is_read(kind: Kind, draw: st.DataObject, amount: int, unit: str) -> None:
    targets = draw.draw(st.lists(NAMES, min_size=1, max_size=2 if kind.target == LINK else 1))
    clauses = draw.draw(st.permutations(sorted(kind.clauses)))
    values = {name: draw.draw(st.integers(1, 500)) for name in clauses}
    words = [f"{name} {values[name]}{UNITS[kind.clauses[name].unit]}" for name in clauses]
    fault = parse(" ".join([*kind.words, *targets, f"at {amount}{unit}", *words]))
    assert kind_of(fault) is kind
    assert fault.targets == tuple(targets)
    assert fault.at_s == pytest.approx(amount * TIMES[unit])
    assert {name: fault.value(name) for name in clauses} == values


def test_a_clause_that_is_left_out_has_its_default() -> None:
    assert parse("restart core-1 at 1s").value("after") == 1.0
    assert parse("pause core-1 at 1s").value("for") is None


def test_a_fault_may_come_again_and_again() -> None:
    fault = parse("kill random every 3s from 5s until 1m")
    assert (fault.every_s, fault.from_s, fault.until_s, fault.at_s) == (3, 5, 60, None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "at the end: expected one of: crash, restart"),
        ("explode core-1 at 1s", "at word 1, 'explode': expected one of: crash"),
        ("cut rope core-1 at 1s", "at word 2, 'rope': expected one of"),
        ("crash at 10s", "at word 2, 'at': expected a name"),
        ("crash edge-3 edge-4 at 10s", "at word 3, 'edge-4': expected one of: at, every"),
        ("crash edge-3 by 10s", "at word 3, 'by': expected one of: at, every"),
        ("crash edge-3 at ten", "at word 4, 'ten': expected a time such as 10s, 500ms or 2m"),
        ("crash edge-3 at 10", "at word 4, '10': expected a time"),
        ("crash edge-3 at", "at the end: expected a time"),
        ("crash edge-3", "at the end: expected either 'at' or 'every'"),
        ("crash edge-3 at 1s every 2s", "at the end: expected either 'at' or 'every'"),
        ("crash edge-3 at 1s at 2s", "at word 5, 'at': expected 'at' only once"),
        ("crash edge-3 at 1s until 2s", "at word 5, 'until': 'until' belongs to 'every'"),
        ("kill random every 0s", "at word 4, '0s': expected a time of more than 0"),
        ("slow link edge-1 at 1s limit 3s", "at word 7, '3s': expected a bandwidth such as 1mbit"),
        ("slow subscriber sub-1 at 1s to fast", "at word 7, 'fast': expected a rate such as 10/s"),
    ],
)
def test_an_error_points_at_the_word(text: str, complaint: str) -> None:
    with pytest.raises(FaultError) as raised:
        parse(text)
    assert str(raised.value).startswith(f"fault {text!r}: {complaint}")


@given(st.text(st.sampled_from("crashkilut linkemdg-0123s *?"), max_size=40))
def test_nonsense_is_a_fault_or_an_error_that_shows_it(text: str) -> None:
    try:
        shown = parse(text).text
    except FaultError as error:
        shown = text if repr(text) in str(error) else ""
    assert shown == text
