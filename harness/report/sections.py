"""What every report's page has: its opening, and its figures with their data beside the page."""

import csv
import io
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from harness.report.figures.figure import Figure

__all__ = ["Drawn", "figures", "keep", "opening"]

Drawn = Sequence[tuple[str, Figure | None]]
"""Figures with their names; None for those that there is nothing to show in."""


def opening(title: str, over: str) -> str:
    """Everything up to the first sentence; the header is left open."""
    style = files("harness.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>Concord: {escape(title)}</title><style>{style}</style></head><body><main>"
        f'<header><p class="over">{escape(over)}</p><h1>{escape(title)}</h1>'
    )


def figures(drawn: Drawn, source: str) -> Iterator[str]:
    """The section of figures; `source` is whose words a figure repeats below its own."""
    yield '<section id="figures"><h2>Figures</h2><div class="figures">'
    number = 0
    for _, figure in drawn:
        if figure is not None:
            number += 1
            said = f'<p class="paper"><b>{source}:</b> {escape(figure.paper)}</p>' if figure.paper else ""
            yield (
                f'<figure id="{figure.name}"><h3><span>{number}</span> '
                f"{escape(figure.title)}</h3>{figure.svg}"
                f"<figcaption><p>{escape(figure.text)}</p>{said}"
                f'<a href="{figure.name}.csv" download>data</a></figcaption></figure>'
            )
    absent = [name for name, figure in drawn if figure is None]
    yield "</div>"
    if absent:
        names = escape(", ".join(absent).lower())
        yield f'<p class="absent">Without data in these runs, and left out: {names}.</p>'
    yield "</section>"


def keep(folder: Path, drawn: Drawn) -> None:
    """Write the data of every figure beside the page."""
    for _, figure in drawn:
        if figure is not None:
            (folder / f"{figure.name}.csv").write_text(_csv(figure), encoding="utf-8")


def _csv(figure: Figure) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(figure.head)
    writer.writerows(figure.rows)
    return text.getvalue()
