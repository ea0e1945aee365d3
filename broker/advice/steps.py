"""The commands that lead from one tree of brokers to another, in an order in which each is allowed.

A broker moves below one that is where it is to be already, from the root down; so none ever moves below one
that is below it. The root cannot move: another one takes its place when it is drained with that one as its
only child, and it starts again below the uplink that it is to have.
"""

from collections.abc import Iterator, Mapping

from attrs import frozen

Tree = Mapping[str, str]
"""The uplink of each broker, "" for the root."""


@frozen
class AdvisedStep:
    """One command: "move" a broker below another one, "drain" it, or "start" it again below another one."""

    verb: str
    broker: str
    uplink: str = ""


def root_of(uplinks: Tree) -> str:
    """Return the root of a tree."""
    return next(name for name, uplink in uplinks.items() if not uplink)


def steps_to(before: Tree, after: Tree) -> list[AdvisedStep]:
    """Return the steps from one tree to another one of the same brokers."""
    old, new = root_of(before), root_of(after)
    if old == new:
        return list(_moves(before, after))
    children = [name for name, uplink in after.items() if uplink == old]
    between = {**after, new: old, old: "", **dict.fromkeys(children, new)}
    return [
        *_moves(before, between),
        AdvisedStep("drain", old),
        AdvisedStep("start", old, after[old]),
        *(AdvisedStep("move", name, old) for name in children),
    ]


def _moves(before: Tree, after: Tree) -> Iterator[AdvisedStep]:
    """Yield the moves between two trees with one root, from the root down."""
    todo = [root_of(after)]
    for above in todo:
        for name in sorted(each for each, uplink in after.items() if uplink == above):
            todo.append(name)
            if before[name] != above:
                yield AdvisedStep("move", name, above)
