"""Verdicts on a history of deliveries: the promises of the protocol that held, and witnesses if one did not.

    verdicts = check(History(publications, subscriptions, uplinks))
    verdicts.violated            # one word
    verdicts.kinds               # {"pairwise": 0, "publisher": 0, ...}
    verdicts.pairwise.outcome    # True, False, or None for unknown
    verdicts.violations[0].text  # the smallest witness, in words

Pure functions. Each promise is one module, and its first lines define the promise exactly. `report` answers
two questions about order that no promise covers.
"""

from ordering.verdicts.checking import check, report
from ordering.verdicts.history import History, HistoryError, HistoryEvent, HistorySubscription, Key
from ordering.verdicts.verdict import KINDS, Reports, Verdict, Verdicts, Violation

__all__ = [
    "KINDS",
    "History",
    "HistoryError",
    "HistoryEvent",
    "HistorySubscription",
    "Key",
    "Reports",
    "Verdict",
    "Verdicts",
    "Violation",
    "check",
    "report",
]
