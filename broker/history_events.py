"""The ordinary events by which clients ask a history for the past, and by which it answers: their names.

A client publishes a question under `ASK`; a history that covers its filter answers under `TO`, to the user
and the token of the question. Neither is ordered, and brokers cache neither of them for replays.
"""

from typing import Final

ASK: Final = "_history.ask"
"""The token of a question: where its answers go. Only the client that drew it knows it."""

TO: Final = "_history.to"
"""The token of an answer."""

USER: Final = "_history.user"
"""The user to whom an answer goes, as the broker of the question knows him: "" where users are not known."""

NUMBER: Final = "_history.number"
NAME: Final = "_history.name"
"""The history that answers; in a question the one that is to answer, "" for any."""

FILTER: Final = "_history.filter"
SINCE_NS: Final = "_history.since_ns"
AFTER: Final = "_history.after"
"""The number in the history behind which a page begins."""

NEXT: Final = "_history.next"
IS_LAST: Final = "_history.is_last"
PART: Final = "_history.part"
PARTS: Final = "_history.parts"
GAPS: Final = "_history.gaps"
"""The gaps of a page: lists of how many events stand before it, the count (0: unknown), and the reason."""

ERROR: Final = "_history.error"

QUESTIONS: Final = f"exists({ASK})"
ANSWERS: Final = f"exists({TO})"

PAGE_BYTES: Final = 256 * 1024
"""Events of one page, a larger one alone: what a client has in memory of a history."""

PART_BYTES: Final = 512 * 1024
"""The payload of one answer; a page with a large event takes several."""


def user_of(publisher: str) -> str:
    """Return the user of a publisher's id, "" if its broker does not know users."""
    label = publisher.rpartition("@")[0]
    return label.partition("/")[0] if "/" in label else ""
