"""The moves that drain a broker, or insert one between two others, in the order in which they are asked for.

`places` are the brokers of the overlay, each with its `name` and its `uplink`, "" for the root.
"""

from collections.abc import Mapping, Sequence

Moves = list[tuple[str, str]]
"""Brokers, and the uplinks that they are to get."""


def to_drain(places: Sequence[Mapping[str, object]], broker: str) -> Moves:
    """Return how all children of a broker leave it: those of a root go below the first of them."""
    uplinks = {str(each["name"]): str(each["uplink"]) for each in places}
    children = [name for name, uplink in uplinks.items() if uplink == broker]
    if uplinks.get(broker):
        return [(child, uplinks[broker]) for child in children]
    return [(child, children[0]) for child in children[1:]]


def to_insert(places: Sequence[Mapping[str, object]], new: str, one: str, other: str) -> Moves:
    """Return how a broker comes between two neighbours, or nothing if they are none, or it is one of them."""
    uplinks = {str(each["name"]): str(each["uplink"]) for each in places}
    if uplinks.get(one) == other:
        one, other = other, one
    if uplinks.get(other) != one or new in {one, other}:
        return []
    return [*([(new, one)] if uplinks.get(new) != one else []), (other, new)]
