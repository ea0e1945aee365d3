"""What identity is expected to come to agrees with the limits that are known, and with a sample."""

from random import Random

import pytest

from harness.evaluation.routing.expected import expected_entries, expected_messages
from harness.evaluation.routing.thesis import EACH, LOCALITIES, STOCKS, thesis_tree

MANY = 100_000
"""Consumers at each local broker, so that every stock is wanted everywhere."""


@pytest.mark.parametrize("locality", LOCALITIES)
def test_with_very_many_consumers_every_stock_of_a_subtree_is_announced_everywhere(locality: float) -> None:
    limit = int(locality * STOCKS + 1e-9) * 105
    assert expected_entries(locality, MANY, is_advertised=True) == pytest.approx(limit)


def test_a_change_is_announced_everywhere_if_nobody_else_is_there_and_nowhere_if_everybody_is() -> None:
    assert expected_messages(0, is_advertised=False) == pytest.approx(106, rel=0.01)
    assert expected_messages(0, is_advertised=True) == pytest.approx(3.73, rel=0.01)
    assert expected_messages(MANY, is_advertised=False) == pytest.approx(0)


def test_entries_are_those_of_a_sample() -> None:
    tree, random, consumers = thesis_tree(), Random(1), 10
    ranges = LOCALITIES[0.5]
    wanted = {
        local.name: {
            stock
            for _ in range(consumers)
            if random.random() < 0.5
            for stock in random.sample(range(*ranges[local.subnet]), EACH)
        }
        for local in tree.locals
        if local.subnet >= 0
    }
    entries = 0
    for place in tree.places:
        if place.uplink:
            below = tree.below(place.name)
            entries += len(set[int]().union(*(wanted[each] for each in wanted if each in below)))
            entries += len(set[int]().union(*(wanted[each] for each in wanted if each not in below)))
    assert expected_entries(0.5, consumers, is_advertised=False) == pytest.approx(entries, rel=0.03)
