"""Integrity: each subscription delivers a publication at most once, only if it was published and matches.

Three kinds of violation, counted in deliveries: `duplicate` is a delivery of a publication that the same
subscription delivered before, `unpublished` one of a key that nobody published, `unmatched` one of a
publication that its filter does not match. Repeats count as duplicates only. Without `matching` the verdict
is at best unknown.
"""

from ordering.verdicts.history import HistorySubscription, Key
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.verdict import Verdict, Violation, broken, kept
from ordering.verdicts.words import name, placed

Found = tuple[HistorySubscription, Key]


def integrity(numbered: Numbered) -> Verdict:
    """Judge integrity."""
    duplicate: list[Found] = []
    unpublished: list[Found] = []
    unmatched: list[Found] = []
    unknown = ""
    published = numbered.numbers.keys()
    for each, first in zip(numbered.history.subscriptions, numbered.firsts, strict=True):
        delivered = first.keys()
        if len(first) != len(each.delivered):
            duplicate += [(each, key) for key in _repeats(each)]
        if not delivered <= published:
            unpublished += [(each, key) for key in first if key not in published]
        if each.matching is None:
            unknown = unknown or f"nobody said what the filter of {each.name} matches"
        elif not delivered <= each.matching:
            unmatched += [(each, key) for key in first if key not in each.matching and key in published]
    return _verdict(duplicate, unpublished, unmatched, unknown)


def _verdict(
    duplicate: list[Found], unpublished: list[Found], unmatched: list[Found], unknown: str
) -> Verdict:
    counts = {
        "duplicates": len(duplicate),
        "unpublished": len(unpublished),
        "unmatched": len(unmatched),
    }
    if not (duplicate or unpublished or unmatched):
        return kept("integrity", counts, unknown)
    kinds = {"duplicate": len(duplicate), "unpublished": len(unpublished), "unmatched": len(unmatched)}
    witnesses = [
        *(
            Violation("duplicate", (each.name,), (key,), _twice(each, key))
            for each, key in dict.fromkeys(duplicate)
        ),
        *(_witness("unpublished", each, key, "which nobody published") for each, key in unpublished),
        *(_witness("unmatched", each, key, "which its filter does not match") for each, key in unmatched),
    ]
    return broken("integrity", counts, kinds, witnesses)


def _repeats(subscription: HistorySubscription) -> list[Key]:
    seen: set[Key] = set()
    repeats = []
    for key in subscription.delivered:
        if key in seen:
            repeats.append(key)
        seen.add(key)
    return repeats


def _twice(subscription: HistorySubscription, key: Key) -> str:
    positions = [str(i) for i, each in enumerate(subscription.delivered) if each == key]
    who = placed(subscription.name, subscription.broker)
    return f"{who} delivers {name(key)} {len(positions)} times (deliveries {' and '.join(positions)})."


def _witness(kind: str, subscription: HistorySubscription, key: Key, fault: str) -> Violation:
    position = list(subscription.delivered).index(key)
    who = placed(subscription.name, subscription.broker)
    text = f"{who} delivers {name(key)}, {fault} (delivery {position})."
    return Violation(kind, (subscription.name,), (key,), text)
