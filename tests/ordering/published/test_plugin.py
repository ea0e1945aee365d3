"""Algorithms 2 to 5, of the plugin alone: one broker, links to the left and right, local subscribers."""

from collections.abc import Iterable, Sequence

import pytest
from attrs import define, field, frozen

from ordering.interface import (
    Advertisement,
    Context,
    Emission,
    ForeignNoteError,
    Hops,
    Note,
    OptionError,
    Route,
    Subscription,
)
from ordering.published import Published
from ordering.published.metadata import ids_of, notes_of
from ordering.published.plugin import ANSWERED, FORMS, RELEASED, REQUEST, WAIT

LEFT, RIGHT, LOCAL, OTHER = 1, 2, 4, 8


@frozen
class Kinds:
    kinds: str

    def overlaps(self, other: "Kinds") -> bool:
        return bool(set(self.kinds) & set(other.kinds))


@frozen
class Event:
    sequence: int
    kind: str = "a"
    publisher: str = "p"
    ordered: bool = True


@define
class FakeTables:
    """What is advertised and subscribed; `version` is left alone, as nothing changes."""

    known: list[Subscription] = field(factory=list)
    advertised: list[Advertisement] = field(factory=list)
    version: int = 0

    def advertisements(self) -> Iterable[Advertisement]:
        return self.advertised

    def subscriptions(self) -> Iterable[Subscription]:
        return self.known

    def matching(self, event: object, origin: Hops) -> Sequence[Subscription]:
        assert isinstance(event, Event)
        return [s for s in self.known if s.filter.overlaps(Kinds(event.kind)) and s.hop != origin]


def made(form: str, subscribed: str, advertised: str) -> tuple[Published, FakeTables]:
    """Hops are l, r (links), h and o (local subscribers); all want and offer events of kind a."""
    hops = {"l": LEFT, "r": RIGHT, "h": LOCAL, "o": OTHER}
    tables = FakeTables(
        [Subscription(f"S{each}", Kinds("a"), True, hops[each]) for each in subscribed],
        [Advertisement(f"P{each}", Kinds("a"), hops[each]) for each in advertised],
    )
    plugin = Published(Context("B", tables, {"form": form}))
    plugin.link_attached(LEFT)
    plugin.link_attached(RIGHT)
    return plugin, tables


def publish(plugin: Published, tables: FakeTables, event: Event, origin: Hops = 0, mark: int = 0) -> object:
    targets = 0
    for subscription in tables.matching(event, origin):
        targets |= subscription.hop
    return sends(plugin.publication(event, origin, mark, Route(targets, 0)))


def sends(emissions: Sequence[Emission]) -> list[tuple[object, Hops, int]]:
    return [(e.item.sequence if isinstance(e.item, Event) else e.item, e.targets, e.mark) for e in emissions]


@pytest.mark.parametrize("form", FORMS)
def test_the_subscriber_waits_and_the_hop_with_the_advertisement_is_asked(form: str) -> None:
    plugin, tables = made(form, "lh", "l")
    assert publish(plugin, tables, Event(1)) == [(1, LEFT, REQUEST)]
    assert [blocked.reason for blocked in plugin.blocked()] == ["acknowledgements"]
    assert sends(plugin.note(LEFT, (ANSWERED, 1))) == [(1, LOCAL, 0)]
    assert plugin.waiting_count == 0


@pytest.mark.parametrize("form", FORMS)
def test_a_single_next_hop_is_no_conflict(form: str) -> None:
    plugin, tables = made(form, "l", "l")
    assert publish(plugin, tables, Event(1)) == [(1, LEFT, 0)]


@pytest.mark.parametrize("form", FORMS)
def test_a_request_is_answered_at_once_where_nothing_else_can_come(form: str) -> None:
    plugin, tables = made(form, "h", "l")
    answered = Note((ANSWERED, 1))
    assert publish(plugin, tables, Event(1), LEFT, REQUEST) == [(answered, LEFT, 0), (1, LOCAL, 0)]


@pytest.mark.parametrize("form", FORMS)
def test_a_request_is_carried_on_and_local_subscribers_wait_for_its_answer(form: str) -> None:
    plugin, tables = made(form, "rh", "lr")
    assert publish(plugin, tables, Event(1), LEFT, REQUEST) == [(1, RIGHT, REQUEST)]
    assert sends(plugin.note(RIGHT, (ANSWERED, 1))) == [(1, LOCAL, 0), (Note((ANSWERED, 1)), LEFT, 0)]


def test_the_subscribers_of_a_waiting_side_are_named_right_before_the_publication() -> None:
    plugin, tables = made("basic", "lr", "l")
    emissions = plugin.publication(Event(1), 0, 0, Route(LEFT | RIGHT, 0))
    assert sends(emissions[:1]) == [(1, LEFT, REQUEST)]
    note, copy = emissions[1:]
    assert isinstance(note.item, Note)
    assert ids_of(note.item.content) == ["Sr"]
    assert (note.targets, sends([copy])) == (RIGHT, [(1, RIGHT, WAIT)])
    assert sends(plugin.note(LEFT, (ANSWERED, 1))) == [(Note((RELEASED, 1)), RIGHT, 0)]
    assert plugin.measures.metadata_bytes
    assert tables.known


@pytest.mark.parametrize("form", ["basic", "progressive"])
def test_only_the_named_subscribers_wait_on_the_waiting_side(form: str) -> None:
    plugin, tables = made(form, "ho", "l")
    for note in notes_of(["So"]):
        assert plugin.note(LEFT, note.content) == ()
    assert publish(plugin, tables, Event(1), LEFT, WAIT) == [(1, LOCAL, 0)]
    assert sends(plugin.note(LEFT, (RELEASED, 1))) == [(1, OTHER, 0)]


def test_in_the_fast_form_every_subscriber_waits_on_the_waiting_side() -> None:
    plugin, tables = made("fast", "ho", "l")
    assert publish(plugin, tables, Event(1), LEFT, WAIT) == []
    assert sends(plugin.note(LEFT, (RELEASED, 1))) == [(1, LOCAL, 0), (1, OTHER, 0)]


@pytest.mark.parametrize("form", FORMS)
def test_two_sides_that_are_asked_and_wait_do_not_wait_for_each_other(form: str) -> None:
    plugin, tables = made(form, "h", "l")
    for note in notes_of(["Sh"]) if form != "fast" else ():
        plugin.note(LEFT, note.content)
    assert publish(plugin, tables, Event(1), LEFT, REQUEST | WAIT) == [(Note((ANSWERED, 1)), LEFT, 0)]
    assert sends(plugin.note(LEFT, (RELEASED, 1))) == [(1, LOCAL, 0)]


@pytest.mark.parametrize("form", FORMS)
def test_whatever_follows_waits_behind_and_unordered_events_are_not_looked_at(form: str) -> None:
    plugin, tables = made(form, "lh", "l")
    publish(plugin, tables, Event(1))
    assert publish(plugin, tables, Event(2, ordered=False)) == [(2, LEFT, 0)]
    assert publish(plugin, tables, Event(3), LEFT) == []
    assert plugin.waiting_count == 3
    assert [blocked.reason for blocked in plugin.blocked()] == [
        "acknowledgements",
        "an earlier item for the same hop",
        "an earlier item for the same hop",
    ]
    assert sends(plugin.note(LEFT, (ANSWERED, 1))) == [(1, LOCAL, 0), (2, LOCAL, 0), (3, LOCAL, 0)]


@pytest.mark.parametrize("form", FORMS)
def test_a_lost_link_leaves_its_waiters_waiting_and_a_lost_subscriber_nothing(form: str) -> None:
    plugin, tables = made(form, "lh", "l")
    publish(plugin, tables, Event(1))
    assert plugin.hop_lost(LEFT) == ()
    plugin.link_attached(LEFT)
    assert plugin.waiting_count == 1
    plugin.hop_lost(LOCAL)
    assert plugin.waiting_count == 0


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", [(), (ANSWERED,), (4, 1), (ANSWERED, 2), (RELEASED, 1), (ANSWERED, 0)])
def test_a_foreign_note_is_named(form: str, content: tuple[int, ...]) -> None:
    plugin, tables = made(form, "lh", "l")
    publish(plugin, tables, Event(1))
    with pytest.raises(ForeignNoteError):
        plugin.note(LEFT, content)


def test_every_kind_of_cost_is_counted() -> None:
    plugin, tables = made("fast", "lrh", "lr")
    publish(plugin, tables, Event(1))
    measures = plugin.measures
    assert (measures.requests, measures.acknowledgements, measures.deferred) == (2, 0, 1)
    plugin.note(LEFT, (ANSWERED, 1))
    plugin.note(RIGHT, (ANSWERED, 1))
    assert (measures.acknowledgements, measures.refused, measures.metadata_bytes) == (2, 0, 0)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(OptionError, match="one of basic, progressive, fast"):
        made("best", "", "")


def test_messages_about_routes_leave_at_once() -> None:
    plugin, tables = made("fast", "lh", "l")
    publish(plugin, tables, Event(1))
    assert sends(plugin.control("news", LEFT)) == [("news", LEFT, 0)]
    assert plugin.uplink_changed(LEFT) == ()
    assert plugin.combine((ANSWERED, 1), (ANSWERED, 2)) is None
