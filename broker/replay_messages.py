"""The messages of replays: between brokers, and to a local subscription."""

from attrs import frozen

from broker.filters import Filter


@frozen
class ReplayAsked:
    """A subscription asks every broker for matching publications since then, oldest or newest first."""

    question: str
    filter: Filter
    since_ns: int
    newest_first: bool


@frozen
class ReplayReady:
    """The sender and all brokers behind it have put aside their publications for that question."""

    question: str


@frozen
class ReplayMore:
    """The asker has room for one `ReplayPart`."""

    question: str


@frozen
class ReplayPart:
    """The next past publications: plain frames, and the time of each in the order of replays.

    It may be empty; the next part has to be asked for. If it `is_over` no part follows; unless it `is_whole`,
    a neighbour was lost that had more.
    """

    question: str
    times: tuple[int, ...]
    frames: tuple[bytes, ...]
    is_over: bool
    is_whole: bool


@frozen
class ReplayOver:
    """The asker ends the replay."""

    question: str


@frozen
class ReplayMark:
    """Goes to a local subscription and is never delivered: publications behind it are live.

    The last one follows all publications from before the question that came live.
    """

    is_last: bool


@frozen
class ReplayCut:
    """Goes to a local subscription and nowhere else: some past publications are missing here."""
