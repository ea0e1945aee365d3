"""The claims of the thesis, and whether our points confirm them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.analysis.points import MeasuredPoint
from harness.evaluation.routing.expected import expected_messages
from harness.evaluation.routing.references import CURVES, Curve, at, of_study
from harness.tables import Table, deviation, number

CLOSE: Final = 0.05
"""What we aim at: within five percent of the reference."""

SLACK: Final = 0.02
"""Curves rise and fall up to sampling errors."""

Finding = tuple[bool | None, str]
"""Whether a claim holds, None if nothing was measured; and the figures."""


def claims(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    """A table of claims."""
    yield "### What the thesis claims\n"
    rows = []
    for claim, judge in _CLAIMS:
        holds, figures = judge(points)
        rows.append((claim, {True: "holds", False: "does not hold", None: "not measured"}[holds], figures))
    yield Table(("claim", "here", "figures"), rows).markdown()


def _clearly_better(points: Sequence[MeasuredPoint]) -> Finding:
    results = []
    for study, group in (("quotes-identity", "tables"), ("quotes-identity", "changes")):
        own, plain = _last_two(points, f"{group}-{study}", f"{group}-quotes-simple")
        if own is not None and plain is not None:
            results.append(
                (_cost(plain) / _cost(own), f"{group}: {number(_cost(plain))} to {number(_cost(own))}")
            )
    if not results:
        return None, ""
    return all(times > 1 / CLOSE for times, _ in results), "simple to identity, " + "; ".join(
        text for _, text in results
    )


def _last_two(
    points: Sequence[MeasuredPoint], study: str, plain: str
) -> tuple[MeasuredPoint | None, MeasuredPoint | None]:
    """The point of a study with most consumers, and simple routing there, or where it was measured last."""
    found = of_study(points, study)
    if not found:
        return None, None
    own = found[-1]
    measured = of_study(points, plain)
    return own, at(points, plain, own.consumers) or (measured[-1] if measured else None)


def _cost(point: MeasuredPoint) -> float:
    return point.messages if point.messages is not None else float(point.entries)


def _advertising(points: Sequence[MeasuredPoint]) -> Finding:
    plain, advertised = (
        of_study(points, "tables-quotes-simple"),
        of_study(points, "tables-quotes-simple-advertised"),
    )
    identity, other = (
        of_study(points, "tables-quotes-identity"),
        of_study(points, "tables-quotes-identity-advertised"),
    )
    if not (plain and advertised and identity and other):
        return None, ""
    simple = plain[0].entries / advertised[0].entries
    first, last = identity[0].entries / other[0].entries, identity[-1].entries / other[-1].entries
    text = f"simple {simple:.1f} times at all sizes; identity {first:.1f} times, falling to {last:.1f}"
    return simple > first > last > 1, text


def _merging_costs_more(points: Sequence[MeasuredPoint]) -> Finding:
    """Return whether merging of intervals sends more than covering; the page says why it does not here."""
    pairs = [
        (each.consumers, each.messages, other.messages)
        for each in of_study(points, "changes-intervals-merging")
        for other in of_study(points, "changes-intervals-covering")
        if each.consumers == other.consumers and each.messages is not None and other.messages is not None
    ]
    if not pairs:
        return None, ""
    text = "; ".join(
        f"{consumers} consumers: {number(merging)} to {number(covering)}"
        for consumers, merging, covering in pairs
    )
    return all(merging > covering for _, merging, covering in pairs), text


def _more_dynamics(points: Sequence[MeasuredPoint]) -> Finding:
    results = []
    for strategy, rises in (("simple", True), ("identity", False)):
        for way in ("", "-advertised"):
            study = f"changes-quotes-{strategy}{way}"
            ratios = [each.break_even for each in _ordered(points, study) if each.break_even]
            if len(ratios) > 1:
                steps = pairwise(ratios)
                good = all((after > before) == rises for before, after in steps)
                results.append(
                    (good, f"{strategy}{way.replace('-', ' ')}: {number(ratios[0])} to {number(ratios[-1])}")
                )
    return _all(results)


def _ordered(points: Iterable[MeasuredPoint], study: str) -> list[MeasuredPoint]:
    found = [each for each in points if each.study == study and each.locality is None]
    return sorted(found, key=lambda each: each.consumers)


def _all(results: Sequence[tuple[bool, str]]) -> Finding:
    return (
        (all(good for good, _ in results), "; ".join(text for _, text in results)) if results else (None, "")
    )


def _locality(points: Sequence[MeasuredPoint]) -> Finding:
    """Return whether everything costs less where interests are most local than where they are not at all."""
    results = []
    for title, value in _LOCAL.items():
        lines: dict[tuple[int, bool], list[tuple[float, float]]] = {}
        for each in points:
            up = value(each)
            if each.group == "locality" and each.strategy == "identity" and up is not None:
                line = lines.setdefault((each.consumers, each.has_advertisements), [])
                line.append((each.locality or 1.0, up))
        known = [sorted(line) for line in lines.values() if len(line) > 1]
        if known:
            good = sum(line[0][1] < line[-1][1] for line in known)
            steady = sum(_rises(line) for line in known)
            text = f"{title}: less in {good} of {len(known)} curves, and less with every step in {steady}"
            results.append((good == len(known), text))
    return _all(results)


def _rises(line: Sequence[tuple[float, float]]) -> bool:
    """Return whether a curve never falls, but for sampling errors."""
    return all(after > before * (1 - SLACK) for (_, before), (_, after) in pairwise(line))


_LOCAL: Final[Mapping[str, Callable[[MeasuredPoint], float | None]]] = {
    "entries": lambda each: float(each.entries),
    "messages": lambda each: each.messages,
    "break-even": lambda each: each.break_even,
}


def _shrinking(points: Sequence[MeasuredPoint]) -> Finding:
    lines: dict[int, list[tuple[float, int]]] = {}
    for each in points:
        if each.group == "factors":
            lines.setdefault(each.consumers, []).append((each.factor, each.entries))
    results = []
    for consumers, line in sorted(lines.items()):
        values = [entries for _, entries in sorted(line)]
        if len(values) > 1:
            text = f"{consumers} consumers: {number(values[0])} to {number(values[-1])} entries"
            results.append((values == sorted(values, reverse=True), text))
    return _all(results)


def _like_identity(points: Sequence[MeasuredPoint]) -> Finding:
    results = []
    for way in ("", "-advertised"):
        merged = of_study(points, f"tables-intervals-merging{way}")
        off = [
            deviation(each.entries, other.entries)
            for each in merged
            for other in of_study(points, f"tables-quotes-identity{way}")
            if other.consumers == each.consumers
        ]
        if off:
            worst = max(off, key=abs)
            results.append(
                (abs(worst) <= CLOSE, f"off by {worst * 100:+.2f} % at most{way.replace('-', ', ')}")
            )
    return _all(results)


def _same_with_many(points: Sequence[MeasuredPoint]) -> Finding:
    pairs = [
        (each.consumers, each.messages, other.messages)
        for each in of_study(points, "changes-quotes-identity")
        for other in of_study(points, "changes-quotes-identity-advertised")
        if each.consumers == other.consumers and each.messages is not None and other.messages
    ]
    if not pairs:
        return None, ""
    consumers, plain, advertised = pairs[-1]
    assert plain is not None
    assert advertised is not None
    text = f"{consumers} consumers: {number(plain)} without and {number(advertised)} with"
    return abs(deviation(plain, advertised)) <= 2 * CLOSE, text


def _near(points: Sequence[MeasuredPoint], measure: str) -> Finding:
    off = [each for curve in CURVES if curve.measure == measure for each in _deviations(points, curve)]
    if not off:
        return None, ""
    close = sum(abs(each) <= CLOSE for each in off)
    text = f"{close} of {len(off)} within 5 %, the farthest {max(off, key=abs) * 100:+.1f} %"
    return close == len(off), text


def _near_messages(points: Sequence[MeasuredPoint]) -> Finding:
    """References were simulated too; where identity's is not exact enough, the expectation counts."""
    holds, text = _near(points, "messages")
    if holds is not False:
        return holds, text
    off = list(_identity_deviations(points))
    others = [
        each
        for curve in CURVES
        if curve.measure == "messages" and not curve.study.startswith("changes-quotes-identity")
        for each in _deviations(points, curve)
    ]
    farthest = max(off, key=abs, default=0.0) * 100
    return (
        all(abs(each) <= CLOSE for each in (*off, *others)),
        f"{text}; identity is off its expectation by {farthest:+.1f} % at most",
    )


def _identity_deviations(points: Sequence[MeasuredPoint]) -> Iterator[float]:
    for way in ("", "-advertised"):
        for each in of_study(points, f"changes-quotes-identity{way}"):
            if each.messages is not None:
                yield deviation(each.messages, expected_messages(each.consumers, is_advertised=bool(way)))


def _deviations(points: Sequence[MeasuredPoint], curve: Curve) -> Iterator[float]:
    for consumers, reference in curve.values.items():
        found = at(points, curve.study, consumers)
        value = None if found is None else found.messages if curve.measure == "messages" else found.entries
        if value is not None:
            yield deviation(value, reference)


_CLAIMS: Final[Sequence[tuple[str, Callable[[Sequence[MeasuredPoint]], Finding]]]] = (
    ("tables are as large as expected", lambda points: _near(points, "entries")),
    ("changes cost as much as expected", _near_messages),
    ("advanced strategies clearly beat simple routing, in tables and in messages", _clearly_better),
    (
        "advertisements save a factor, the same for simple routing at all sizes, falling for identity",
        _advertising,
    ),
    ("merging of intervals makes tables as small as identity of quotes", _like_identity),
    ("with many subscriptions a change costs identity the same without advertisements", _same_with_many),
    ("merging costs more messages for a change than covering, without advertisements", _merging_costs_more),
    ("with more subscriptions identity bears more change, and simple routing less", _more_dynamics),
    ("locality helps everything", _locality),
    ("imperfect merging shrinks tables further", _shrinking),
)
