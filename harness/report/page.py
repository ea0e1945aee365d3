"""The pages: each one file of HTML with its style and drawings inside, the data of its figures beside it.

`write` makes the one about runs, `write_routing` the one about routing strategies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

from harness.analysis.points import MeasuredPoint
from harness.report import tables, witness
from harness.report.figures import Drawn, keep, of_ordering, section
from harness.report.results import Result, find
from harness.report.routing_figures import ROUTING_FIGURES
from harness.report.run_figures import FIGURES

WITNESSES_MAX: Final = 2
"""One diagram shows what went wrong; a second that it was not the only case."""

UNFOLDED_MAX: Final = 8
"""Two runs of each ordering; what has more is a sweep, and the figures show it."""


def write(directory: Path) -> Path:
    """Write the report of all analysed runs in a directory; return the page's path.

    Raises:
        ReportError: there is no analysed run.
    """
    results = find(directory)
    drawn = [(name, make([each for each in results if each.is_known])) for name, make in FIGURES]
    return _written(directory, drawn, _page(results, drawn))


def write_routing(directory: Path, points: Sequence[MeasuredPoint]) -> Path:
    """Write the report about routing strategies into a directory; return the page's path."""
    drawn = [(name, make(points)) for name, make in ROUTING_FIGURES]
    return _written(directory, drawn, _routing_page(points, drawn))


def _written(directory: Path, drawn: Drawn, page: Iterable[str]) -> Path:
    folder = directory / "report"
    folder.mkdir(parents=True, exist_ok=True)
    keep(folder, drawn)
    path = folder / "index.html"
    path.write_text("".join(page), encoding="utf-8")
    return path


def _opening(title: str, over: str) -> str:
    """Return everything up to the first sentence; the header is left open."""
    style = files("harness.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>Concord: {escape(title)}</title><style>{style}</style></head><body><main>"
        f'<header><p class="over">{escape(over)}</p><h1>{escape(title)}</h1>'
    )


def _routing_page(points: Sequence[MeasuredPoint], drawn: Drawn) -> Iterator[str]:
    checked = [each for each in points if each.differing is not None]
    wrong = sum(each.differing or 0 for each in checked)
    yield _opening("Routing strategies", "Concord, what tables and changes cost")
    yield (
        f'<p class="abstract">{len(points)} points on a tree of 107 brokers. Tables were worked out from '
        f"scratch at {len(checked)} of them: {wrong} tables differ.</p></header>"
    )
    yield from section(drawn, "The thesis")
    yield "</main></body></html>\n"


def _page(results: Sequence[Result], drawn: Drawn) -> Iterator[str]:
    scenarios = " and ".join(dict.fromkeys(each.scenario for each in results))
    yield _opening(scenarios, "Concord, what order came to")
    yield f"{_abstract(results)}</header>"
    yield f'<section id="verdicts"><h2>Verdicts</h2>{tables.verdicts(results)}{_reasons(results)}'
    yield f"{_numbers(results)}</section>"
    yield from section(drawn, "The paper")
    yield from _faults(results)
    yield from _witnesses(results)
    yield from _making(results)
    yield "</main></body></html>\n"


def _abstract(results: Sequence[Result]) -> str:
    """The whole report in a few sentences."""
    sentences = []
    for ordering, runs in of_ordering(results).items():
        known = [each for each in runs if each.is_known]
        if len(known) < len(runs):
            sentences.append(f"<b>{escape(ordering)}</b>: {len(runs) - len(known)} without a verdict.")
        if known:
            wrong = sum(each.number("pairs_out_of_order") or 0 for each in known)
            pairs = sum(each.number("pairs") or 0 for each in known)
            state = f"{wrong:,.0f}" if wrong else "none"
            sentences.append(
                f"<b>{escape(ordering)}</b>: {state} of {pairs:,.0f} pairs of subscribers out of order."
            )
    deliveries = sum(each.number("deliveries") or 0 for each in results)
    count = "One run" if len(results) == 1 else f"{len(results)} runs"
    return f'<p class="abstract">{count}, {deliveries:,.0f} deliveries. {" ".join(sentences)}</p>'


def _numbers(results: Sequence[Result]) -> str:
    """The table of numbers; that of a long sweep is folded away."""
    table = tables.figures_of(results)
    if len(results) <= UNFOLDED_MAX:
        return table
    return f"<details><summary>Numbers of all {len(results)} runs</summary>{table}</details>"


def _reasons(results: Sequence[Result]) -> str:
    """Return the reasons why verdicts are unknown, each once."""
    reasons: dict[str, list[str]] = {}
    for each in results:
        for promise, title in tables.PROMISES:
            reason = str(each.part("verdicts", promise, "reason") or "")
            if reason and title not in reasons.setdefault(reason, []):
                reasons[reason].append(title)
    notes = (
        f"<li>{escape(', '.join(titles))}: unknown, {escape(reason)}.</li>"
        for reason, titles in reasons.items()
    )
    return f'<ul class="notes">{"".join(notes)}</ul>' if reasons else ""


def _faults(results: Sequence[Result]) -> Iterator[str]:
    runs = [each for each in results if each.rows("faults")]
    if runs:
        yield '<section id="faults"><h2>Faults</h2>'
        for each in runs:
            yield f"<h3>{escape(each.name)}</h3>{tables.faults(each)}"
        yield "</section>"


def _witnesses(results: Sequence[Result]) -> Iterator[str]:
    witnesses = [(each, found) for each in results for found in each.objects("witnesses")[:1]][:WITNESSES_MAX]
    if not witnesses:
        return
    yield '<section id="witnesses"><h2>Who saw what</h2><div class="figures">'
    for result, found in witnesses:
        drawing = witness.diagram(found)
        kind = "Pairwise order" if found.get("kind") == "pairwise" else "Publisher order"
        yield (
            f"<figure><h3>{kind} broken under {escape(result.ordering)}</h3>{drawing}"
            f"<figcaption><p>{escape(str(found.get('text', '')))}. Time runs "
            f"downwards.</p></figcaption></figure>"
        )
    yield "</div></section>"


def _making(results: Sequence[Result]) -> Iterator[str]:
    yield '<section id="making"><h2>How this was made</h2><dl>'
    for name, key in (("command", "command"), ("seed", "seed"), ("started", "started")):
        values = dict.fromkeys(str(each.about[key]) for each in results if each.about.get(key) is not None)
        if values:
            # Commands are to be repeated, each of them; of times the first and the last are enough.
            values_shown = sorted({min(values), max(values)}) if name == "started" else list(values)
            shown = "<br>".join(f"<code>{escape(value)}</code>" for value in values_shown)
            yield f"<dt>{name}</dt><dd>{shown}</dd>"
    versions = next(
        (each.about["versions"] for each in results if isinstance(each.about.get("versions"), Mapping)), {}
    )
    if isinstance(versions, Mapping) and versions:
        listed = ", ".join(f"{escape(str(name))} {escape(str(value))}" for name, value in versions.items())
        yield f"<dt>versions</dt><dd>{listed}</dd>"
    yield "</dl><p>Latencies are right to 0.1 %, the longest exactly. "
    yield "All pairs of subscribers are compared.</p>"
    yield "</section>"
