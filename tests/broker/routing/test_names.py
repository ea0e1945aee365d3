"""Strategies are chosen by name, for each level."""

from itertools import product

import pytest

from broker.routing import RoutingError, known, parse


def test_every_pair_of_names_is_read_and_written() -> None:
    for first, second in product(known(), known()):
        routing = parse(f"{first}+{second}")
        assert (routing.subscriptions.name, routing.advertisements.name) == (first, second)
        assert str(routing) == f"{first}+{second}"
        assert parse(str(routing)) == routing


@pytest.mark.parametrize("name", ["simple", "identity", "covering"])
def test_one_name_is_for_both_levels(name: str) -> None:
    assert parse(name) == parse(f"{name}+{name}")


def test_flooding_alone_still_announces_advertisements() -> None:
    assert str(parse("flooding")) == "flooding+simple"


def test_merging_has_a_factor_and_leaves_advertisements_to_covering() -> None:
    assert str(parse("merging:1.5")) == "merging:1.5+covering"
    assert str(parse("covering+merging:2")) == "covering+merging:2.0"
    assert str(parse("merging:1")) == "merging+covering"
    assert parse(str(parse("merging:1.5"))) == parse("merging:1.5")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "coverin",
        "covering+",
        "+covering",
        "covering+identity+simple",
        "Simple",
        "merging:",
        "merging:0.9",
        "merging:nan",
        "merging:inf",
        "simple:2",
    ],
)
def test_a_wrong_name_lists_the_right_ones(text: str) -> None:
    with pytest.raises(RoutingError) as caught:
        parse(text)
    assert repr(text) in str(caught.value)
    assert all(name in str(caught.value) for name in known())
