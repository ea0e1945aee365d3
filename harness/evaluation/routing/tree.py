"""The overlay of the thesis: a tree of routers, and local brokers at them that have the clients.

Routers stand in four levels of 1, 3, 9 and 27. A router of the last level has two local brokers, every other
has one. So there are 107 brokers, 106 links and 67 local brokers, and the longest way is 8 links.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field, frozen

__all__ = ["LEAF_LOCALS", "ROOT", "Place", "Tree", "thesis_tree"]

LEVELS: Final = 4
CHILDREN: Final = 3
LEAF_LOCALS: Final = 2

ROOT: Final = "r"
"""The router of the first level, where the source is unless something else is said."""


@frozen
class Place:
    """A broker. Routers are named by the way to them from the root, such as r02; local brokers get a letter.

    `level` is that of the router, or of the local broker's router; `subnet` is which child of the root it
    belongs to, and -1 for the root itself and its local broker.
    """

    name: str
    uplink: str
    level: int
    is_local: bool

    @property
    def subnet(self) -> int:
        """Return the number of the subtree below the root, -1 where there is none."""
        way = self.name.partition("-")[0]
        return int(way[1]) if len(way) > 1 else -1


@frozen
class Tree:
    """All brokers, each after the one above it. `_chains` has for each the brokers up to below the root."""

    places: tuple[Place, ...]
    _chains: Mapping[str, frozenset[str]] = field(init=False, repr=False, eq=False)

    @_chains.default
    def _work_out_chains(self) -> Mapping[str, frozenset[str]]:
        chains: dict[str, frozenset[str]] = {}
        for place in self.places:
            chains[place.name] = chains[place.uplink] | {place.name} if place.uplink else frozenset()
        return chains

    @property
    def locals(self) -> tuple[Place, ...]:
        """The brokers that have clients."""
        return tuple(place for place in self.places if place.is_local)

    @property
    def link_count(self) -> int:
        """How many links a tree of so many brokers has."""
        return len(self.places) - 1

    def chain(self, name: str) -> frozenset[str]:
        """The broker and all above it, but for the root: each stands for the link above it."""
        return self._chains[name]

    def below(self, name: str) -> frozenset[str]:
        """The broker and all below it."""
        return frozenset(each.name for each in self.places if name in self._chains[each.name])


def thesis_tree(levels: int = LEVELS) -> Tree:
    """Return the tree of the thesis, or a smaller one of the same form."""
    return Tree(tuple(_below(ROOT, "", 1, levels)))


def _below(name: str, uplink: str, level: int, levels: int) -> Iterator[Place]:
    yield Place(name, uplink, level, is_local=False)
    for each in range(LEAF_LOCALS if level == levels else 1):
        yield Place(f"{name}-{'ab'[each]}", name, level, is_local=True)
    if level < levels:
        for child in range(CHILDREN):
            yield from _below(f"{name}{child}", name, level + 1, levels)
