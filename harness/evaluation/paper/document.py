"""The page: the paper's claims beside our measurements. Numbers come from analyses alone."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Final

from harness.analysis.scaling import COLUMNS as _SCALING_COLUMNS
from harness.evaluation.paper.claims import FAULTY, LARGEST, LOSING, Studies, aims, claims, growth
from harness.evaluation.paper.studies import read
from harness.report.results import ReportError, Result, find
from harness.tables import Column, plain, table, whole

WIDTH: Final = 110
"""Of a line of the page."""

_OPENING: Final = """\
# Evaluation

Experiments after those of section V of the paper (Zhang, Muthusamy and Jacobsen, *Total Order in
Content-Based Publish/Subscribe Systems*, 2011), with real brokers and clients on one machine, judged over all
pairs of subscribers. They are no repetition: the paper's brokers, data and machines are not at hand, rates
and numbers of publishers differ where a section says so, and `published` is our reading of its text. Shapes
can be compared; milliseconds cannot: the paper had up to 96 machines, and here all brokers and clients share
{machine}.

Everything on this page is made by

    make evaluation

which goes on where it was interrupted, and leaves a report with figures beside each study's runs in
`runs/evaluation`. What is run is in `harness/evaluation/paper/studies.py`, and `concord harness scenarios`
lists the scenarios. `pairwise` is the product, `fifo` is per-publisher order, `sequencer` sends everything
through one broker, and `published` is the paper's algorithm as it stands in the paper.
"""

_CLAIMS: Final = """\
Where several runs measure one thing, the table has its range over them; of ratios the median, and the range
in brackets. Latency and the ordering degree are those of figure 7 and of the largest overlay. An ordering is
full when it delivers less than 95 % of what `fifo` delivers.
"""

_FIGURE_7: Final = """\
A chain of 16 core brokers with 5 edge brokers each, and every subscription wants everything. *Same broker* is
what the paper measures: deliveries at the broker that the publication was published at, where order costs
most. The paper finds that latency grows linearly under every ordering. There a publisher publishes every 4
seconds, here every 10: one publication is up to 800 deliveries, and one machine makes them all.
"""

_FIGURE_8: Final = """\
One core broker, and more and more edge brokers with 10 publishers and 10 subscribers each. The paper has 50
of each at a broker, takes 100 ms with 2 brokers, and stays below 250 ms with 20.
"""

_KNEE: Final = """\
A chain of 4 core brokers with 2 edge brokers each, links of 1 Mbit/s, and a quarter of the subscriptions
wants what a publisher publishes. Under `sequencer` every publication goes to the sequencer, wherever it is
wanted, so the links around that are the first to be full: from there on latency grows for as long as
everybody publishes.
"""

_FIGURES_5_6: Final = """\
Detection is the time a broker takes to find out what a publication may be in conflict with, by subscriptions,
advertisements and how many of them a publication meets; a publisher publishes every 10 seconds, in the paper
every 4. `progressive` is the paper's figure 5, `fast` its figure 6; [baselines.md](baselines.md) has it
at one broker, with up to 300 of them.
"""

_FAULTS: Final = f"""\
`crash-core` kills core brokers, which have journals, with SIGKILL every three seconds; `flaky-links` cuts and
slows links and disconnects clients; in `{LOSING}` two subscriptions stop reading for a while,
drop what their queues have no room for, and get gaps: these events are missing there.
"""

_SCALING: Final = """\
All pairs of 200 subscribers, in a common order and up to 12 steps away from it
(`python -m harness.analysis.scaling --out runs/evaluation/scaling.json`), Spark on the same processors.
"""

_GROWING: Final = "Figure 7: latency over subscriptions"
"""The section about the growth of latency."""


def _ordering(result: Result) -> str:
    options = result.about.get("ordering_options")
    form = options.get("form") if isinstance(options, Mapping) else None
    return f"`{result.ordering}`, {form}" if form else f"`{result.ordering}`"


def _latency(name: str, part: str) -> Callable[[Result], str]:
    return lambda each: plain(each.number(name, part), 1)


def _longest_pause(result: Result) -> float | None:
    pauses = [each["pause_ms"] for each in result.objects("faults")]
    longest = [each.get("max") for each in pauses if isinstance(each, Mapping)]
    known = [float(each) for each in longest if isinstance(each, int | float)]
    return max(known) / 1e3 if known else None


def _messages(result: Result) -> float | None:
    kinds = [result.number("traffic", kind) for kind in ("publications", "acknowledgements", "control")]
    published = result.number("publications")
    known = [count for count in kinds if count is not None]
    return sum(known) / published if known and published else None


_SIZES: Final[tuple[Column[Result], ...]] = (
    ("brokers", lambda each: whole(each.parameter("brokers"))),
    ("publishers", lambda each: whole(each.parameter("publishers"))),
    ("subscriptions", lambda each: whole(each.parameter("subscriptions"))),
)
_ORDERING: Final[Column[Result]] = ("ordering", _ordering)
_SAME: Final[Column[Result]] = ("same broker p50, ms", _latency("latency_same_broker_ms", "p50"))
_LATENCIES: Final[tuple[Column[Result], ...]] = (
    ("p50, ms", _latency("latency_ms", "p50")),
    ("p99, ms", _latency("latency_ms", "p99")),
    ("longest, ms", _latency("latency_ms", "max")),
)
_WRONG: Final[Column[Result]] = (
    "pairs out of order",
    lambda each: f"{whole(each.number('pairs_out_of_order'))} of {whole(each.number('pairs'))}",
)
_COUNTS: Final[tuple[Column[Result], ...]] = (
    ("delivered", lambda each: whole(each.number("deliveries"))),
    ("missing", lambda each: whole(each.number("missing"))),
)

_GENERAL: Final[tuple[Column[Result], ...]] = (
    *_SIZES,
    _ORDERING,
    _WRONG,
    ("degree", lambda each: plain(each.number("ordering_degree"), 4)),
    *_COUNTS,
    _SAME,
    *_LATENCIES,
)

_DETECTION: Final[tuple[Column[Result], ...]] = (
    *_SIZES,
    ("overlap, %", lambda each: f"{each.overlap:.0f}"),
    _ORDERING,
    ("detection, microseconds", lambda each: plain(each.number("detection_us", "mean"), 1)),
    ("messages per publication", lambda each: plain(_messages(each), 1)),
    _SAME,
)

_KNEE_COLUMNS: Final[tuple[Column[Result], ...]] = (
    ("publishers", lambda each: whole(each.parameter("publishers"))),
    _ORDERING,
    ("deliveries a second", lambda each: whole(each.throughput)),
    *_LATENCIES,
    *_COUNTS,
)

_FAULT_COLUMNS: Final[tuple[Column[Result], ...]] = (
    ("scenario", lambda each: f"`{each.scenario}`"),
    _ORDERING,
    _WRONG,
    *_COUNTS,
    ("faults", lambda each: whole(len(each.objects("faults")))),
    ("longest pause after one, s", lambda each: plain(_longest_pause(each), 2)),
    *_LATENCIES,
)


_SECTIONS: Final[Sequence[tuple[str, Sequence[str], str, Sequence[Column[Result]]]]] = (
    (_GROWING, ("figure7",), _FIGURE_7, _GENERAL),
    ("96 brokers on one machine", (LARGEST,), "The last point of figure 7, for longer.\n", _GENERAL),
    ("The sequencer's knee", ("knee",), _KNEE, _KNEE_COLUMNS),
    ("Figures 5 and 6: detection and traffic", ("figure5", "figure6"), _FIGURES_5_6, _DETECTION),
    ("Figure 8: latency over brokers", ("figure8",), _FIGURE_8, _GENERAL),
    ("With faults", FAULTY, _FAULTS, _FAULT_COLUMNS),
    ("A small overlay", ("quick",), "What `make run` compares.\n", _GENERAL),
    (
        "Symbols and price ranges",
        ("market",),
        "Symbols of skewed popularity, subscribers with price ranges, in a tree with links of 5 ms.\n",
        _GENERAL,
    ),
)
"""Title, studies, what is said first, and columns."""


def document(folder: Path, scaling: Sequence[Mapping[str, float]]) -> str:
    """The whole page; a study that was not run is left out."""
    machine = f"{os.cpu_count()} processors with Python {platform.python_version()}"
    found = {name: _results(folder / name) for name in _names(folder)}
    studies = {name: [each for each in runs if each.is_known] for name, runs in found.items()}
    parts = [_OPENING.format(machine=machine), _conditions(folder, studies), _doubts(found)]
    parts += ["## The paper's claims, and ours\n", _CLAIMS, claims(studies)]
    parts += ["## Aims\n", aims(studies, scaling), *_sections(studies)]
    if scaling:
        parts += ["## The analysis itself\n", _SCALING, table(_SCALING_COLUMNS, scaling, words=0).markdown()]
    return "\n".join(part for part in parts if part)


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []


def _results(folder: Path) -> list[Result]:
    try:
        return find(folder)
    except ReportError:
        return []


def _conditions(folder: Path, studies: Studies) -> str:
    """Return when it was measured, and the load of other programs meanwhile."""
    begun = sorted(str(each.about.get("started", "")) for runs in studies.values() for each in runs)
    if not begun:
        return ""
    text = f"Measured from {_minute(begun[0])} to {_minute(begun[-1])} UTC."
    shares = read(folder)
    if shares:
        text += (
            f" In the {len(shares)} runs in which that was counted, other programs took "
            f"{100 * median(shares):.0f} % of the processors, {100 * min(shares):.0f} to "
            f"{100 * max(shares):.0f} %."
        )
    return fill(text, WIDTH) + "\n"


def _doubts(found: Studies) -> str:
    """Return the runs that allow no verdict, and why: they are in no table."""
    lines = [
        f"- {name}, {each.name}: {each.analysis['reason']}\n"
        for name, runs in found.items()
        for each in runs
        if not each.is_known
    ]
    return "Without a verdict, and in no table below:\n\n" + "".join(lines) if lines else ""


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _sections(studies: Studies) -> Iterator[str]:
    for title, names, text, columns in _SECTIONS:
        results = [each for name in names for each in studies.get(name, ())]
        if results:
            yield f"## {title}\n"
            yield text
            if grown := growth(results) if title is _GROWING else "":
                yield fill(grown, WIDTH) + "\n"
            yield table(columns, results).markdown()
