"""What happened, as far as the verdicts need to know: a history is what they are functions of.

Whoever watched the clients writes one down: the simulator after each schedule, the harness after a run. Only
clients are heard: what they published and what was delivered to them, never what a broker thinks of it.

Laws.

1. A publication is its `Key`: the publisher's id and the sequence number. No key is listed twice, and no
   subscription's name.
2. Publications are listed in the order they were published. Without `seen` only the order of each publisher's
   own matters, so a list sorted by key will do.
3. What is not known is None, and makes the verdicts that need it unknown. It is never guessed.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import define, field, frozen

Key = tuple[str, int]
"""The publisher's id and the sequence number."""


class HistoryError(ValueError):
    """A history contradicts itself, so no verdict on it would mean anything."""


@define(eq=False)
class HistoryEvent:
    """One publication, and what its client knew when it published it.

    `seen` says how many deliveries each of the client's subscriptions had made until then: pairs of a
    subscription's name and a count. A subscription that had delivered nothing, or that is not in the
    history, may be left out. Never changed after it was made; not frozen, since histories are made by the
    thousand and a frozen class costs three times as much to make.
    """

    publisher: str
    sequence: int
    broker: str = ""
    ordered: bool = True
    seen: Sequence[tuple[str, int]] | None = None


@define(eq=False)
class HistorySubscription:
    """One subscription and everything it delivered, in order, until its end or the history's.

    `matching` holds the publications that its filter matches, by brute force: no other may be delivered.
    `owed` holds those that must have been delivered: they matched, were published after `subscribe()` and
    `advertise()` had returned, and the subscription lived long enough with every broker on the path.
    Never changed after it was made, like `HistoryEvent`.
    """

    name: str
    delivered: Sequence[Key]
    broker: str = ""
    ordered: bool = True
    matching: AbstractSet[Key] | None = None
    owed: AbstractSet[Key] | None = None


@frozen
class History:
    """Everything the clients of one overlay saw.

    `uplinks` says where each broker is in the tree: its uplink, or "" for a top. It is used in the words of
    a witness alone; if the tree changed, it is the last one. `stuck` says in words what was still waiting
    when nothing could move any more; only a simulator knows that.
    """

    publications: Sequence[HistoryEvent]
    subscriptions: Sequence[HistorySubscription]
    uplinks: Mapping[str, str] = field(factory=dict)
    stuck: Sequence[str] = ()
