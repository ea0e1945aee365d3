"""The laws of the sequencer, of the plugin alone. Whole overlays of it are explored elsewhere."""

import pytest
from attrs import frozen

from ordering.interface import Context, Emission, ForeignNoteError, Hops, Note, OptionError, Route
from ordering.sequencer import ANSWER, ASK, GONE, GRANTED, NUMBER, PLACED, REFUSED, Sequencer, here

UP, LEFT, RIGHT, LOCAL = 1, 2, 4, 8
HERE = here("S")


@frozen
class Event:
    sequence: int
    publisher: str = "p"
    ordered: bool = True


def sends(emissions: object) -> list[tuple[object, Hops, int]]:
    assert isinstance(emissions, list | tuple)
    return [(e.item.sequence if isinstance(e.item, Event) else e.item, e.targets, e.mark) for e in emissions]


def made(broker: str, **options: str) -> Sequencer:
    """A broker with three links and nothing known about the way."""
    plugin = Sequencer(Context(broker, options={"sequencer": "S", **options}))
    for link in (UP, LEFT, RIGHT):
        plugin.link_attached(link)
    return plugin


def below(**options: str) -> Sequencer:
    """A broker whose way to the sequencer is its uplink."""
    plugin = made("B", **options)
    plugin.note(UP, HERE.content)
    return plugin


def test_the_sequencer_places_at_once_and_sends_back_where_it_came_from() -> None:
    plugin = made("S")
    assert sends(plugin.publication(Event(1), LEFT, 0, Route(RIGHT | LOCAL, 0))) == [
        (1, LEFT | RIGHT, PLACED),
        (1, LOCAL, 0),
    ]


def test_a_publication_without_a_place_goes_only_towards_the_sequencer() -> None:
    plugin = below()
    assert sends(plugin.publication(Event(1), 0, 0, Route(UP | RIGHT | LOCAL, 0))) == [(1, UP, 0)]
    assert sends(plugin.publication(Event(2), LEFT, 0, Route(RIGHT, 0))) == [(2, UP, 0)]
    assert plugin.waiting_count == 2


def test_it_returns_to_its_targets_and_to_where_it_came_from() -> None:
    plugin = below()
    plugin.publication(Event(1), LEFT, 0, Route(RIGHT | LOCAL, 0))
    # A gate that has been closed towards the uplink since must not cost anybody the publication.
    assert sends(plugin.publication(Event(1), UP, PLACED, Route(0, 0))) == [
        (1, LEFT | RIGHT, PLACED),
        (1, LOCAL, 0),
    ]
    assert plugin.waiting_count == 0


def test_a_placed_publication_of_another_goes_to_the_matching_hops() -> None:
    assert sends(below().publication(Event(1), UP, PLACED, Route(LEFT, 0))) == [(1, LEFT, PLACED)]


def test_a_placed_publication_that_does_not_come_by_the_way_is_not_delivered() -> None:
    assert sends(below().publication(Event(1), LEFT, PLACED, Route(LOCAL, 0))) == []


def test_no_place_is_requested_for_what_no_subscription_matches() -> None:
    assert sends(below().publication(Event(1), 0, 0, Route(0, 0))) == []


def test_without_a_way_publications_wait_and_leave_in_their_order() -> None:
    plugin = made("B")
    for number in (1, 2):
        assert sends(plugin.publication(Event(number), 0, 0, Route(LOCAL, 0))) == []
    assert [blocked.reason for blocked in plugin.blocked()] == ["a way to the sequencer"] * 2
    assert sends(plugin.note(RIGHT, HERE.content)) == [(HERE, UP | LEFT, 0), (1, RIGHT, 0), (2, RIGHT, 0)]


def test_no_more_requests_than_the_bound_are_under_way() -> None:
    plugin = below(requests="1")
    assert sends(plugin.publication(Event(1), 0, 0, Route(LOCAL, 0))) == [(1, UP, 0)]
    assert sends(plugin.publication(Event(2), 0, 0, Route(LOCAL, 0))) == []
    assert sends(plugin.publication(Event(1), UP, PLACED, Route(0, 0))) == [(1, LOCAL, 0), (2, UP, 0)]


def test_a_full_queue_refuses_and_counts() -> None:
    plugin = below(requests="1", queue="2")
    for number in range(1, 6):
        plugin.publication(Event(number), 0, 0, Route(LOCAL, 0))
    assert plugin.waiting_count == 3
    assert plugin.measures.refused == 2
    assert sends(plugin.publication(Event(1), UP, PLACED, Route(0, 0))) == [(1, LOCAL, 0), (2, UP, 0)]


def test_r5_a_message_about_routes_waits_for_what_is_pending_for_its_link() -> None:
    plugin = below()
    plugin.publication(Event(1), 0, 0, Route(RIGHT, 0))
    assert sends(plugin.control("news", LEFT)) == [("news", LEFT, 0)]
    assert sends(plugin.control("news", RIGHT)) == []
    assert sends(plugin.control("more", RIGHT)) == []
    assert sends(plugin.publication(Event(1), UP, PLACED, Route(0, 0))) == [
        (1, RIGHT, PLACED),
        ("news", RIGHT, 0),
        ("more", RIGHT, 0),
    ]


def test_a_message_about_routes_waits_for_no_way() -> None:
    plugin = below(requests="1")
    for number in (1, 2):
        plugin.publication(Event(number), 0, 0, Route(RIGHT, 0))
    plugin.control("news", RIGHT)
    assert sends(plugin.note(UP, GONE.content)) == [(GONE, LEFT | RIGHT, 0), ("news", RIGHT, 0)]
    assert sends(plugin.control("more", RIGHT)) == [("more", RIGHT, 0)]
    assert plugin.waiting_count == 1


def test_a_new_link_learns_the_way_after_all_that_was_placed_before() -> None:
    plugin = below()
    assert sends(plugin.link_attached(LOCAL)) == [(ASK, UP, 0)]
    assert sends(plugin.note(LEFT, ASK.content)) == [(ASK, UP, 0)]
    assert sends(plugin.note(UP, ANSWER.content)) == [(HERE, LOCAL, 0)]
    assert sends(plugin.note(UP, ANSWER.content)) == [(ANSWER, LEFT, 0)]
    assert sends(made("S").note(LEFT, ASK.content)) == [(ANSWER, LEFT, 0)]


def test_an_answer_to_a_link_that_is_gone_keeps_its_place() -> None:
    plugin = below()
    plugin.note(LEFT, ASK.content)
    plugin.note(RIGHT, ASK.content)
    plugin.hop_lost(LEFT)
    assert sends(plugin.note(UP, ANSWER.content)) == []
    assert sends(plugin.note(UP, ANSWER.content)) == [(ANSWER, RIGHT, 0)]


def test_with_its_way_a_broker_gives_up_what_was_under_way() -> None:
    plugin = below()
    plugin.publication(Event(1), 0, 0, Route(LOCAL, 0))
    assert sends(plugin.hop_lost(UP)) == [(GONE, LEFT | RIGHT, 0)]
    assert plugin.waiting_count == 0
    assert sends(plugin.note(LEFT, HERE.content)) == [(HERE, RIGHT, 0)]


def test_a_publication_that_crosses_the_news_is_not_placed_late() -> None:
    plugin = made("B")
    assert sends(plugin.publication(Event(1), LEFT, 0, Route(LOCAL, 0))) == []
    plugin.note(LEFT, HERE.content)
    assert sends(plugin.publication(Event(2), LEFT, 0, Route(LOCAL, 0))) == []
    assert plugin.waiting_count == 0


def test_no_item_waits_for_a_lost_subscription() -> None:
    plugin = below()
    plugin.publication(Event(1), 0, 0, Route(RIGHT | LOCAL, 0))
    plugin.control("news", RIGHT)
    plugin.hop_lost(RIGHT)
    assert sends(plugin.publication(Event(1), UP, PLACED, Route(0, 0))) == [(1, LOCAL, 0)]
    assert plugin.waiting_count == 0


def test_every_kind_of_cost_is_counted() -> None:
    plugin = below()
    plugin.publication(Event(1), 0, 0, Route(LOCAL, 0))
    plugin.publication(Event(2), LEFT, 0, Route(LOCAL, 0))
    for number in (1, 2):
        plugin.publication(Event(number), UP, PLACED, Route(0, 0))
    measures = plugin.measures
    assert (measures.requests, measures.acknowledgements, measures.deferred) == (2, 1, 1)
    assert (measures.refused, measures.metadata_bytes) == (0, 0)


@pytest.mark.parametrize("content", [(), (0,), (1,), (8,), (2, 1)])
def test_a_foreign_note_is_named(content: tuple[int, ...]) -> None:
    with pytest.raises(ForeignNoteError, match="do not say"):
        below().note(UP, content)


def test_brokers_that_mean_different_sequencers_do_not_work_together() -> None:
    (said,) = Sequencer(Context("T", options={"sequencer": "T"})).link_attached(LEFT)
    assert isinstance(said.item, Note)
    with pytest.raises(ForeignNoteError, match="must name the same broker"):
        below().note(LEFT, said.item.content)


@pytest.mark.parametrize(
    "options", [{"requests": "0"}, {"queue": "many"}, {"sequenser": "B1"}, {"form": "both"}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        made("B", **options)


def test_two_notes_in_a_row_stay_two() -> None:
    assert below().combine(ASK.content, ASK.content) is None
    assert isinstance(sends(below().note(UP, HERE.content))[0][0], Note)
    assert isinstance(below().note(LEFT, ASK.content)[0], Emission)


def test_a_publication_that_needs_a_number_is_sent_when_that_is_granted_and_dropped_when_it_is_refused() -> (
    None
):
    plugin = below(form="asking")
    for number in (1, 2):
        assert sends(plugin.publication(Event(number), 0, 0, Route(LOCAL, 0))) == [(NUMBER, UP, 0)]
    assert sends(plugin.note(UP, REFUSED.content)) == []
    assert sends(plugin.note(UP, GRANTED.content)) == [(2, UP, 0)]
    assert (plugin.measures.refused, plugin.waiting_count) == (1, 1)


def test_answers_about_numbers_return_by_the_links_of_the_requests() -> None:
    plugin = below(form="asking")
    plugin.note(LEFT, NUMBER.content)
    plugin.publication(Event(1), 0, 0, Route(LOCAL, 0))
    plugin.note(RIGHT, NUMBER.content)
    plugin.hop_lost(RIGHT)
    answers = [sends(plugin.note(UP, GRANTED.content)) for _ in range(4)]
    assert answers == [[(GRANTED, LEFT, 0)], [(1, UP, 0)], [], []]


def test_the_sequencer_refuses_numbers_beyond_the_grants_until_publications_have_come() -> None:
    plugin = made("S", form="asking", grants="1")
    assert [sends(plugin.note(LEFT, NUMBER.content)) for _ in range(2)] == [
        [(GRANTED, LEFT, 0)],
        [(REFUSED, LEFT, 0)],
    ]
    plugin.publication(Event(1), LEFT, 0, Route(RIGHT, 0))
    assert sends(plugin.note(RIGHT, NUMBER.content)) == [(GRANTED, RIGHT, 0)]


def test_with_its_way_a_broker_asks_for_its_numbers_again() -> None:
    plugin = below(form="asking")
    plugin.publication(Event(1), 0, 0, Route(LOCAL, 0))
    plugin.note(UP, GONE.content)
    assert (NUMBER, UP, 0) in sends(plugin.note(UP, HERE.content))
    assert sends(plugin.note(UP, GRANTED.content)) == [(1, UP, 0)]
