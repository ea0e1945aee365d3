"""What an analysis of routing strategies comes to: one point for each study and number of consumers."""

from collections.abc import Mapping, Sequence

import attrs


@attrs.frozen
class MeasuredPoint:
    """A study at a number of consumers at each broker; a value that was not measured is None.

    `entries` are remote entries of all brokers, `level_entries` those of a router of each level on average,
    `differing` counts brokers whose table is not what it should be. `messages` and `acknowledgements` are
    means over `changes` (un)subscriptions, with the standard error. `saved` is the part of the publications
    over links that flooding would cost in addition, `extra` the part that nobody behind the link wanted,
    `wrong` how many deliveries were missing or not wanted. `break_even` is the rate of events to that of
    changes at which what is saved equals what changes cost.
    """

    study: str
    consumers: int
    group: str
    kind: str
    strategy: str
    has_advertisements: bool
    locality: float | None
    factor: float
    subscriptions: int
    entries: int
    brokers: int
    level_entries: Sequence[float]
    differing: int | None
    changes: int | None = None
    messages: float | None = None
    messages_error: float | None = None
    acknowledgements: float | None = None
    quotes: int | None = None
    publications: float | None = None
    saved: float | None = None
    extra: float | None = None
    wrong: int | None = None
    break_even: float | None = None
    is_continued: bool = False


def points(analysis: Mapping[str, object]) -> list[MeasuredPoint]:
    """Read the points of an analysis."""
    found = analysis.get("points")
    return [MeasuredPoint(**each) for each in found] if isinstance(found, list) else []
