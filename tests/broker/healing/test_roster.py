"""Brokers that got the same locations know the same, and a broker's own location counts."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from broker.healing import Location, Roster
from broker.healing.roster import BROKERS_MAX, VERSION_MAX

names = st.sampled_from("ABC")
locations = st.builds(Location, names, st.integers(1, 4), st.sampled_from(("", "a:1", "b:1")), names)


def roster_of(name: str, **uplinks: str) -> Roster:
    roster = Roster(name)
    roster.learn(Location(each, 1, f"{each}:1", uplink) for each, uplink in uplinks.items())
    roster.reached_at(f"{name}:1")
    return roster


@given(st.lists(locations), st.randoms(use_true_random=False))
def test_order_and_repetition_of_words_do_not_matter(words: list[Location], random: Random) -> None:
    one, other = Roster("X"), Roster("X")
    one.learn(words)
    again = words + words[: len(words) // 2]
    random.shuffle(again)
    for word in again:
        other.learn([word])
    assert one.places == other.places


@given(st.lists(locations), st.lists(locations))
def test_only_new_locations_are_forwarded(first: list[Location], second: list[Location]) -> None:
    one, other = Roster("X"), Roster("X")
    other.learn(one.learn(first))
    other.learn(one.learn(second))
    assert one.places == other.places
    assert one.learn(first + second) == ()


@given(st.lists(locations))
def test_a_broker_contradicts_an_outdated_location_of_its_own(
    words: list[Location],
) -> None:
    """After an answer, everybody believes the broker and not its earlier run."""
    roster, other = Roster("A"), Roster("X")
    roster.reached_at("new:1")
    other.learn(words)
    known = other.everything()
    assert roster.learn(known) == tuple(location for location in known if location.name != "A")
    other.learn([*roster.contradict(known), *roster.everything()])
    assert other.places["A"] == roster.own
    assert other.address_of("A") == "new:1"
    assert roster.contradict(other.everything()) == ()


def test_each_word_of_ours_counts_more_than_the_one_before() -> None:
    roster = Roster("A")
    assert roster.attached_to("B") == ()
    assert roster.reached_at("a:1") == (Location("A", 1, "a:1", ""),)
    assert roster.attached_to("B") == (Location("A", 2, "a:1", "B"),)
    assert roster.attached_to("B") == ()
    assert roster.reached_at("a:2") == (Location("A", 3, "a:2", "B"),)


def test_ancestors_are_followed_as_far_as_they_are_known() -> None:
    roster = roster_of("D", A="", B="A", C="B")
    roster.attached_to("C")
    assert roster.ancestors("D") == ["C", "B", "A"]
    assert roster.ancestors("A") == []
    assert roster.ancestors("unknown") == []


def test_a_ring_of_last_uplinks_has_an_end() -> None:
    roster = roster_of("C", A="B", B="A")
    roster.attached_to("A")
    assert roster.ancestors("C") == ["A", "B"]
    assert roster.ancestors("A") == ["B"]


def test_a_root_forgets_an_uplink_that_is_below_it_or_below_which_that_is() -> None:
    roster = Roster("B2")
    roster.reached_at("b2:1")
    roster.attached_to("B1")
    roster.learn([Location("B1", 1, "b1:1", "B3")])

    assert roster.root_of({"B4"}) == ()
    assert roster.root_of({"B4", "B3"}) == (Location("B2", 3, "b2:1", ""),)
    assert roster.ancestors("B2") == []
    assert roster.root_of({"B4", "B3"}) == ()


def test_fellows_are_the_other_children_of_the_last_uplink() -> None:
    roster = roster_of("D", A="", B="A", C="A", E="C")
    assert roster.fellows("D") == []
    roster.attached_to("A")
    assert roster.fellows("D") == ["B", "C"]


def test_there_is_a_bound_and_numbers_that_leave_no_room_are_not_taken() -> None:
    roster = Roster("A")
    roster.reached_at("a:1")
    roster.learn(Location(f"B{number}", 1, "b:1", "") for number in range(2 * BROKERS_MAX))
    assert len(roster) == BROKERS_MAX
    assert roster.learn([Location("B1", VERSION_MAX + 1, "c:1", "")]) == ()
    assert roster.contradict([Location("A", VERSION_MAX, "c:1", "")]) == ()
