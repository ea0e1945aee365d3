"""What the thesis says, and what follows from it: figures that ours stand beside, and finding ours.

The thesis is Gero Muehl, *Large-Scale Content-Based Publish/Subscribe Systems*, 2002, chapter 6. It gives
some results as formulas; of its curves there are only figures. The values of curves here were worked out
from the description of its experiments: tables by expectation, messages by a simulation of its algorithms,
with two to five percent of sampling error.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from harness.analysis.points import MeasuredPoint

Values = Mapping[int, float]
"""By the number of consumers at each broker."""


@frozen
class Curve:
    """A study's reference values: of `entries` or `messages`."""

    study: str
    title: str
    measure: str
    values: Values


_CONSUMERS: Final = (2, 10, 20, 50, 100, 200)


def _at(*values: float) -> Values:
    return dict(zip(_CONSUMERS, values, strict=True))


_IDENTITY = _at(81_652, 124_359, 136_898, 161_315, 183_850, 202_539)
_IDENTITY_ADVERTISED = _at(4_651, 18_541, 30_898, 55_315, 77_850, 96_539)

CURVES: Final = (
    Curve("tables-quotes-identity", "identity, quotes", "entries", _IDENTITY),
    Curve("tables-quotes-identity-advertised", "identity + adv., quotes", "entries", _IDENTITY_ADVERTISED),
    Curve(
        "tables-intervals-covering",
        "covering, intervals",
        "entries",
        _at(107_829, 280_181, 370_397, 506_225, 625_720, 760_019),
    ),
    Curve(
        "tables-intervals-covering-advertised",
        "covering + adv., intervals",
        "entries",
        _at(4_819, 21_277, 38_087, 76_812, 122_842, 183_672),
    ),
    Curve("tables-intervals-merging", "merging, intervals", "entries", _IDENTITY),
    Curve(
        "tables-intervals-merging-advertised", "merging + adv., intervals", "entries", _IDENTITY_ADVERTISED
    ),
    Curve("changes-quotes-identity", "identity, quotes", "messages", _at(59, 6.4, 2.4, 1.4, 0.93, 0.48)),
    Curve(
        "changes-quotes-identity-advertised",
        "identity + adv., quotes",
        "messages",
        _at(3.5, 2.7, 2.2, 1.4, 0.93, 0.48),
    ),
    Curve("changes-intervals-covering", "covering, intervals", "messages", _at(92, 60, 42, 24, 15, 9.6)),
    Curve(
        "changes-intervals-covering-advertised",
        "covering + adv., intervals",
        "messages",
        _at(3.7, 3.4, 3.2, 2.7, 2.3, 1.8),
    ),
)

FACTORS: Final[Mapping[float, Values]] = {
    1.0: {20: 37_900, 100: 109_000, 200: 148_000},
    1.25: {20: 34_300, 100: 92_000, 200: 117_000},
    1.5: {20: 33_100, 100: 85_000, 200: 106_000},
    2.0: {20: 31_600, 100: 79_000, 200: 98_000},
    2.5: {20: 31_200, 100: 78_000, 200: 96_000},
}
"""Remote entries with advertisements, by the factor of imperfect merging."""


def mean_way() -> float:
    """Links between the root and a local broker on average: 3.73."""
    return (54 * 4 + 9 * 3 + 3 * 2 + 1) / 67


def of_study(points: Sequence[MeasuredPoint], study: str) -> list[MeasuredPoint]:
    """The measured points of a study, by the number of consumers."""
    found = [each for each in points if each.study == study and not each.is_continued]
    return sorted(found, key=lambda each: each.consumers)


def at(points: Sequence[MeasuredPoint], study: str, consumers: int) -> MeasuredPoint | None:
    """A point of a study, measured if it was, else continued."""
    found = [each for each in points if each.study == study and each.consumers == consumers]
    return min(found, key=lambda each: each.is_continued, default=None)


def limit(points: Sequence[MeasuredPoint], locality: float, *, is_advertised: bool) -> MeasuredPoint | None:
    """The point at which every stock of a subtree is wanted everywhere in it."""
    return next(
        (
            each
            for each in points
            if each.group == "locality-limit"
            and each.locality == locality
            and each.has_advertisements == is_advertised
        ),
        None,
    )
