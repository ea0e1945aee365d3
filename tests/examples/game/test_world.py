from hypothesis import given
from hypothesis import strategies as st

from examples.game.world import GEMS, SIDE, GameEvent, Region, interest, region_at, sight

EVENTS = st.builds(
    GameEvent,
    kind=st.sampled_from(["move", "grab", "tag", "watch", "leave"]),
    player=st.sampled_from(["Ada", "Ben", "Cleo"]),
    region=st.sampled_from(["b2", "c2"]),
    into=st.sampled_from(["", "b2", "c2"]),
    x=st.integers(SIDE, 2 * SIDE),
    y=st.integers(SIDE, 2 * SIDE),
    gem=st.integers(0, GEMS - 1),
    turn=st.integers(0, 3),
    target=st.sampled_from(["Ada", "Ben", "Cleo"]),
    attempt=st.integers(-1, 1),
)


def after(*events: GameEvent) -> Region:
    region = Region("b2", "then")
    for event in events:
        region.apply(event)
    return region


def coming(player: str, x: int = SIDE, y: int = SIDE) -> GameEvent:
    return GameEvent(kind="move", player=player, region="a2", into="b2", x=x, y=y)


def grab(player: str, turn: int = 0) -> GameEvent:
    return GameEvent(kind="grab", player=player, region="b2", gem=0, turn=turn)


def tag(player: str, target: str) -> GameEvent:
    return GameEvent(kind="tag", player=player, region="b2", target=target)


@given(EVENTS)
def test_an_event_is_read_from_its_attributes(event: GameEvent) -> None:
    assert GameEvent(**event.attributes()) == event  # type: ignore[arg-type]  # each has its field's type


@given(st.lists(EVENTS, max_size=30))
def test_a_gem_is_counted_for_one_grab_of_each_turn(events: list[GameEvent]) -> None:
    region = Region("b2", "then")
    counted = [(event.gem, event.turn) for event in events if region.apply(event) and event.kind == "grab"]
    assert len(counted) == len(set(counted))


@given(st.lists(EVENTS, max_size=30))
def test_nobody_is_named_twice_among_the_watchers(events: list[GameEvent]) -> None:
    watchers = after(*events).watchers
    assert len(watchers) == len(set(watchers))


def test_who_grabs_first_has_the_gem_and_the_next_one_lies_elsewhere() -> None:
    region = after(coming("Ada"), coming("Ben"))
    before = region.cell(0)
    assert [region.apply(grab("Ben")), region.apply(grab("Ada"))] == [True, False]
    assert region.cell(0) != before
    assert region.apply(grab("Ada", turn=1))


def test_of_two_who_tag_each_other_the_first_counts() -> None:
    region = after(coming("Ada"), coming("Ben"))
    assert [region.apply(tag("Ben", "Ada")), region.apply(tag("Ada", "Ben"))] == [True, False]
    assert list(region.players) == ["Ben"]


def test_who_has_moved_out_of_reach_is_not_tagged() -> None:
    away = GameEvent(kind="move", player="Ben", region="b2", x=SIDE + 2, y=SIDE)
    region = after(coming("Ada"), coming("Ben"), away)
    assert not region.apply(tag("Ada", "Ben"))


def test_the_step_of_a_player_who_was_tagged_meanwhile_does_not_bring_them_back() -> None:
    step = GameEvent(kind="move", player="Ben", region="b2", x=SIDE + 1, y=SIDE)
    assert list(after(coming("Ada"), coming("Ben"), tag("Ada", "Ben"), step).players) == ["Ada"]


def test_a_crossing_is_seen_from_both_sides() -> None:
    crossing = GameEvent(kind="move", player="Ada", region="b2", into="c2", x=2 * SIDE, y=SIDE)
    there = Region("c2", "then")
    there.apply(crossing)
    assert after(coming("Ada"), crossing).players == {}
    assert there.players == {"Ada": [2 * SIDE, SIDE]}


def test_a_watcher_who_did_not_answer_is_not_asked_again() -> None:
    watch = [GameEvent(kind="watch", player=name, region="b2", attempt=0) for name in ("Ada", "Ben", "Cleo")]
    again = GameEvent(kind="watch", player="Cleo", region="b2", attempt=1)
    assert after(*watch, again).watchers == ["Ben", "Cleo"]


def test_a_player_sees_its_region_and_its_neighbours() -> None:
    assert sight("a1") == {"a1", "a2", "b1", "b2"}
    assert len(sight("c3")) == 9
    assert region_at(SIDE, 0) == "b1"


def test_what_a_player_wants_is_one_filter() -> None:
    assert interest(frozenset({"b1", "a1"}), "Ada") == (
        "region in ('a1', 'b1') or into in ('a1', 'b1') or to == 'Ada'"
    )
