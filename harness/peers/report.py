"""What a comparison leaves for people: a table, a page with a figure, and the page among the documents."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

import attrs
import click

from broker.commands.lines import to_json
from harness.peers.adapter import Adapter
from harness.peers.results import COLUMNS, PeerResult
from harness.peers.workload import WorkloadTiming
from harness.report.charts import Bars, drawn_bars
from harness.report.figures import Drawn, Figure, keep, section
from harness.tables import Table, table

BEGIN: Final = "<!-- results -->"
END: Final = "<!-- end of results -->"
"""Between these two lines stands what was measured."""

_WORDS: Final = 2
"""Columns of words."""

_COLOURS: Final[Mapping[str, str]] = {"concord": "c0", "relay": "c4"}
_OTHER_COLOUR: Final = "c1"


@attrs.frozen
class About:
    """Where the figures come from."""

    command: str
    commit: str
    date: str
    machine: str
    timing: WorkloadTiming
    versions: Mapping[str, str]
    absent: Mapping[str, str]
    """Who was left out, and what to install."""
    loads: Sequence[float] = ()
    """Of the machine before each run, averaged over a minute."""
    failed: Sequence[str] = ()
    """Which runs failed, and why."""


def about(adapters: Sequence[Adapter], absent: Mapping[str, str], timing: WorkloadTiming) -> About:
    """Return what is known before anything is measured."""
    return About(
        command=" ".join(["concord", *sys.argv[1:]]),
        commit=_commit(),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=(
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
            f"Python {platform.python_version()}"
        ),
        timing=timing,
        versions={each.name: each.version() for each in adapters},
        absent=absent,
    )


def _commit() -> str:
    """Return the commit of the sources, with a word if they were changed since."""
    here = Path(__file__).parent
    describe = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(describe, capture_output=True, text=True, check=True)  # noqa: S603 - our own words
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def shown(results: Sequence[PeerResult]) -> Table:
    """Return the one table."""
    return table(COLUMNS, results, _WORDS)


def content(found: About, results: Sequence[PeerResult]) -> Mapping[str, object]:
    """Return everything as JSON has it."""
    return {"about": attrs.asdict(found), "results": [attrs.asdict(each) for each in results]}


def write(out: Path, found: About, results: Sequence[PeerResult]) -> Path:
    """Write `peers.json` and the page; return where that is."""
    (out / "peers.json").write_text(to_json(content(found, results)) + "\n", encoding="utf-8")
    folder = out / "report"
    folder.mkdir(exist_ok=True)
    drawn = [("deliveries", _figure(results))]
    keep(folder, drawn)
    path = folder / "index.html"
    path.write_text("".join(_page(found, results, drawn)), encoding="utf-8")
    return path


def _figure(results: Sequence[PeerResult]) -> Figure:
    """Draw what everybody delivers, shape by shape."""
    shapes = dict.fromkeys(each.shape for each in results)
    rows = [(each.shape, each.peer, round(each.deliveries_per_s)) for each in results]
    return Figure(
        "deliveries",
        "Deliveries",
        "Events a second times subscribers, medians, in thousands.",
        "".join(_bars(shape, [each for each in results if each.shape == shape]) for shape in shapes),
        ("shape", "system", "deliveries_s"),
        rows,
    )


def _bars(shape: str, results: Sequence[PeerResult]) -> str:
    rows = [
        (each.peer, [("deliveries", each.deliveries_per_s / 1e3, _COLOURS.get(each.peer, _OTHER_COLOUR))])
        for each in results
    ]
    return drawn_bars(Bars(rows, f"{shape}: thousand deliveries/s", shape))


def _page(found: About, results: Sequence[PeerResult], drawn: Drawn) -> Iterator[str]:
    style = files("harness.report").joinpath("style.css").read_text(encoding="utf-8")
    cells = shown(results)
    head = "".join(f"<th>{escape(name)}</th>" for name in cells.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells.rows
    )
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>Concord: peers</title><style>{style}</style></head><body><main>"
        '<header><p class="over">Concord, beside its peers</p><h1>Peers</h1></header>'
    )
    yield from section(drawn, "Peers")
    yield f"<h2>Numbers</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    yield f'<ul class="notes">{"".join(f"<li>{escape(line)}</li>" for line in _origin(found))}</ul>'
    yield "</main></body></html>\n"


def _origin(found: About) -> Iterator[str]:
    """Say where the figures come from, line by line."""
    timing = found.timing
    yield f"Command: {found.command}"
    loads = f"{min(found.loads):.1f} to {max(found.loads):.1f}" if found.loads else "unknown"
    yield f"Commit {found.commit}, {found.date}; {found.machine}; load before runs {loads}."
    yield (
        f"Medians of {timing.repeat}, each {timing.measure_s:g} s after {timing.warm_up_s:g} s; latency at "
        f"{timing.rate_per_s:g} events/s; servers and clients apart: {_APART[timing.pin]}."
    )
    yield "Versions: " + "; ".join(f"{name} {version}" for name, version in found.versions.items() if version)
    for name, missing in found.absent.items():
        yield f"{name} is left out: {missing}."
    for line in found.failed:
        yield f"Failed: {line}"


_APART: Final[Mapping[str, str]] = {
    "never": "never",
    "latency": "while latency is measured",
    "always": "always",
}


def renew(page: Path, found: About, results: Sequence[PeerResult]) -> None:
    """Put the table and where it comes from between the two marks of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise click.ClickException(f"--page {page}: has no lines {BEGIN!r} and {END!r}")
    origin = "".join(f"- {line}\n" for line in _origin(found))
    text = f"{before}{begin}\n{shown(results).markdown()}\n{origin}{end}{after}"
    page.write_text(text, encoding="utf-8")
