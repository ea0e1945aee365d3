"""The audit of `pairwise`: its state follows from items and links, its requests are the uplink's."""

import pytest

from ordering.interface import ForeignNoteError, Note, Route
from ordering.pairwise import REQUEST, Pairwise
from tests.ordering.test_pairwise import ACKNOWLEDGED, LEFT, LOCAL, RIGHT, UP, Event, child, sends

LINKS, HOPS = UP | LEFT | RIGHT, UP | LEFT | RIGHT | LOCAL


def climb(plugin: Pairwise, number: int) -> None:
    """Let an event wait for its place, for the left."""
    assert sends(plugin.publication(Event(number), 0, 0, Route(UP | LEFT, LEFT))) == [(number, UP, REQUEST)]


def test_where_nothing_is_wrong_the_plugin_asks_its_uplink_and_nothing_changes() -> None:
    plugin = child()
    assert plugin.audit(UP, LINKS, HOPS) == (False, [])
    climb(plugin, 1)
    is_wrong, emissions = plugin.audit(UP, LINKS, HOPS)
    assert (is_wrong, sends(emissions)) == (False, [(Note((0, 1)), UP, 0)])
    climb(plugin, 2)
    assert sends(plugin.note(UP, (1,))) == [(1, LEFT, 0)]
    assert sends(plugin.note(UP, (0, 1))) == []
    assert sends(plugin.note(UP, (1,))) == [(2, LEFT, 0)]


def test_a_question_from_below_is_answered_behind_earlier_acknowledgements() -> None:
    plugin = child()
    plugin.publication(Event(1), LEFT, REQUEST, Route(UP | RIGHT, RIGHT))
    assert sends(plugin.note(LEFT, (0, 7))) == []
    emitted = sends(plugin.note(UP, (1,)))
    assert emitted == [(1, RIGHT, 0), (ACKNOWLEDGED, LEFT, 0), (Note((0, 7)), LEFT, 0)]
    assert plugin.combine((1,), (0, 7)) is None


def test_what_the_uplink_does_not_know_of_waits_no_longer() -> None:
    plugin = child()
    climb(plugin, 1)
    plugin.audit(UP, LINKS, HOPS)
    climb(plugin, 2)
    assert sends(plugin.note(UP, (0, 1))) == [(1, LEFT, 0)]
    assert sends(plugin.note(UP, (1,))) == [(2, LEFT, 0)]


def test_one_acknowledgement_too_many_shifts_no_later_one() -> None:
    plugin = child()
    climb(plugin, 1)
    plugin.audit(UP, LINKS, HOPS)
    climb(plugin, 2)
    # The second was of no request: the uplink's memory is wrong.
    assert sends(plugin.note(UP, (2,))) == [(1, LEFT, 0), (2, LEFT, 0)]
    plugin.note(UP, (0, 1))
    climb(plugin, 3)
    assert sends(plugin.note(UP, (1,))) == []
    assert sends(plugin.note(UP, (1,))) == [(3, LEFT, 0)]
    with pytest.raises(ForeignNoteError):
        plugin.note(UP, (1,))


def test_an_answer_to_an_earlier_question_or_behind_a_lost_uplink_means_nothing() -> None:
    plugin = child()
    climb(plugin, 1)
    plugin.audit(UP, LINKS, HOPS)
    plugin.audit(UP, LINKS, HOPS)
    assert sends(plugin.note(UP, (0, 1))) == []
    plugin.uplink_changed(0)
    plugin.uplink_changed(UP)
    climb(plugin, 2)
    assert sends(plugin.note(UP, (0, 2))) == []
    assert sends(plugin.note(UP, (1,))) == [(2, LEFT, 0)]


def test_an_item_that_the_queue_has_lost_leaves() -> None:
    plugin = child()
    climb(plugin, 1)
    plugin._awaiting.clear()
    is_wrong, emissions = plugin.audit(UP, LINKS, HOPS)
    assert (is_wrong, sends(emissions)) == (True, [(1, LEFT, 0)])
    assert plugin.waiting_count == plugin.open_count == 0
