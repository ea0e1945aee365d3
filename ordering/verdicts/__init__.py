"""Verdicts on a history of deliveries: which promises of the protocol held, and who saw what if one did not.

    verdicts = check(History(publications, subscriptions, uplinks))
    verdicts.violated            # one word
    verdicts.kinds               # {"pairwise": 0, "publisher": 0, ...}
    verdicts.pairwise.outcome    # True, False, or None for unknown
    verdicts.violations[0].text  # the smallest witness, in words

Pure functions. Each promise is one module, and says in its opening what exactly it takes the promise to
mean. `report` answers two questions about order that no promise is about.
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
