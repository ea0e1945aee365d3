"""The detector: what it finds, how long it waits, and what changes nothing."""

from collections.abc import Mapping, Sequence

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.client.delivery import Gap
from broker.filters.constraints import Value
from broker.patterns.language import parse_pattern
from broker.patterns.machine import Detector, Evicted, PatternMatch

SECOND = 1_000_000_000


@frozen
class Happened:
    """An event of a test: a kind, a number, and a time in seconds."""

    kind: str
    id: Value = 1
    at_s: float = 0

    @property
    def attributes(self) -> Mapping[str, Value]:
        return {"kind": self.kind, "id": self.id, "at": self.at_s, "in": {"n": 1}}

    @property
    def published_ns(self) -> int:
        return int(self.at_s * SECOND)


def events(text: str) -> list[Happened]:
    """Read `A1 B2@3`: kinds, ids and times."""
    found = []
    for word in text.split():
        name, _, at_s = word.partition("@")
        found.append(Happened(name[0], int(name[1:] or 1), float(at_s or 0)))
    return found


def filters(text: str) -> str:
    """Write `A as a` for `kind == 'A' as a`."""
    return " ".join(
        f"kind == '{word}'" if len(word) == 1 and word.isupper() else word for word in text.split()
    )


def found(pattern: str, happened: Sequence[Happened | Gap], limit: int = 100) -> list[str]:
    detector: Detector[Happened] = Detector(parse_pattern(filters(pattern)), limit)
    return [shown(each) for item in happened for each in detector.take(item)]


def shown(item: PatternMatch[Happened] | Gap | Evicted) -> str:
    if not isinstance(item, PatternMatch):
        return type(item).__name__
    taken = [(event.published_ns, event.kind, event.id) for each in item.events.values() for event in each]
    return " ".join(f"{kind}{id_}" for _, kind, id_ in taken)


CASES = [
    ("A as a then B as b within 5s", "A B", ["A1 B1"]),
    ("A as a then B as b within 5s", "B A C B B", ["A1 B1"]),
    ("A as a then B as b within 5s", "A1 A2 B3 B4", ["A1 B3", "A2 B3"]),
    ("A as a then B as b where a.id == b.id within 5s", "A1 A2 B3 B2 B1", ["A2 B2", "A1 B1"]),
    ("A as a then B as b where a.id < b.id within 5s", "A2 B1 B2 B3", ["A2 B3"]),
    ("A as a then B as b where not a.id < b.id within 5s", "A2 B3 B2", ["A2 B2"]),
    ("A as a then B as b where a.none != b.id within 5s", "A2 B3", []),
    (
        "A as a then B as b where a.id == 2 or b.id == 5 within 5s",
        "A1 B1 A2 B1 A3 B5",
        ["A2 B1", "A1 B5", "A3 B5"],
    ),
    ("A as a and B as b within 5s", "B1 A2", ["B1 A2"]),
    ("A as a and B as b then C as c within 5s", "B A C A C B C", ["B1 A1 C1", "A1 B1 C1", "A1 B1 C1"]),
    ("A as a then ( B as b or C as c ) within 5s", "A C B", ["A1 C1"]),
    ("( A as a then B as b ) or C as c within 5s", "C A B", ["C1", "A1 B1"]),
    ("A as a times 3 then B as b within 5s", "A1 A2 A3 A4 B5", ["A1 A2 A3 B5", "A2 A3 A4 B5"]),
    ("A as a times 2 then B as b where a.id == b.id within 5s", "A1 A2 A1 B1", ["A1 A1 B1"]),
    ("A as a then B as b not C as c between within 5s", "A C B A B C", ["A1 B1"]),
    ("A as a then B as b not C as c between where c.id == a.id within 5s", "A1 A2 C1 B3", ["A2 B3"]),
    ("A as a then B as b then D as d not B as c between within 5s", "A B D", []),
    ("A as a then B as b not B as c between within 5s", "A B", ["A1 B1"]),
    ("A as a then B as b within 5s", "A@0 B@5 A@10 B@15.1", ["A1 B1"]),
    ("A as a then B as b within 5s", "A1@0 A2@6 B@0.5", []),
    ("A as a then B as b within 5s", "A1@10 B@6 A2@10 B@4", ["A1 B1"]),
    ("A as a then B as b within 5s", "A1@0 C@60 B@5", ["A1 B1"]),
    ("A as a then B as b within 5s by at", "A@0 B@5", ["A1 B1"]),
    ("A as a then B as b within 5s by in.n", "A@0 B@500", ["A1 B1"]),
    ("A as a then B as b within 5s by kind", "A B", []),
]


@pytest.mark.parametrize(("pattern", "happened", "wanted"), CASES)
def test_what_is_found(pattern: str, happened: str, wanted: list[str]) -> None:
    assert found(pattern, events(happened)) == wanted


def test_a_gap_is_passed_on_and_ends_what_it_makes_doubtful() -> None:
    happened: list[Happened | Gap] = [*events("A"), Gap(2), *events("B")]
    assert found("A as a then B as b within 5s", happened) == ["Gap", "A1 B1"]
    assert found("A as a then B as b not C as c between within 5s", happened) == ["Gap"]


def test_beyond_the_limit_the_oldest_is_dropped_and_that_is_announced() -> None:
    assert found("A as a then B as b where a.id == b.id within 5s", events("A1 A2 A3 B1 B2 B3"), 2) == [
        "Evicted",
        "A2 B2",
        "A3 B3",
    ]
    with pytest.raises(ValueError, match="limit: expected 1 or more"):
        Detector(parse_pattern("x == 1 as a within 1s"), 0)


def test_what_is_over_or_complete_is_forgotten() -> None:
    detector: Detector[Happened] = Detector(
        parse_pattern(filters("A as a then B as b where a.id == b.id within 5s"))
    )
    for item in events("A1@0 A2@1 A3@2 B3@3 A4@5.5"):
        detector.take(item)
    assert detector.partial_count == 2
    detector.take(events("B9@50")[0])
    assert detector.partial_count == 0
    assert not detector._partials
    assert not detector._places


HAPPENED = st.lists(
    st.builds(
        Happened, st.sampled_from("ABCD"), st.sampled_from((1, 1.0, True, "1", None)), st.integers(0, 12)
    ),
    max_size=14,
)
PATTERNS = st.sampled_from(
    [
        "A as a then B as b where a.id == b.id within 5s",
        "A as a and B as b then C as c where a.id == b.id and c.id == b.id within 6s",
        "A as a times 2 then B as b not C as c between where c.id == a.id and a.id == b.id within 5s",
    ]
)


@settings(deadline=None, max_examples=60)
@given(PATTERNS, HAPPENED)
def test_other_events_change_nothing_and_a_key_is_only_a_way_to_look_things_up(
    pattern: str, happened: list[Happened]
) -> None:
    wanted = found(pattern, happened)
    used = [letter for letter in "ABCD" if f"{letter} as" in pattern]
    assert found(pattern, [each for each in happened if each.kind in used]) == wanted
    # The same conditions, of which one is written so that it is no equality.
    assert found(pattern.replace("a.id == b.id", "not a.id != b.id"), happened) == wanted
