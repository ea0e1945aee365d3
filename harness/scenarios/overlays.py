"""Shapes of overlays: the uplink of each broker, in an order in which brokers can be started."""

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Final

from harness.scenarios.keys import ScenarioError
from harness.scenarios.scenario import BROKERS_MAX, Overlay

Uplinks = Mapping[str, str | None]
"""Each broker's uplink, the root first and every broker behind its uplink."""


def uplinks(overlay: Overlay, seed: int, where: str) -> dict[str, str | None]:
    """Name the brokers, and each one's uplink."""
    found = _SHAPES[overlay.shape](overlay, seed, where)
    if len(found) > BROKERS_MAX:
        raise ScenarioError(f"{where}: overlay: {len(found)} brokers; expected at most {BROKERS_MAX}")
    return found


def _chain(overlay: Overlay, seed: int, where: str) -> dict[str, str | None]:
    """Return the paper's overlay: edge brokers at each core broker, the middle one being the root."""
    del seed, where
    root = (overlay.cores + 1) // 2
    above: dict[str, str | None] = {f"core-{root}": None}
    above |= {f"core-{number}": f"core-{number + 1}" for number in range(root - 1, 0, -1)}
    above |= {f"core-{number}": f"core-{number - 1}" for number in range(root + 1, overlay.cores + 1)}
    for number in range(overlay.cores * overlay.edges_per_core):
        above[f"edge-{number + 1}"] = f"core-{number // overlay.edges_per_core + 1}"
    return above


def _star(overlay: Overlay, seed: int, where: str) -> dict[str, str | None]:
    del seed, where
    return {"hub": None, **{f"edge-{number}": "hub" for number in range(1, overlay.brokers)}}


def _tree(overlay: Overlay, seed: int, where: str) -> dict[str, str | None]:
    """Each broker below one that was there before it, drawn from the seed."""
    del where
    random = Random(f"{seed}/tree")  # noqa: S311 - chance here is repeatable, not secret
    names = [f"broker-{number}" for number in range(1, overlay.brokers + 1)]
    above: dict[str, str | None] = {names[0]: None}
    above |= {name: random.choice(names[:place]) for place, name in enumerate(names) if place}
    return above


def _list(overlay: Overlay, seed: int, where: str) -> dict[str, str | None]:
    """Return the brokers of the file in an order in which they can be started."""
    del seed
    given = {name: above or None for name, above in overlay.uplinks.items()}
    if sum(above is None for above in given.values()) != 1:
        raise ScenarioError(f'{where}: overlay.uplinks: expected exactly one broker with "", the root')
    placed: dict[str, str | None] = {}
    while len(placed) < len(given):
        ready = {name: above for name, above in given.items() if above is None or above in placed}
        if len(ready) == len(placed):
            lost = next(name for name in given if name not in placed)
            raise ScenarioError(
                f"{where}: overlay.uplinks.{lost}: {given[lost]!r} does not lead to the root; "
                f"expected one of {', '.join(given)}"
            )
        placed |= ready
    return placed


_SHAPES: Final[Mapping[str, Callable[[Overlay, int, str], dict[str, str | None]]]] = {
    "chain": _chain,
    "star": _star,
    "tree": _tree,
    "list": _list,
}


def edges(above: Uplinks) -> list[str]:
    """Name the brokers without children."""
    inner = set(above.values())
    return [name for name in above if name not in inner]


def fallbacks(above: Uplinks, name: str, count: int) -> list[str]:
    """Name a broker's further uplinks, nearest first. Children of the root have each other."""
    chain = list(_climb(above, above[name]))
    if not chain:
        return []
    root = chain[-1]
    siblings = [each for each, its in above.items() if its == root and each != name and each not in chain]
    return [*chain[1:], *siblings][:count]


def _climb(above: Uplinks, name: str | None) -> Iterable[str]:
    while name is not None:
        yield name
        name = above[name]
