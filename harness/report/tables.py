"""The tables of a report: verdicts, latencies and ratios, faults."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from harness.report.figures import of_ordering
from harness.report.results import Result

_NONE: Final = "\u2013"
_LONG_MS: Final = 100
"""From here on hundredths are left out."""

_MARKS: Final = {"true": "✓", "false": "✗", "unknown": "?"}
_WORDS: Final = {"false": "broken", "unknown": "unknown", "true": "kept"}
"""The worst first: several runs are as good as their worst."""

PROMISES: Final = (
    ("pairwise", "pairwise order"),
    ("publisher", "publisher order"),
    ("causal", "causal order"),
    ("integrity", "integrity"),
    ("completeness", "completeness"),
)

Cell = tuple[str, str]
"""A cell's words, as HTML, and its class."""


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table whose rows become cards on a narrow page, each cell with its head beside it."""
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{style}" data-head="{escape(title)}">{words}</td>'
            for title, (words, style) in zip(head, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def verdicts(results: Sequence[Result]) -> str:
    """A row per ordering, a column per promise: what one run broke is broken."""
    head = ("ordering", *(title for _, title in PROMISES), "pairs out of order")
    rows = [
        [_ordering(name, runs), *(_verdict(runs, promise) for promise, _ in PROMISES), _out_of_order(runs)]
        for name, runs in of_ordering(results).items()
    ]
    return table(head, rows)


def figures_of(results: Sequence[Result]) -> str:
    """A row per run with what was counted, and ratios to `fifo` where there is one like it."""
    head = (
        "run",
        "pairs out of order",
        "ordering degree",
        "publications per conflict",
        "missing",
        "p50",
        "p99",
        "longest",
        "p50 to fifo",
        "longest to fifo",
    )
    return table(head, [_figures(each, results) for each in results if each.is_known])


def _figures(result: Result, results: Sequence[Result]) -> list[Cell]:
    plain = _like(result, results)
    return [
        _run(result, results),
        (f"{_whole(result.number('pairs_out_of_order'))} of {_whole(result.number('pairs'))}", "number"),
        (_short(result.number("ordering_degree"), 6), "number"),
        (_short(result.number("publications_per_conflict"), 4), "number"),
        (_whole(result.number("missing")), "number"),
        *((_ms(result.number("latency_ms", name)), "number") for name in ("p50", "p99", "max")),
        *((_ratio(result, plain, name), "number") for name in ("p50", "max")),
    ]


def _like(result: Result, results: Sequence[Result]) -> Result | None:
    """The run of `fifo` with the same sizes."""
    return next((each for each in results if each.ordering == "fifo" and each.point == result.point), None)


def _ratio(result: Result, plain: Result | None, name: str) -> str:
    own = result.number("latency_ms", name)
    other = plain.number("latency_ms", name) if plain else None
    return f"{own / other:.2f} \u00d7" if own is not None and other else _NONE


def faults(result: Result) -> str:
    """Show the injected faults, and the longest pause that subscribers noticed."""
    rows: list[list[Cell]] = []
    for each in result.objects("faults"):
        pause = each.get("pause_ms")
        pause = pause if isinstance(pause, Mapping) else {}
        rows.append(
            [
                (f"{float(str(each['at_s'])):.2f} s", "number"),
                (escape(f"{each['kind']} {each['target']} {each['detail']}".strip()), ""),
                (_ms(_float(pause.get("p50"))), "number"),
                (_ms(_float(pause.get("max"))), "number"),
            ]
        )
    return table(("at", "fault", "longest pause, median subscriber", "longest pause"), rows) if rows else ""


def _run(result: Result, results: Sequence[Result]) -> Cell:
    """The ordering, and where that is not enough the parameters that distinguish the run."""
    alike = [each for each in results if each.line == result.line]
    more = f' <span class="aside">{escape(result.name)}</span>' if len(alike) > 1 else ""
    return f"<b>{escape(result.line)}</b>{more}", "run"


def _ordering(name: str, runs: Sequence[Result]) -> Cell:
    more = f' <span class="aside">{len(runs)} runs</span>' if len(runs) > 1 else ""
    return f"<b>{escape(name)}</b>{more}", "run"


def _verdict(runs: Sequence[Result], promise: str) -> Cell:
    words = [str(each.part("verdicts", promise, "word") or "unknown") for each in runs]
    word = next(each for each in _WORDS if each in words)
    return f"<span><i>{_MARKS[word]}</i> {_WORDS[word]}</span>", f"verdict {word}"


def _out_of_order(runs: Sequence[Result]) -> Cell:
    wrong, pairs = (sum(each.number(name) or 0 for each in runs) for name in ("pairs_out_of_order", "pairs"))
    return f"{_whole(wrong)} of {_whole(pairs)}", "number"


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}"


def _short(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:.{digits}g}"


def _ms(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.2f} ms" if value < _LONG_MS else f"{value:,.0f} ms"
