"""The witnesses of a violation: views of subscriptions, with the times and brokers that a diagram needs.

The analysis knows publications and subscriptions by numbers; the few of the witnesses get their names from
the datasets, which are read once for it.
"""

from collections.abc import Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.comparing import Clash
from harness.analysis.datasets import Numbering, RunDatasets

LATE_MAX: Final = 5

Witness = dict[str, object]


@attrs.frozen
class Late:
    """A subscription that delivers `number` after the later `after` of the same publisher."""

    subscriber: str
    number: int
    after: int


@attrs.frozen
class _Publication:
    publisher: str
    sequence: int
    broker: str
    published_ns: int

    @property
    def name(self) -> str:
        return f"{self.publisher}/{self.sequence}"

    def as_json(self) -> dict[str, object]:
        return attrs.asdict(self)


@attrs.frozen
class _Delivery:
    broker: str
    position: int
    delivered_ns: int


@attrs.frozen(eq=False)
class _Named:
    """The publications and deliveries of the witnesses."""

    publications: dict[int, _Publication]
    deliveries: dict[tuple[str, str, int], _Delivery]

    def view(self, subscriber: str, numbers: Sequence[int]) -> dict[str, object]:
        """The view of one subscription on some publications, in words and numbers."""
        seen = [(self.publications[number], self._at(subscriber, number)) for number in numbers]
        first, second = sorted(seen, key=lambda each: each[1].position)
        where = f"{subscriber} at {first[1].broker}" if first[1].broker else subscriber
        return {
            "subscriber": subscriber,
            "broker": first[1].broker,
            "text": (
                f"{where} delivers {first[0].name} before {second[0].name} "
                f"(deliveries {first[1].position} and {second[1].position})"
            ),
            "deliveries": [
                {"publication": publication.name, "position": at.position, "delivered_ns": at.delivered_ns}
                for publication, at in (first, second)
            ],
        }

    def _at(self, subscriber: str, number: int) -> _Delivery:
        publication = self.publications[number]
        return self.deliveries[subscriber, publication.publisher, publication.sequence]


def pairwise(
    run: RunDatasets, numbering: Numbering, streams: DataFrame, clashes: Sequence[Clash]
) -> list[Witness]:
    """Return the witnesses of pairs that deliver two publications in opposite orders."""
    if not clashes:
        return []
    codes = {code for clash in clashes for code in (clash.one, clash.other)}
    rows = streams.filter(F.col("code").isin(*codes)).select("code", "subscriber").collect()
    names: dict[int, str] = {row["code"]: row["subscriber"] for row in rows}
    numbers = {number for clash in clashes for number in (clash.early, clash.late)}
    named = _named(run, numbering, sorted(names.values()), sorted(numbers))
    found: list[Witness] = []
    for clash in clashes:
        both = (clash.early, clash.late)
        views = [named.view(names[code], both) for code in (clash.one, clash.other)]
        found.append(
            {
                "kind": "pairwise",
                "text": "; ".join(str(view["text"]) for view in views),
                "publications": [named.publications[number].as_json() for number in both],
                "views": views,
            }
        )
    return found


def late(streams: DataFrame) -> list[Late]:
    """The subscriptions with the smallest violations of per-publisher order."""
    rows = (
        streams.filter("late > 0")
        .orderBy(F.col("late_after") - F.col("late_number"), "subscriber")
        .limit(LATE_MAX)
        .select("subscriber", "late_number", "late_after")
        .collect()
    )
    return [Late(row["subscriber"], row["late_number"], row["late_after"]) for row in rows]


def publisher(run: RunDatasets, numbering: Numbering, violations: Sequence[Late]) -> list[Witness]:
    """Return the witnesses of deliveries that follow a later publication of their publisher."""
    if not violations:
        return []
    numbers = {number for each in violations for number in (each.number, each.after)}
    named = _named(run, numbering, [each.subscriber for each in violations], sorted(numbers))
    found: list[Witness] = []
    for each in violations:
        both = (each.number, each.after)
        view = named.view(each.subscriber, both)
        who = named.publications[each.number].publisher
        found.append(
            {
                "kind": "publisher",
                "text": f"{view['text']}, against the order in which {who} published them",
                "publications": [named.publications[number].as_json() for number in both],
                "views": [view],
            }
        )
    return found


def _named(
    run: RunDatasets, numbering: Numbering, subscribers: Sequence[str], numbers: Sequence[int]
) -> _Named:
    some = numbering.frame.filter(F.col("number").isin(*numbers))
    publications = {
        row["number"]: _Publication(row["publisher"], row["sequence"], row["origin"], row["published_ns"])
        for row in some.collect()
    }
    deliveries = (
        run.read("deliveries")
        .filter(F.col("subscriber").isin(*subscribers))
        .join(F.broadcast(some.select("publisher", "sequence")), ["publisher", "sequence"])
        .orderBy("position")
        .collect()
    )
    found: dict[tuple[str, str, int], _Delivery] = {}
    for row in deliveries:
        # The first delivery counts; a second one is a duplicate, which is reported elsewhere.
        key = (row["subscriber"], row["publisher"], row["sequence"])
        found.setdefault(key, _Delivery(row["broker"], row["position"], row["delivered_ns"]))
    return _Named(publications, found)
