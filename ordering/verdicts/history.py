"""A history: the publications and deliveries of an overlay's clients. Verdicts are functions of it.

The simulator records a history after each schedule, the harness after a run. It is recorded at clients only:
their publications and deliveries, never the state of a broker.

Laws.

1. A publication is its `Key`: the publisher's id and the sequence number. No key is listed twice, and no
   subscription's name.
2. Publications are listed in the order they were published. Without `seen` only the order of each publisher's
   own matters, so a list sorted by key will do.
3. An unknown value is None, and makes the verdicts that need it unknown. It is never guessed.
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
    """One publication, and the deliveries to its client before it.

    `seen` counts how many deliveries each of the client's subscriptions had made until then: pairs of a
    subscription's name and a count. A subscription that had delivered nothing, or that is not in the
    history, may be left out. An instance is never changed; it is not frozen, since histories are made by the
    thousand and a frozen class costs three times as much to make.
    """

    publisher: str
    sequence: int
    broker: str = ""
    ordered: bool = True
    seen: Sequence[tuple[str, int]] | None = None


@define(eq=False)
class HistorySubscription:
    """One subscription and all its deliveries, in order, until its end or the end of the history.

    `matching` holds the publications that its filter matches, by brute force: no other may be delivered.
    `owed` holds those that must have been delivered: they matched, were published after `subscribe()` and
    `advertise()` had returned, and the subscription lived long enough with every broker on the path.
    An instance is never changed, like `HistoryEvent`.
    """

    name: str
    delivered: Sequence[Key]
    broker: str = ""
    ordered: bool = True
    matching: AbstractSet[Key] | None = None
    owed: AbstractSet[Key] | None = None


@frozen
class History:
    """All publications and deliveries of the clients of one overlay.

    `uplinks` has the uplink of each broker, or "" for a root. Only the words of a witness use it; if the tree
    changed, it is the last one. `stuck` describes the items that were still pending when no broker could take
    a step; only a simulator can observe that.
    """

    publications: Sequence[HistoryEvent]
    subscriptions: Sequence[HistorySubscription]
    uplinks: Mapping[str, str] = field(factory=dict)
    stuck: Sequence[str] = ()
