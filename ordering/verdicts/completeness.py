"""Completeness: after `advertise()` and `subscribe()` have returned, every matching publication is delivered.

The author of the history states which publications are owed to a subscription: only they know when the calls
returned, and which brokers were lost. A violation of kind `missing` is an owed publication that its
subscription never delivered; one of kind `stuck` is an item that was still pending when no broker could take
a step.
"""

from ordering.verdicts.history import History, HistorySubscription, Key
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.verdict import WITNESSES_MAX, Verdict, Violation, broken, kept
from ordering.verdicts.words import name, placed, way


def completeness(numbered: Numbered) -> Verdict:
    """Judge completeness."""
    history = numbered.history
    missing: list[tuple[HistorySubscription, Key]] = []
    unknown = ""
    for each, first in zip(history.subscriptions, numbered.firsts, strict=True):
        if each.owed is None:
            unknown = unknown or f"nobody said what is owed to {each.name}"
        elif not each.owed <= first.keys():
            missing += [(each, key) for key in sorted(each.owed - first.keys())]
    counts = {"missing": len(missing), "stuck": len(history.stuck)}
    if not missing and not history.stuck:
        return kept("completeness", counts, unknown)
    publications = {(each.publisher, each.sequence): each.broker for each in history.publications}
    witnesses = [
        _missing(history, each, key, publications.get(key, "")) for each, key in missing[:WITNESSES_MAX]
    ]
    witnesses += [Violation("stuck", (), (), each) for each in history.stuck]
    return broken("completeness", counts, counts, witnesses)


def _missing(history: History, subscription: HistorySubscription, key: Key, origin: str) -> Violation:
    who = placed(subscription.name, subscription.broker)
    what = placed(f"{name(key)}, published", origin) if origin else name(key)
    path = way(history.uplinks, origin, subscription.broker)
    route = f" The way there is {' - '.join(path)}." if len(path) > 1 else ""
    text = f"{who} never delivers {what}, and it is owed.{_around(subscription, key)}{route}"
    return Violation("missing", (subscription.name,), (key,), text)


def _around(subscription: HistorySubscription, key: Key) -> str:
    """Return in words the same publisher's deliveries right before and after the gap."""
    same = [each for each in subscription.delivered if each[0] == key[0]]
    before = max((each for each in same if each < key), default=None)
    after = min((each for each in same if each > key), default=None)
    if before and after:
        return f" It delivers {name(before)} and {name(after)}."
    if before or after:
        return f" It delivers {name(before or after or key)}."
    return f" It delivers nothing of {key[0]}."
