from typing import TYPE_CHECKING, cast

from attrs import frozen

from examples.game.world import GameEvent
from examples.pages.onlooker import Onlooker

if TYPE_CHECKING:
    from broker import Delivery

GRABS = [GameEvent(kind="grab", player=name, region="b2", gem=0, turn=0) for name in ("Ada", "Ben")]


@frozen
class FakeDelivery:
    publisher: str
    sequence: int = 1


def judge(onlooker: Onlooker, player: str, first: int) -> None:
    """The player is delivered both grabs, this one first."""
    for place in (first, 1 - first):
        delivery = cast("Delivery", FakeDelivery(GRABS[place].player))
        onlooker.judged(player, delivery, GRABS[place], counts=place == first, began="then")


def test_players_who_saw_the_same_order_agree() -> None:
    onlooker = Onlooker()
    judge(onlooker, "Ada", 0)
    judge(onlooker, "Ben", 0)
    assert (onlooker.shared_count, onlooker.disputed_count) == (2, 0)
    assert [call.judgements for call in onlooker.close_calls] == [{"Ada": False, "Ben": False}]
    assert (onlooker.taken_count, onlooker.twice_count) == (1, 0)


def test_players_who_saw_opposite_orders_disagree_on_both_grabs_and_both_have_the_gem() -> None:
    onlooker = Onlooker()
    judge(onlooker, "Ada", 0)
    judge(onlooker, "Ben", 1)
    assert (onlooker.shared_count, onlooker.disputed_count) == (2, 2)
    assert (onlooker.taken_count, onlooker.twice_count) == (1, 1)


def test_a_third_opinion_makes_no_second_disagreement() -> None:
    onlooker = Onlooker()
    for player, first in (("Ada", 0), ("Ben", 1), ("Cleo", 0)):
        judge(onlooker, player, first)
    assert onlooker.disputed_count == 2


def test_what_one_player_alone_was_delivered_is_not_shared() -> None:
    onlooker = Onlooker()
    judge(onlooker, "Ada", 0)
    assert (onlooker.shared_count, onlooker.disputed_count) == (0, 0)
