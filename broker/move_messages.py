"""The messages of moves between brokers: requests and answers, and the steps of a move.

`broker.messages` has them among the others; `broker.core.moves` and `broker.core.lifting` say what they do.
"""

from attrs import frozen

from broker.routing.strategy import RouteFilter


@frozen
class Move:
    """Asks that a broker of the overlay moves below `uplink`; `Explained` says how that goes and ends."""

    number: int
    broker: str
    uplink: str
    method: str


@frozen
class MoveAsked:
    """Asks `broker` to move below `uplink`, or to end. Goes through the tree, and answers go to `asker`."""

    question: str
    asker: str
    broker: str
    uplink: str
    method: str


@frozen
class MoveAnswer:
    """How a move goes, one JSON object a line, on the way to `asker`. With `more` it is not over."""

    question: str
    asker: str
    lines: tuple[str, ...]
    more: bool = False


@frozen
class StepAsked:
    """Asks the broker above `parent`, or a child of it, to take the sender, an identity, as its child.

    The first message of a new link.
    """

    child: str
    number: int
    parent: str


@frozen
class StepGranted:
    """The sender keeps itself free for the step of that number."""

    number: int


@frozen
class StepQueued:
    """The sender takes part in another step; that of this number is next, or waits behind others."""

    number: int


@frozen
class StepRefused:
    """The step of that number cannot be taken now; nothing has been changed."""

    number: int
    text: str


@frozen
class StepCancelled:
    """The sender, a child, does not take the step of that number."""

    number: int


@frozen
class LiftAsked:
    """A child asks that from now on everything for it is ordered by the broker above its parent."""

    number: int
    above: str


@frozen
class LiftReady:
    """The parent is prepared for the step of its child: nothing older than that is pending there."""

    number: int


@frozen
class Lift:
    """A child sends nothing more to its parent: the switch may be made."""

    number: int


@frozen
class LiftedRoutes:
    """A part of what a parent and the child that moves have announced to each other, or a page of it."""

    routes: tuple[RouteFilter, ...]
    part: str


@frozen
class LiftedIds:
    """A part of which ids are enough, or a page of it."""

    ids: frozenset[str]
    part: str


@frozen
class Lifted:
    """The child of that name is lifted: the receiver is its parent from this place of the sequence on."""

    child: str
    number: int


@frozen
class Switched:
    """What was ordered before this comes by the old way; what comes from here on comes by the new one."""

    child: str
    number: int


@frozen
class LowerAsked:
    """The sender, a child, asks to become the parent of its sibling of that name."""

    child: str
    number: int


@frozen
class LowerGranted:
    """The sender, the parent of both, keeps itself free to lower that child below the receiver."""

    child: str
    number: int


@frozen
class LowerPrepared:
    """The sender, the new parent, is prepared to take the child of that name."""

    child: str
    number: int


@frozen
class LowerCancelled:
    """The parent, or the new one, does not lower that child; nothing has been changed."""

    child: str
    number: int
    text: str


@frozen
class Lowered:
    """The child of that name is lowered: the receiver is its parent from this place of the sequence on."""

    child: str
    number: int


@frozen
class LowerTaken:
    """The sender has taken the child: what it sends from here on counts the child as its own."""

    child: str
    number: int


@frozen
class LowerSettled:
    """All that was pending at the switch for the child and for its new parent came before this."""

    child: str
    number: int


@frozen
class Joined:
    """The sender, the new parent of a child that was lowered, lets it send."""

    number: int


MoveMessage = (
    MoveAsked
    | MoveAnswer
    | StepAsked
    | StepGranted
    | StepQueued
    | StepRefused
    | StepCancelled
    | LiftAsked
    | LiftReady
    | Lift
    | LiftedRoutes
    | LiftedIds
    | Lifted
    | Switched
    | LowerAsked
    | LowerGranted
    | LowerPrepared
    | LowerCancelled
    | Lowered
    | LowerTaken
    | LowerSettled
    | Joined
)
