from attrs import define, frozen

from ordering.fifo import Fifo
from ordering.interface import ALONE, Context, Measures, Ordering, Route
from ordering.pairwise import Pairwise
from ordering.sequencer import Sequencer
from ordering.watched import Watch

UP, LEFT, LOCAL = 1, 2, 4


@frozen
class Event:
    sequence: int
    publisher: str = "p"
    ordered: bool = True


@define
class Ticks:
    """A clock that its holder moves on, and one that moves on whenever it is looked at."""

    time: int = 0
    looks: int = 0

    def read(self) -> int:
        return self.time

    def look(self) -> int:
        self.looks += 1
        return self.looks


def watched_child(ticks: Ticks) -> tuple[Watch, Ordering]:
    watch = Watch(ticks.look, ticks.read)
    plugin = watch.over(Pairwise)(ALONE)
    plugin.link_attached(UP)
    plugin.uplink_changed(UP)
    return watch, plugin


def test_a_publication_is_deferred_until_it_has_left_for_its_last_hop() -> None:
    ticks = Ticks()
    watch, plugin = watched_child(ticks)
    plugin.publication(Event(1), 0, 0, Route(UP | LEFT | LOCAL, LOCAL))
    plugin.publication(Event(2), 0, 0, Route(UP | LEFT | LOCAL, LOCAL))
    ticks.time = 5
    plugin.note(UP, (1,))
    ticks.time = 9
    plugin.note(UP, (1,))
    assert (watch.deferrals, watch.deferral_total, watch.deferral_max, watch.waiting_max) == (2, 14, 9, 2)


def test_no_item_waits_for_a_hop_that_is_gone() -> None:
    ticks = Ticks()
    watch, plugin = watched_child(ticks)
    plugin.publication(Event(1), 0, 0, Route(UP | LOCAL, LOCAL))
    plugin.hop_lost(LOCAL)
    plugin.note(UP, (1,))
    assert watch.deferrals == 0
    assert plugin.waiting_count == 0


def test_every_detection_is_timed() -> None:
    watch, plugin = watched_child(Ticks())
    for number in range(3):
        plugin.publication(Event(number), UP, 0, Route(LOCAL, LOCAL))
    assert (watch.detections, watch.detection_total, watch.detection_max) == (3, 3, 1)


def test_what_was_refused_was_not_deferred_and_what_plugins_count_is_added_up() -> None:
    watch = Watch(lambda: 0, lambda: 0)
    factory = watch.over(lambda context: Sequencer(Context(context.broker, options={"queue": "1"})))
    for name in ("B2", "B3"):
        plugin = factory(Context(name))
        for number in range(3):
            plugin.publication(Event(number), 0, 0, Route(LOCAL, 0))
    assert watch.measures() == Measures(deferred=2, refused=4)
    assert watch.deferrals == 0


def test_everything_else_is_the_plugins() -> None:
    watch = Watch(lambda: 0, lambda: 0)
    plugin = watch.over(Fifo)(ALONE)
    (emission,) = plugin.control("news", UP)
    assert (emission.item, emission.targets) == ("news", UP)
    assert (plugin.blocked(), plugin.combine((1,), (2,))) == ((), None)
    assert plugin.measures == Measures()
