"""Histories as runs' directories, so that what judges histories and what judges datasets can be compared."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from harness.analysis.synthetic import rows, write_dataset
from ordering.verdicts import History, HistoryEvent, HistorySubscription, Key


def together(histories: Sequence[History]) -> History:
    """Several histories as one: nobody in one of them has anything to do with anybody in another."""
    publications: list[HistoryEvent] = []
    subscriptions: list[HistorySubscription] = []
    for index, history in enumerate(histories):

        def renamed(key: Key, prefix: str = f"h{index}-") -> Key:
            return prefix + key[0], key[1]

        publications += [
            attrs.evolve(each, publisher=f"h{index}-{each.publisher}", seen=None)
            for each in history.publications
        ]
        for each in history.subscriptions:
            matching = frozenset(map(renamed, each.matching or ()))
            subscriptions.append(
                attrs.evolve(
                    each,
                    name=f"h{index}-{each.name}",
                    delivered=[renamed(key) for key in each.delivered],
                    matching=matching,
                    owed=matching,
                )
            )
    return History(publications, [each for each in subscriptions if each.delivered], histories[0].uplinks)


def written(path: Path, history: History) -> Path:
    """Write a history as `harness run` would."""
    publications = [
        {
            "publisher": each.publisher,
            "sequence": each.sequence,
            "broker": each.broker,
            "ordered": each.ordered,
            "published_ns": number * 1_000,
        }
        for number, each in enumerate(history.publications)
    ]
    deliveries = [
        {
            "subscriber": each.name,
            "broker": each.broker,
            "position": position,
            "publisher": publisher,
            "sequence": sequence,
            "delivered_ns": position * 1_000,
        }
        for each in history.subscriptions
        for position, (publisher, sequence) in enumerate(each.delivered)
    ]
    subscriptions = [
        {"subscriber": each.name, "broker": each.broker, "ordered": each.ordered}
        for each in history.subscriptions
    ]
    contents = {
        "publications": publications,
        "deliveries": deliveries,
        "subscriptions": subscriptions,
        "matches": list(_matches(history)),
    }
    for name, values in contents.items():
        write_dataset(path, name, rows(name, values))
    (path / "run.json").write_text(json.dumps({"ordering": "pairwise", "uplinks": dict(history.uplinks)}))
    return path


def _matches(history: History) -> Iterator[dict[str, object]]:
    for each in history.subscriptions:
        for publisher, sequence in sorted(each.matching or ()):
            yield {"subscriber": each.name, "publisher": publisher, "sequence": sequence}
