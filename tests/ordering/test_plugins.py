"""Finding plugins, and giving them options."""

import pytest

from ordering.fifo import Fifo
from ordering.interface import ALONE, Context, OptionError, OrderingFactory
from ordering.pairwise import Pairwise
from ordering.plugins import (
    IncompatibleOrderingError,
    UnknownOrderingError,
    caution,
    configured,
    load,
    names,
    notes_version,
    routing,
)
from ordering.published import Published
from ordering.sequencer import Sequencer

OURS: dict[str, OrderingFactory] = {
    "fifo": Fifo,
    "pairwise": Pairwise,
    "published": Published,
    "sequencer": Sequencer,
}


def test_every_plugin_is_found_by_its_name() -> None:
    assert set(OURS) <= set(names())
    assert {name: load(name) for name in OURS} == OURS


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownOrderingError, match=r"'total'; there are fifo, pairwise"):
        load("total")


@pytest.mark.parametrize("name", OURS)
def test_no_plugin_takes_an_option_that_it_does_not_know(name: str) -> None:
    assert load(name)(ALONE).waiting_count == 0
    with pytest.raises(OptionError, match="unknown option 'speed'"):
        load(name, {"speed": "high"})(ALONE)


def test_options_reach_the_plugin_with_everything_else() -> None:
    seen: list[Context] = []

    def factory(context: Context) -> Fifo:
        seen.append(context)
        return Fifo()

    configured(factory, {"a": "1"})(Context("B7"))
    assert seen == [Context("B7", seen[0].tables, {"a": "1"})]


def test_only_published_is_never_for_production() -> None:
    assert {name for name in OURS if caution(name)} == {"published"}


def test_only_published_needs_a_routing_of_its_own() -> None:
    assert {name: routing(name) for name in OURS if routing(name)} == {"published": "simple+simple"}


def test_a_plugin_for_another_version_of_the_interface_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Fifo, "INTERFACE_VERSION", 2, raising=False)
    with pytest.raises(
        IncompatibleOrderingError, match=r"'fifo' was written for version 2 .* this broker has version 1"
    ):
        load("fifo")


def test_a_plugin_without_a_version_has_the_first() -> None:
    assert {notes_version(name) for name in OURS} == {1}
