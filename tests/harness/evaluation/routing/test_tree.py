from harness.evaluation.routing.expected import needed_links
from harness.evaluation.routing.references import mean_way
from harness.evaluation.routing.studies import FAR
from harness.evaluation.routing.thesis import ROOT, thesis_tree

TREE = thesis_tree()


def links(one: str, other: str) -> int:
    return needed_links(TREE, one, [other])


def test_the_tree_has_as_many_brokers_as_the_thesis_says() -> None:
    routers = [place for place in TREE.places if not place.is_local]
    assert [sum(place.level == level for place in routers) for level in (1, 2, 3, 4)] == [1, 3, 9, 27]
    assert (len(TREE.places), len(TREE.locals), TREE.link_count) == (107, 67, 106)


def test_ways_are_as_long_as_the_thesis_says() -> None:
    names = [place.name for place in TREE.locals]
    assert max(links(one, other) for one in names for other in names) == 8
    assert sum(links(ROOT, name) for name in names) == mean_way() * 67
    assert sum(links(FAR, name) for name in names) == 454


def test_a_publication_takes_every_link_once() -> None:
    assert needed_links(TREE, ROOT, [place.name for place in TREE.locals]) == 106
    assert needed_links(TREE, ROOT, []) == 0
    assert needed_links(TREE, FAR, [FAR, "r000-b"]) == 2


def test_local_brokers_belong_to_a_subtree_of_the_root_but_one() -> None:
    subnets = [place.subnet for place in TREE.locals]
    assert [subnets.count(subnet) for subnet in (-1, 0, 1, 2)] == [1, 22, 22, 22]
