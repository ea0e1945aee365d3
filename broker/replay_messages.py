"""What brokers say to each other for replays, and what a local subscription is told of one."""

from attrs import frozen

from broker.filters import Filter


@frozen
class ReplayAsked:
    """A subscription asks every broker for what matches since then, in order or in the opposite one."""

    question: str
    filter: Filter
    since_ns: int
    newest_first: bool


@frozen
class ReplayReady:
    """The sender and everybody behind it have put aside what they have for that question."""

    question: str


@frozen
class ReplayMore:
    """The asker has room for one `ReplayPart`."""

    question: str


@frozen
class ReplayPart:
    """What comes next of the past: plain publication frames, and the time of each in the order of replays.

    It may be empty; what follows is to be asked for. If it `is_over` nothing follows; unless it `is_whole`,
    a neighbour was lost that had more.
    """

    question: str
    times: tuple[int, ...]
    frames: tuple[bytes, ...]
    is_over: bool
    is_whole: bool


@frozen
class ReplayOver:
    """The asker wants no more of it."""

    question: str


@frozen
class ReplayMark:
    """Goes to a local subscription and is never delivered: what comes behind it is live.

    The last one says that what was published before the question and came live has come.
    """

    is_last: bool


@frozen
class ReplayCut:
    """Goes to a local subscription and nowhere else: some of the past that it asked for is missing here."""
