"""R1 to R5 and R8, of the plugin alone."""

import pytest
from attrs import frozen

from ordering.interface import Emission, ForeignNoteError, Hops, Note, Route
from ordering.pairwise import REQUEST, Pairwise

UP, LEFT, RIGHT, LOCAL = 1, 2, 4, 8
ACKNOWLEDGED = Note((1,))


@frozen
class Event:
    sequence: int
    publisher: str = "p"
    ordered: bool = True


def child() -> Pairwise:
    plugin = Pairwise()
    plugin.uplink_changed(UP)
    return plugin


def sends(emissions: object) -> list[tuple[object, Hops, int]]:
    assert isinstance(emissions, list | tuple)
    return [(e.item.sequence if isinstance(e.item, Event) else e.item, e.targets, e.mark) for e in emissions]


def test_r1_what_comes_down_leaves_at_once_even_past_what_waits() -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    assert sends(plugin.publication(Event(2), UP, 0, Route(LEFT | RIGHT, LEFT))) == [(2, LEFT | RIGHT, 0)]


def test_r2_what_climbs_waits_only_for_exposed_targets() -> None:
    plugin = child()
    emissions = plugin.publication(Event(1), 0, 0, Route(UP | LEFT | RIGHT, LEFT))
    assert sends(emissions) == [(1, UP, REQUEST), (1, RIGHT, 0)]
    assert sends(plugin.note(UP, (1,))) == [(1, LEFT, 0)]


def test_r2_nothing_waits_at_the_top_of_a_publication() -> None:
    plugin = child()
    assert sends(plugin.publication(Event(1), 0, 0, Route(LEFT, LEFT))) == [(1, LEFT, 0)]


def test_r2_a_request_makes_the_hop_it_came_from_wait_too() -> None:
    plugin = child()
    emissions = plugin.publication(Event(1), LEFT, REQUEST, Route(UP | RIGHT, RIGHT))
    assert sends(emissions) == [(1, UP, REQUEST)]
    assert sends(plugin.note(UP, (1,))) == [(1, RIGHT, 0), (ACKNOWLEDGED, LEFT, 0)]


def test_r3_nothing_passes_an_earlier_item_with_a_shared_target() -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    assert sends(plugin.publication(Event(2), 0, 0, Route(LEFT | RIGHT, 0))) == [(2, RIGHT, 0)]
    assert sends(plugin.note(UP, (1,))) == [(1, LEFT, 0), (2, LEFT, 0)]


def test_r3_late_targets_are_emitted_in_one_step() -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    plugin.publication(Event(2), 0, 0, Route(UP | LEFT | RIGHT, LEFT | RIGHT))
    plugin.publication(Event(3), 0, 0, Route(UP | RIGHT, RIGHT))
    assert sends(plugin.note(UP, (1,))) == [(1, LEFT, 0)]
    assert sends(plugin.note(UP, (1,))) == [(2, LEFT | RIGHT, 0)]
    assert sends(plugin.note(UP, (1,))) == [(3, RIGHT, 0)]


def test_r4_at_the_top_a_request_is_acknowledged_in_its_place() -> None:
    plugin = Pairwise()
    assert sends(plugin.publication(Event(1), LEFT, REQUEST, Route(RIGHT, 0))) == [
        (ACKNOWLEDGED, LEFT, 0),
        (1, RIGHT, 0),
    ]


def test_r4_a_request_whose_targets_are_gone_keeps_its_place() -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    plugin.publication(Event(2), 0, 0, Route(UP | RIGHT, RIGHT))
    plugin.hop_lost(LEFT)
    assert sends(plugin.note(UP, (1,))) == []
    assert sends(plugin.note(UP, (1,))) == [(2, RIGHT, 0)]


def test_r4_acknowledgements_add_up() -> None:
    plugin = child()
    for sequence in (1, 2, 3):
        plugin.publication(Event(sequence), 0, 0, Route(UP | LEFT, LEFT))
    content = plugin.combine((1,), (1,))
    assert content == (2,)
    assert sends(plugin.note(UP, content)) == [(1, LEFT, 0), (2, LEFT, 0)]
    assert plugin.waiting_count == 1


def test_r5_a_control_message_goes_behind_what_waits_for_its_hop() -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    assert sends(plugin.control("news", RIGHT)) == [("news", RIGHT, 0)]
    assert sends(plugin.control("news", LEFT)) == []
    assert sends(plugin.note(UP, (1,))) == [(1, LEFT, 0), ("news", LEFT, 0)]


def test_r8_without_an_uplink_everything_leaves_in_order() -> None:
    plugin = child()
    for sequence in (1, 2):
        plugin.publication(Event(sequence), 0, 0, Route(UP | LEFT, LEFT))
    plugin.hop_lost(UP)
    assert sends(plugin.uplink_changed(0)) == [(1, LEFT, 0), (2, LEFT, 0)]
    assert plugin.waiting_count == 0


def test_an_unordered_publication_is_never_late() -> None:
    plugin = child()
    emissions = plugin.publication(Event(1, ordered=False), 0, 0, Route(UP | LEFT, LEFT))
    assert sends(emissions) == [(1, UP | LEFT, 0)]


def test_an_unordered_publication_keeps_its_publishers_order() -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    assert sends(plugin.publication(Event(2, ordered=False), 0, 0, Route(UP | LEFT, LEFT))) == [(2, UP, 0)]
    assert sends(plugin.note(UP, (1,))) == [(1, LEFT, 0), (2, LEFT, 0)]


@pytest.mark.parametrize(
    ("origin", "content"), [(LEFT, (1,)), (UP, (2,)), (UP, (0,)), (UP, ()), (UP, (1, 1))]
)
def test_an_acknowledgement_nobody_asked_for_is_refused(origin: Hops, content: tuple[int, ...]) -> None:
    plugin = child()
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT, LEFT))
    with pytest.raises(ForeignNoteError):
        plugin.note(origin, content)


def test_what_waits_says_what_for() -> None:
    plugin = child()
    first, second = Event(1), Event(2)
    plugin.publication(first, 0, 0, Route(UP | LEFT, LEFT))
    plugin.publication(second, 0, 0, Route(LEFT, 0))
    assert [(b.item, b.targets, b.reason) for b in plugin.blocked()] == [
        (first, LEFT, "the uplink's acknowledgement"),
        (second, LEFT, "an earlier item for the same hop"),
    ]


def test_emissions_are_plain_tuples_of_item_targets_and_mark() -> None:
    assert Emission("x", LEFT, REQUEST) == ("x", LEFT, REQUEST)
