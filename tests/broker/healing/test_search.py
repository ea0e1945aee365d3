"""Whom a broker without an uplink dials, round after round."""

from hypothesis import given
from hypothesis import strategies as st

from broker.healing import Candidate, Location, Roster, Search
from broker.healing.search import FAR_EVERY
from tests.broker.healing.test_roster import roster_of

NOBODY: frozenset[str] = frozenset()


def dialled(search: Search, roster: Roster, below: frozenset[str] = NOBODY) -> list[str]:
    """Whom the rest of the present round goes to; the next round has begun then."""
    found = []
    while (candidate := search.next(roster, below)) is not None:
        found.append(candidate.address)
    search.begin_round()
    return found


def lost(name: str, configured: tuple[str, ...] = (), **uplinks: str) -> tuple[Search, Roster]:
    """A broker that was a child of the first of the others, and has just lost it."""
    roster = roster_of(name, **uplinks)
    roster.attached_to(next(iter(uplinks)))
    search = Search(name, configured)
    search.attached(Candidate("somewhere:1", "", ""))
    search.lost()
    return search, roster


def test_configured_uplinks_come_first_in_order_of_preference() -> None:
    search, roster = lost("D", ("y:1", "x:1"), C="B", B="A", A="")
    assert dialled(search, roster) == ["y:1", "x:1", "C:1", "B:1", "A:1"]


def test_then_the_ancestors_of_the_lost_uplink_nearest_first() -> None:
    search, roster = lost("A", (), C="D", D="B", B="")
    assert dialled(search, roster) == ["C:1", "D:1", "B:1"]


def test_children_of_a_lost_root_come_to_the_one_with_the_smallest_name() -> None:
    children = dict.fromkeys("ABC", "R")
    for name in "ABC":
        search, roster = lost(name, ("R:1",), R="", **{n: u for n, u in children.items() if n != name})
        assert dialled(search, roster) == ["R:1", *(f"{other}:1" for other in "ABC" if other < name)]


def test_children_of_the_same_uplink_come_before_other_smaller_names() -> None:
    search, roster = lost("D", (), R="", A="B", B="R", C="R")
    assert dialled(search, roster) == ["R:1", "B:1", "C:1", "A:1"]


def test_a_far_round_goes_to_everybody() -> None:
    search, roster = lost("B", ("R:1",), R="", A="R", C="R", D="C")
    for _ in range(FAR_EVERY - 1):
        assert dialled(search, roster) == ["R:1", "A:1"]
    assert dialled(search, roster) == ["R:1", "A:1", "C:1", "D:1"]


def test_a_broker_that_has_searched_long_leaves_dialling_to_others() -> None:
    search, roster = lost("B", ("R:1",), R="", A="R")
    rounds = [dialled(search, roster) for _ in range(3 * FAR_EVERY)]
    assert rounds[FAR_EVERY:] == ([["R:1"]] * (FAR_EVERY - 1) + [["R:1", "A:1"]]) * 2


def test_a_broker_that_never_had_an_uplink_waits_for_others() -> None:
    search, roster = Search("R"), roster_of("R", A="R", B="R")
    assert [dialled(search, roster) for _ in range(FAR_EVERY)] == [[]] * (FAR_EVERY - 1) + [["A:1", "B:1"]]


def test_no_broker_dials_itself_or_one_below_it() -> None:
    search, roster = lost("C", ("A:1",), R="", A="C", B="R")
    assert dialled(search, roster, frozenset("A")) == ["R:1", "B:1"]


def test_a_configured_address_that_may_be_another_broker_is_dialled() -> None:
    search, roster = lost("C", ("A:1", "C:1"), R="", A="C")
    roster.learn([Location("B", 1, "A:1", "R")])
    assert dialled(search, roster, frozenset("A")) == ["A:1", "C:1", "R:1"]


def test_a_broker_without_an_address_is_no_candidate() -> None:
    search, roster = lost("C", (), R="", A="R")
    silent = Roster("A")
    silent.reached_at("")
    silent.attached_to("R")
    roster.learn(silent.everything())
    assert dialled(search, roster) == ["R:1"]


def test_a_broker_that_becomes_known_in_the_middle_of_a_round_is_tried_in_it() -> None:
    search, roster = lost("C", (), R="")
    assert search.next(roster, NOBODY) == Candidate("R:1", "R", "above the lost uplink")
    roster.learn(roster_of("X", B="R").everything())
    assert dialled(search, roster) == ["B:1"]


def test_an_attachment_begins_the_rounds_anew() -> None:
    search, roster = lost("B", (), R="", A="R")
    assert (search.round, search.moves) == (1, 1)
    dialled(search, roster)
    search.attached(Candidate("A:1", "A", "smaller name"))
    assert (search.round, search.moves) == (1, 2)
    assert search.present == Candidate("A:1", "A", "smaller name")
    search.lost()
    assert search.present is None


@given(st.dictionaries(st.sampled_from("ABCDEFG"), st.sampled_from(["", *"ABCDEFG"])), st.data())
def test_within_some_rounds_every_broker_not_below_is_tried(
    uplinks: dict[str, str], drawn: st.DataObject
) -> None:
    roster = roster_of("D", **uplinks)
    roster.attached_to(drawn.draw(st.sampled_from("ABC")))
    below = drawn.draw(st.frozensets(st.sampled_from("ABCEFG")))
    search = Search("D", ("x:1",))
    tried = {address for _ in range(FAR_EVERY) for address in dialled(search, roster, below)}
    assert tried == {"x:1", *(f"{name}:1" for name in uplinks if name not in below and name != "D")}
