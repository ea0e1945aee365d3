"""The messages between brokers for replays, and the notices of one to a local subscription."""

from attrs import frozen

from broker.filters import Filter


@frozen
class ReplayAsked:
    """A subscription asks every broker for matching events since then, in order or in reverse.

    What was cached behind the receiver's mark `position` is asked for as well, whatever its time ("": all).
    """

    question: str
    filter: Filter
    since_ns: int
    newest_first: bool
    position: str


@frozen
class CacheMarked:
    """A mark of the sender: how far its cache goes, and those of all brokers behind it."""

    position: str


@frozen
class ReplayReady:
    """The sender and every broker behind it have made their excerpts for that question."""

    question: str


@frozen
class ReplayMore:
    """The asker has room for one `ReplayPart`."""

    question: str


@frozen
class ReplayPart:
    """The next part of the past: plain publication frames, and the time of each in the order of replays.

    It may be empty; the asker asks for the next part. If it `is_over` nothing follows; unless it `is_whole`,
    a neighbour was lost that had more.
    """

    question: str
    times: tuple[int, ...]
    frames: tuple[bytes, ...]
    is_over: bool
    is_whole: bool


@frozen
class ReplayOver:
    """The asker ends its question."""

    question: str


@frozen
class ReplayMark:
    """Goes to a local subscription and is never delivered: publications behind it are live.

    Behind the last mark, all publications from before the question that came live have come.
    """

    is_last: bool


@frozen
class ReplayCut:
    """Goes to a local subscription only: some of the past that it asked for is missing here."""
