"""The measured part of the page about routing: references beside ours, from points alone."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from harness.analysis.points import MeasuredPoint
from harness.evaluation.routing.claims import claims
from harness.evaluation.routing.expected import expected_entries, expected_messages
from harness.evaluation.routing.references import CURVES, FACTORS, Curve, at, limit, mean_way, of_study
from harness.evaluation.routing.relations import relations
from harness.tables import NONE, Table, beside, exactly, number, percent

BEGIN: Final = "<!-- measured by make evaluation-routing: begin -->"
END: Final = "<!-- measured by make evaluation-routing: end -->"

_OPENING: Final = """\
The experiments of chapter 6 of Gero Mühl's thesis (*Large-Scale Content-Based Publish/Subscribe Systems*,
2002) with the product's own cores, joined in one process by queues that keep their order: 107 brokers, 40
of them routers in levels of 1, 3, 9 and 27, and 67 local brokers with the clients; 1,000 stocks; up to 200
consumers at each local broker with 10 subscriptions each, so up to 134,000. The one source, at the root,
advertises everything. Quote subscriptions want a stock, interval subscriptions a stock within prices around
50, windows a stock within 20 of its price. *Entries* are those that came over links, of all brokers
together. *Messages* are those between brokers for each subscription that comes or goes, while about half of
the consumers are active; acknowledgements, which the thesis does not have, are counted apart. Made with
Python {python} on {cores} cores by

    make evaluation-routing

which goes on where it was interrupted and leaves a report with figures in `runs/evaluation-routing/report`.
"""


class EvaluationPageError(ValueError):
    """The page has no marks for the measured part."""


def in_place(page: str, measured: str) -> str:
    """Put the measured part between the marks of a page.

    Raises:
        PageError: the marks are not there.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise EvaluationPageError(
            f"the page has no lines {BEGIN} and {END}: add them where the measured part belongs"
        )
    return f"{before}{BEGIN}\n\n{measured.strip()}\n\n{END}{after}"


def document(points: Sequence[MeasuredPoint]) -> str:
    """Return the measured part; missing measurements are left out or shown as a dash."""
    opening = _OPENING.format(python=platform.python_version(), cores=os.cpu_count())
    sections = (_checked, claims, _exact, _curves, _changes, relations, _localities, _break_even, _factors)
    return "\n".join([opening, *(part for section in sections for part in section(points))])


def _checked(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    checked = [each for each in points if each.differing is not None]
    published = [each for each in points if each.wrong is not None]
    tables = sum(each.brokers for each in checked)
    yield (
        f"Tables were also worked out from scratch, from who wants what, at {len(checked)} points: "
        f"{sum(each.differing or 0 for each in checked)} of {tables:,} tables differ. Of "
        f"{sum(each.quotes or 0 for each in published):,} quotes "
        f"{sum(each.wrong or 0 for each in published)} deliveries were missing or not wanted.\n"
    )


def _exact(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    yield "### Results that are exact\n"
    rows = [*_exact_simple(points), *_exact_limits(points), *_exact_localities(points)]
    yield Table(("what", "by analysis", "here", ""), rows).markdown()


def _exact_simple(points: Sequence[MeasuredPoint]) -> Iterator[Sequence[str]]:
    plain, advertised = (of_study(points, f"tables-quotes-simple{way}") for way in ("", "-advertised"))
    yield exactly("simple: entries for each subscription", 106, _each(plain))
    yield exactly("simple + adv.: the same", mean_way(), _each(advertised))
    both = [(p, a) for p in plain for a in advertised if p.consumers == a.consumers]
    factors = [p.entries / p.subscriptions / (a.entries / a.subscriptions) for p, a in both]
    yield exactly("what advertisements save simple routing, times", 106 / mean_way(), factors, digits=1)
    for level, share in enumerate((1.0, 22 / 67, 7 / 67, 2 / 67)):
        found = [each.level_entries[level] / each.subscriptions for each in advertised]
        yield exactly(
            f"simple + adv.: entries at a router of level {level + 1}, for each subscription", share, found
        )
    far = of_study(points, "limit-far-source")
    yield exactly("simple + adv., source at the farthest local broker", 454 / 67, _each(far))
    for way, reference, title in (("", 106.0, "simple"), ("-advertised", mean_way(), "simple + adv.")):
        found = [each.messages for each in of_study(points, f"changes-quotes-simple{way}") if each.messages]
        yield exactly(f"{title}: messages for a change", reference, found)
    flooding = of_study(points, "limit-flooding")
    yield exactly("flooding: entries", 0, [float(each.entries) for each in flooding], digits=0)
    sent = [each.publications for each in flooding if each.publications is not None]
    yield exactly("flooding: publications over links for each event", 106, sent, digits=0)


def _exact_limits(points: Sequence[MeasuredPoint]) -> Iterator[Sequence[str]]:
    for study, reference, title in (
        ("limit-identity", 212_000, "identity, every stock wanted everywhere: entries"),
        ("limit-identity-advertised", 106_000, "identity + adv., the same"),
        ("tables-quotes-merging", 212, "merging, quotes: entries"),
        ("tables-quotes-merging-advertised", 106, "merging + adv., the same"),
    ):
        yield exactly(title, reference, [float(each.entries) for each in of_study(points, study)], digits=0)


def _exact_localities(points: Sequence[MeasuredPoint]) -> Iterator[Sequence[str]]:
    for each in sorted(
        (p for p in points if p.group == "locality-limit" and p.has_advertisements),
        key=lambda p: p.locality or 1,
    ):
        locality = each.locality or 1.0
        title = f"identity + adv., locality {locality:.2f}, every stock of the subtree wanted everywhere"
        # A third of a thousand stocks is 333 of them in the thesis' own ranges.
        reference = int(locality * 1_000 + 1e-9) * 105
        yield exactly(title, reference, [float(each.entries)], digits=0)


def _each(points: Sequence[MeasuredPoint]) -> list[float]:
    return [each.entries / each.subscriptions for each in points if not each.is_continued]


def _curves(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    yield "### Table sizes\n"
    yield "Remote entries of all brokers: here, and the reference with the deviation.\n"
    yield _beside(points, "entries", _entries)
    continued = [each for each in points if each.study == "tables-quotes-simple" and each.is_continued]
    if continued:
        first = min(each.subscriptions for each in continued)
        yield (
            f"Simple routing without advertisements was simulated below {first:,} subscriptions, and goes "
            f"on in a "
            "straight line from there, as it must.\n"
        )


def _changes(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    yield "### Messages for a change\n"
    yield (
        "Here with the standard error, and the reference with the deviation; consumers are those there "
        "are, of "
        "which half are active.\n"
    )
    yield _beside(points, "messages", lambda each: each.messages)
    yield (
        "References of messages were simulated as well. For identity they can be worked out: here, and what "
        "is to be expected.\n"
    )
    yield _identity_messages(points)
    rows = [
        (
            f"`{each.study.removeprefix('changes-')}`",
            str(each.consumers),
            f"{each.changes or 0:,}",
            number(each.messages),
            number(each.messages_error),
            number(each.acknowledgements),
        )
        for each in points
        if each.group == "changes" and each.changes
    ]
    yield "Each with its error, and what acknowledging costs beside it:\n"
    head = ("study", "consumers", "changes", "messages", "error", "acknowledgements")
    yield Table(head, rows).markdown()


def _identity_messages(points: Sequence[MeasuredPoint]) -> str:
    columns = [
        {each.consumers: each.messages for each in of_study(points, f"changes-quotes-identity{way}")}
        for way in ("", "-advertised")
    ]
    rows = [
        (
            str(many),
            *(
                beside(column.get(many), expected_messages(many, is_advertised=is_advertised))
                for column, is_advertised in zip(columns, (False, True), strict=True)
            ),
        )
        for many in sorted({*columns[0], *columns[1]})
    ]
    return Table(("consumers", "identity, quotes", "identity + adv., quotes"), rows).markdown()


def _entries(point: MeasuredPoint) -> float | None:
    return float(point.entries)


def _beside(
    points: Sequence[MeasuredPoint], measure: str, value: Callable[[MeasuredPoint], float | None]
) -> str:
    curves = [curve for curve in CURVES if curve.measure == measure]
    consumers = sorted({each for curve in curves for each in curve.values})
    group = "tables" if measure == "entries" else "changes"
    plain = [_plain_column(points, way, group, consumers, value) for way in ("", "-advertised")]
    columns = [*plain, *(_column(points, curve, consumers, value) for curve in curves)]
    head = ("consumers", "subscriptions", "simple", "simple + adv.", *(curve.title for curve in curves))
    rows = [
        (str(many), f"{many * 670:,}", *(column[index] for column in columns))
        for index, many in enumerate(consumers)
    ]
    return Table(head, rows).markdown()


def _plain_column(
    points: Sequence[MeasuredPoint],
    way: str,
    group: str,
    consumers: Sequence[int],
    value: Callable[[MeasuredPoint], float | None],
) -> list[str]:
    found = (at(points, f"{group}-quotes-simple{way}", many) for many in consumers)
    return [
        NONE if each is None else number(value(each)) + (" (continued)" if each.is_continued else "")
        for each in found
    ]


def _column(
    points: Sequence[MeasuredPoint],
    curve: Curve,
    consumers: Sequence[int],
    value: Callable[[MeasuredPoint], float | None],
) -> list[str]:
    found = (at(points, curve.study, many) for many in consumers)
    return [
        beside(value(each) if each is not None else None, curve.values[many])
        for each, many in zip(found, consumers, strict=True)
    ]


def _localities(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    some = [each for each in points if each.group == "locality" and each.strategy == "identity"]
    if not some:
        return
    yield "### Locality\n"
    yield (
        "Identity; each of the root's three subtrees draws its stocks from so large a part of all, and "
        "the root's own "
        "local broker has no consumers. *Limit* is with every stock of the range wanted at every local "
        "broker: with "
        "advertisements `d m (|V|-2)` exactly; without them the thesis prints `2 (2+d)/3 m (|V|-2)`, "
        "which is a loose "
        "bound. Beside entries stands what is to be expected. With few consumers and no advertisements that "
        "does not fall with every step: ranges that overlap share stocks.\n"
    )
    widest = max(each.consumers for each in some)
    head = ("d", "limit + adv.", "limit", "printed bound", f"entries + adv., {widest} consumers", "entries")
    rows = []
    for locality in sorted({each.locality or 1.0 for each in some}):
        bound = 2 * (2 + locality) / 3 * 1_000 * 105
        limits = [limit(points, locality, is_advertised=way) for way in (True, False)]
        values = [_local(some, locality, widest, is_advertised=way) for way in (True, False)]
        cells = [number(float(each.entries)) if each is not None else NONE for each in limits]
        cells += [
            beside(float(each.entries), expected_entries(locality, widest, is_advertised=way))
            if each is not None
            else NONE
            for each, way in zip(values, (True, False), strict=True)
        ]
        saved = [percent(each.saved) if each is not None else NONE for each in values[:1]]
        costs = [number(each.messages) if each is not None else NONE for each in values]
        rows.append((f"{locality:.2f}", cells[0], cells[1], f"{bound:,.0f}", *cells[2:], *costs, *saved))
    yield Table((*head, "messages + adv.", "messages", "publications saved"), rows).markdown()


def _local(
    points: Sequence[MeasuredPoint], locality: float, consumers: int, *, is_advertised: bool
) -> MeasuredPoint | None:
    return next(
        (
            each
            for each in points
            if each.locality == locality
            and each.consumers == consumers
            and each.has_advertisements == is_advertised
        ),
        None,
    )


def _break_even(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    found = [each for each in points if each.break_even is not None]
    if not found:
        return
    yield "### Break-even dynamics\n"
    yield (
        "Events for each change of subscriptions at which what filtering saves, compared with flooding, "
        "equals what "
        "changes cost: `messages / (part saved * 106)`. With fewer events flooding is cheaper.\n"
    )
    lines: dict[tuple[str, str], dict[int, float]] = {}
    for each in found:
        name = each.strategy + (" + adv." if each.has_advertisements else "")
        where = "" if each.locality is None else f"{each.locality:.2f}"
        lines.setdefault((name, where), {})[each.consumers] = each.break_even or 0.0
    consumers = sorted({many for line in lines.values() for many in line})
    rows = [
        (name, where or "none", *(number(line.get(many)) for many in consumers))
        for (name, where), line in sorted(lines.items())
    ]
    yield Table(("strategy", "locality", *(f"{many} consumers" for many in consumers)), rows).markdown()


def _factors(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    tables = [each for each in points if each.group == "factors"]
    if not tables:
        return
    yield "### Imperfect merging\n"
    yield (
        "Windows with advertisements; two of one stock merge if their union is at most so many times as "
        "long as both "
        "together. Below each number of entries stands the reference with the deviation. *Extra* are "
        "publications over "
        "links that nobody behind the link wants, in percent of those that somebody does; the thesis does "
        "not measure "
        "them. Clients get exactly what they want.\n"
    )
    consumers = sorted({each.consumers for each in tables})
    rows = []
    for factor in sorted({each.factor for each in tables}):
        cells = [f"{factor:g}"]
        for many in consumers:
            own = _factor(points, "factors", factor, many)
            costs = _factor(points, "factor-changes", factor, many)
            reference = FACTORS.get(factor, {}).get(many)
            cells += [
                beside(float(own.entries) if own is not None else None, reference),
                percent(own.extra, digits=1) if own is not None else NONE,
                number(costs.messages) if costs is not None else NONE,
            ]
        rows.append(cells)
    head = [f"{name}, {many}" for many in consumers for name in ("entries", "extra", "messages")]
    yield Table(("factor", *head), rows).markdown()


def _factor(
    points: Sequence[MeasuredPoint], group: str, factor: float, consumers: int
) -> MeasuredPoint | None:
    found: Mapping[tuple[str, float, int], MeasuredPoint] = {
        (each.group, each.factor, each.consumers): each for each in points
    }
    return found.get((group, factor, consumers))
