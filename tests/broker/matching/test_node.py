"""What a node does with entries: where they go, and that each lookup narrows."""

from collections.abc import Iterable

from broker.filters.constraints import Constraint, NumberRange, TextPattern, TextSet, Value
from broker.matching import MatchingIndex
from broker.matching.bucket import FEW, IndexEntry, IndexNode, Item, Path, Payload
from broker.matching.node import TreeNode


def node_of(conjunctions: Iterable[dict[str, Constraint]]) -> tuple[TreeNode[int], list[IndexEntry[int]]]:
    node: TreeNode[int] = TreeNode(Path(), MatchingIndex)
    entries = [IndexEntry(tuple(sorted(one.items())), key) for key, one in enumerate(conjunctions)]
    for entry in entries:
        node.add(entry)
    return node, entries


def text(value: str) -> TextSet:
    return TextSet(frozenset({value}))


def tried(node: TreeNode[int], event: dict[str, Value]) -> int:
    """How many items a lookup would try in the end."""
    buckets: list[list[Item[int]] | IndexNode[int]] = [node]
    found: list[Payload[int]] = []
    count = 0
    for bucket in buckets:
        if isinstance(bucket, list):
            count += len(bucket)
            continue
        count += len(bucket.rest)
        for name, probes in bucket.probes.items():
            for probe in probes if name in event else ():
                probe(event[name], event, buckets, found)
    return count + len(found)


def test_a_second_attribute_divides_what_the_first_leaves_together() -> None:
    node, _ = node_of({"kind": text("trade"), "symbol": text(f"S{number}")} for number in range(1000))
    assert tried(node, {"kind": "trade", "symbol": "S7"}) == 1


def test_ranges_divide_a_bucket() -> None:
    node, _ = node_of(
        {"kind": text("trade"), "price": NumberRange(low, True, low + 1, False)} for low in range(1000)
    )
    assert tried(node, {"kind": "trade", "price": 500}) == 1


def test_prefixes_divide_a_bucket() -> None:
    node, _ = node_of({"topic": TextPattern(prefix=f"{number:04}")} for number in range(1000))
    assert tried(node, {"topic": "0077/x"}) == 1


def test_what_one_lookup_leaves_together_is_tried_while_it_is_little() -> None:
    node, _ = node_of({"symbol": text("IBM"), "price": NumberRange(low=low)} for low in range(FEW))
    assert tried(node, {"symbol": "IBM", "price": -1}) == FEW


def test_what_an_event_lacks_is_not_looked_at() -> None:
    node, _ = node_of({"a": TextPattern(contains=frozenset({str(number)}))} for number in range(100))
    assert tried(node, {"b": "7"}) == 0


def test_removal_leaves_nothing_behind() -> None:
    kinds: list[dict[str, Constraint]] = [
        {},
        {"a": text("x")},
        {"a": NumberRange(1, True, 2, True)},
        {"a": NumberRange(1, True, 2, True), "b": NumberRange(low=1)},
        {"a": NumberRange(low=3), "b": TextPattern(suffix="x")},
        {"a": TextPattern(prefix="x", suffix="y")},
    ]
    node, entries = node_of(kinds * 20)
    for entry in entries:
        node.remove(entry)
    assert not node
    assert not node.probes
