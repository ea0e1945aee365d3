"""The studies: strategies, kinds of subscriptions, and numbers of consumers."""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from harness.evaluation.routing.thesis import LOCALITIES, ROOT

POINTS: Final = (2, 5, 10, 20, 50, 100, 150, 200)
"""Consumers at each local broker."""

HEAVY: Final = (2, 5, 10, 20)
"""Simple routing without advertisements has an entry for every subscription at every broker but one. With 20
consumers those are 1.4 million; from there on it is continued in a straight line, which it is."""

UP_TO_A_HUNDRED: Final = (2, 5, 10, 20, 50, 100)
"""Merging without advertisements costs most of all, and its curve is that of identity."""

SMALL: Final = (2, 5, 10, 20)
"""Quotes of all stocks merge to one filter, which every subscription to a new stock changes."""

HALF: Final = (2, 10, 20, 50, 100, 200)
COSTLY: Final = (2, 10)
"""Every change costs simple routing without advertisements 106 messages, however many there are."""

FACTORS: Final = ("1", "1.25", "1.5", "2", "2.5")
FEW: Final = (20, 100, 200)
COARSE: Final = (2, 20, 100)

LOCAL: Final = (10, 50, 200)

FAR_POINTS: Final = (2, 10, 20)
"""With more, an event goes nearly everywhere."""

ROUNDS_MOST: Final = 60
"""40,000 changes."""

QUICK_ROUNDS: Final = 2

FAR: Final = "r000-a"
"""A local broker of the last level: no place is farther from the others."""

EVERY_STOCK: Final = "each"
AT_RANDOM: Final = "random"


@frozen
class RoutingStudy:
    """One overlay that gets more and more consumers, and the measurements at each point.

    With `changes` about half of the consumers are active, and some come and go, in so many `rounds` at most;
    without, all are active.
    `events` says which quotes are published at each point: none (""), one of each stock, or some at random.
    """

    name: str
    group: str
    kind: str
    subscribing: str
    advertising: str
    consumers: Sequence[int]
    changes: bool = False
    events: str = ""
    locality: float | None = None
    is_exhaustive: bool = False
    source: str = ROOT
    factor: float = 1.0
    rounds: int = ROUNDS_MOST

    @property
    def routing(self) -> str:
        """Both strategies, as `--routing` takes them."""
        return f"{self.subscribing}+{self.advertising}"

    @property
    def has_advertisements(self) -> bool:
        """Return whether subscriptions are forwarded only towards overlapping advertisements."""
        return self.advertising != "flooding"


def _ways() -> Iterator[tuple[str, str]]:
    """Without and with advertisements, as it is in names; one advertisement is the same to all strategies."""
    yield "", "flooding"
    yield "-advertised", "simple"


_MADE_FOR: Final = (
    ("quotes", "simple"),
    ("quotes", "identity"),
    ("intervals", "covering"),
    ("intervals", "merging"),
)
"""Strategies, with the subscriptions that each was made for."""


def _tables() -> Iterator[RoutingStudy]:
    for kind, strategy in (*_MADE_FOR, ("quotes", "merging")):
        for way, advertising in _ways():
            name = f"tables-{kind}-{strategy}{way}"
            usual = SMALL if (kind, strategy) == ("quotes", "merging") else POINTS
            points = {"tables-quotes-simple": HEAVY, "tables-intervals-merging": UP_TO_A_HUNDRED}
            yield RoutingStudy(name, "tables", kind, strategy, advertising, points.get(name, usual))


def _changes() -> Iterator[RoutingStudy]:
    for kind, strategy in _MADE_FOR:
        for way, advertising in _ways():
            name = f"changes-{kind}-{strategy}{way}"
            points = {"changes-quotes-simple": COSTLY, "changes-intervals-merging": COARSE}.get(name, HALF)
            events = EVERY_STOCK if kind == "quotes" else ""
            yield RoutingStudy(
                name, "changes", kind, strategy, advertising, points, changes=True, events=events
            )


def _limits() -> Iterator[RoutingStudy]:
    for way, advertising in _ways():
        name = f"limit-identity{way}"
        yield RoutingStudy(name, "limits", "quotes", "identity", advertising, (1,), is_exhaustive=True)
    yield RoutingStudy("limit-far-source", "limits", "quotes", "simple", "simple", (2,), source=FAR)
    yield RoutingStudy(
        "limit-far-covering",
        "limits",
        "intervals",
        "covering",
        "simple",
        FAR_POINTS,
        source=FAR,
        events=EVERY_STOCK,
    )
    yield RoutingStudy("limit-flooding", "limits", "quotes", "flooding", "flooding", (2,), events=EVERY_STOCK)


def _localities() -> Iterator[RoutingStudy]:
    for way, advertising in _ways():
        yield RoutingStudy(
            f"locality-simple{way}",
            "locality",
            "quotes",
            "simple",
            advertising,
            (2,),
            changes=True,
            locality=1.0,
        )
    for locality in LOCALITIES:
        for way, advertising in _ways():
            shared = RoutingStudy("", "locality", "quotes", "identity", advertising, (1,), locality=locality)
            name = f"locality-{locality:.2f}{way}"
            yield evolve(shared, name=f"{name}-limit", group="locality-limit", is_exhaustive=True)
            yield evolve(shared, name=name, consumers=LOCAL, changes=True, events=EVERY_STOCK)


def _factors() -> Iterator[RoutingStudy]:
    for factor in FACTORS:
        strategy = "merging" if factor == "1" else f"merging:{factor}"
        shared = RoutingStudy("", "factors", "windows", strategy, "simple", FEW, factor=float(factor))
        yield evolve(shared, name=f"factor-{factor}", events=AT_RANDOM)
        yield evolve(shared, name=f"factor-{factor}-changes", group="factor-changes", changes=True)


STUDIES: Final = tuple(
    study for studies in (_tables(), _changes(), _localities(), _factors(), _limits()) for study in studies
)
"""In the order in which they are run: the longest first, so that the last ones share the processors."""


def quick(studies: Sequence[RoutingStudy]) -> list[RoutingStudy]:
    """Some studies with few consumers and few changes: mistakes show, and it takes a minute."""
    return [_shortened(study) for study in studies if not _is_left_out(study)]


def _is_left_out(study: RoutingStudy) -> bool:
    is_between = study.locality is not None and 1 / 3 < study.locality < 1
    is_costly = study.subscribing == "merging" and not study.has_advertisements
    return is_between or is_costly or (study.is_exhaustive and not study.has_advertisements)


def _shortened(study: RoutingStudy) -> RoutingStudy:
    is_curve = study.has_advertisements and study.group in {"tables", "changes"}
    points = study.consumers[: 3 if is_curve else 1]
    return evolve(study, consumers=tuple(points), rounds=QUICK_ROUNDS)
