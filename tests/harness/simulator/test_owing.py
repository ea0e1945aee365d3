"""What must arrive in a world with losses: everything whose way is still there, and nothing else."""

from harness.simulator.scenario import action_of
from harness.simulator.verdict import missing_in
from harness.simulator.world import World
from ordering.pairwise import Pairwise

CHAIN = """
start B1 / start B2 / start B3 / dial B2 B1 / drain / dial B3 B2 / drain
advertise P1 B1 a / subscribe S1 B1 a / subscribe S2 B2 a / subscribe S3 B3 a / drain
"""


def after(text: str) -> World:
    world = World(Pairwise)
    for line in (CHAIN + text).replace("\n", " / ").split("/"):
        if line.strip():
            assert world.do(action_of(line.strip())), line
    return world


def owed(world: World) -> list[tuple[str, ...]]:
    return [published.owed for published in world.record.publications]


def test_everything_is_owed_in_a_whole_tree() -> None:
    assert owed(after("publish P1 a")) == [("S1", "S2", "S3")]


def test_what_is_on_a_lost_link_is_owed_no_more() -> None:
    assert owed(after("publish P1 a / cut B3>B2 0 0")) == [("S1", "S2")]


def test_what_was_at_a_lost_broker_is_owed_no_more_to_those_behind_it() -> None:
    assert owed(after("publish P1 a / deliver B1<B2 / crash B2")) == [("S1", "S2")]


def test_what_was_delivered_stays_owed() -> None:
    world = after("publish P1 a / deliver B1<B2 / deliver B2<B3 / crash B2")
    assert owed(world) == [("S1", "S2", "S3")]
    assert missing_in(world.record, list(world.subscribers)) == []


def test_a_loss_excuses_nothing_from_before_the_last_rest() -> None:
    world = after("publish P1 a")
    for port in world.network.ready.ports[:]:
        world.network.take(port, 1)  # It gets lost, and nobody may say so.
    world.do(("drain",))
    world.do(("crash", "B2"))
    assert owed(world) == [("S1", "S2", "S3")]
    assert ("missing", "S3 never got P1:1") in missing_in(world.record, list(world.subscribers))


def test_a_piece_that_is_left_owes_within_itself() -> None:
    assert owed(after("crash B3 / publish P1 a")) == [("S1", "S2")]


def test_a_broker_attached_since_the_last_rest_is_owed_nothing_until_the_next() -> None:
    world = after("cut B3>B2 0 0 / drain / dial B3 B1 / publish P1 a / drain / publish P1 a")
    assert owed(world) == [("S1", "S2"), ("S1", "S2", "S3")]


def test_a_broker_that_moves_below_a_new_one_is_owed_nothing_until_the_next_rest() -> None:
    world = after("start B4")
    world.owing.moved(world.sites["B3"], world.sites["B2"], world.sites["B4"])
    world.do(("publish", "P1", "a"))
    assert owed(world) == [("S1", "S2")]
