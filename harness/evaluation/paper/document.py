"""The page: the paper's claims beside our measurements. Numbers come from analyses alone."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Final

from harness.analysis.scaling import COLUMNS as _SCALING_COLUMNS
from harness.evaluation.paper import columns, spread
from harness.evaluation.paper.aims import aims
from harness.evaluation.paper.claims import FIGURE_5, FIGURE_7, KNEE, STREAM, claims
from harness.evaluation.paper.quiet import OTHERS_MOST, Quietness
from harness.evaluation.paper.repeats import RepeatedRun, RepeatedStudies, results_of, studies_in
from harness.evaluation.paper.studies import TRIES
from harness.tables import Column, table

WIDTH: Final = 110
"""Of a line of the page."""

_OPENING: Final = """\
# Evaluation

The experiments of section V of the paper (Zhang, Muthusamy and Jacobsen, *Total Order in Content-Based
Publish/Subscribe Systems*, 2011), with real brokers and clients on one machine, judged over all pairs of
subscribers. The paper's brokers, data and machines are not at hand, rates differ where a section says so, and
`published` is our reading of its text. Shapes can be compared; milliseconds cannot: the paper had up to 96
machines, and here all brokers and clients share {machine}.

Everything on this page is made by

    make evaluation

which goes on where it was interrupted, and leaves a report with figures beside each study's runs in
`runs/evaluation`. What is run is in `harness/evaluation/paper/studies.py`, and `concord harness scenarios`
lists the scenarios. `pairwise` is the product, `fifo` is per-publisher order, `sequencer` sends everything
through one broker, and `published` is the paper's algorithm as it stands in the paper, in its three forms.
All orderings of a study run under the same routing, which `run.json` names.
"""

_CLAIMS: Final = """\
Where several runs measure one thing, the table has its range over them; of ratios the median, and the range
in brackets. Latency and the ordering degree are those of figure 7. An ordering is full when it delivers less
than 95 % of what `fifo` delivers. *At the publisher's broker* is what the paper measures: deliveries at the
broker that the event was published at, where order costs most.
"""

_FIGURE_5: Final = """\
A chain of 4 core brokers with 5 edge brokers each, up to 300 subscriptions and advertisements together, and
how many percent of them a publication is in conflict with; a publisher publishes every 4 seconds, as in the
paper. *Detection* is the time that a broker takes to find out what a publication may be in conflict with, at
brokers at the edge (figures 5a and 6a) and in the core (5b). *Events* are sent for each publication over
links and to subscribers, *acknowledgements* for each publication over links; *of a broker* is what one broker
sends of both, which the paper counts over a period (5c, 6b). Latency is that of 5d and 6c. Where something is
missing, it had not come {drain} s after the last publication. [baselines.md](baselines.md) has detection at
one broker.
"""

_LIVELOCK: Final = """\
The paper's unoptimized algorithm starves with three publishers and subscribers at 120 publications a minute.
Here it runs once, at that rate and at 300 a second.
"""

_FIGURE_7: Final = """\
A chain of 16 core brokers with 5 edge brokers each, and every subscription wants everything. There a
publisher publishes every 4 seconds, here every 10: one publication is up to 800 deliveries, and one machine
makes them all. The progressive form stops after the first point: figure 5 shows why.
"""

_STREAM: Final = """\
The first point of figure 7 with 50 publications of each publisher, one a second: longer streams, in which
displacements can be longer. With more subscriptions that many publications are more than one machine delivers
in the time of this evaluation.
"""

_FIGURE_8: Final = """\
One core broker, and more and more edge brokers: with 50 publishers and 50 subscribers each as in the paper,
as far as the machine carries, and with 10 each beyond that. The paper takes 100 ms with 2 brokers, and stays
below 250 ms with 20. The progressive form stops after two points.
"""

_KNEE: Final = """\
Under `sequencer` every publication goes to the sequencer, wherever it is wanted. On the paper's terms, 96
brokers and links without limits, figure 7 says whether that is full. Here links have 1 Mbit/s, which we chose
so that something is full: a chain of 4 core brokers with 2 edge brokers each, and a quarter of the
subscriptions wants what a publisher publishes. Links around the sequencer are the first to be full, and from
there on latency grows for as long as everybody publishes.
"""

_FAULTS: Final = """\
`crash-core` kills core brokers, which have journals, with SIGKILL every three seconds; `flaky-links` cuts and
slows links and disconnects clients; in `slow-subscriber` two subscriptions stop reading for a while, drop
what their queues have no room for, and get gaps: these events are missing there.
"""

_LOSSY: Final = """\
The paper's theorem 10: with crashes events may be lost, and the order of what is delivered is kept. Core
brokers without journals are killed every three seconds, and begin again with nothing. *Gaps* are
announcements to subscriptions that something may be missing.
"""

_SCALING: Final = """\
All pairs of subscribers, in a common order and up to 12 steps away from it
(`python -m harness.analysis.scaling --out runs/evaluation/scaling.json`), Spark on the same processors. Where
there are executors, they are those of a local cluster.
"""

_DRAIN_S: Final = 60

_SECTIONS: Final[Sequence[tuple[str, str, str, Sequence[Column[RepeatedRun]]]]] = (
    ("Figures 5 and 6", FIGURE_5, _FIGURE_5.format(drain=_DRAIN_S), columns.DETECTION),
    ("The unoptimized algorithm", "livelock", _LIVELOCK, columns.LIVELOCK),
    ("Figure 7: latency over subscriptions", FIGURE_7, _FIGURE_7, columns.GENERAL),
    ("Longer streams", STREAM, _STREAM, columns.GENERAL),
    ("Figure 8: latency over brokers", "figure8", _FIGURE_8, columns.GENERAL),
    ("The sequencer's knee", KNEE, _KNEE, columns.KNEE),
    ("Crashes without journals", "crash-lossy", _LOSSY, columns.LOSSY),
    ("A small overlay", "quick", "What `make run` compares.\n", columns.GENERAL),
    (
        "Symbols and price ranges",
        "market",
        "Symbols of skewed popularity, subscribers with price ranges, in a tree with links of 5 ms.\n",
        columns.GENERAL,
    ),
)
"""Title, study, what is said first, and columns."""

_WITH_FAULTS: Final = ("crash-core", "flaky-links", "slow-subscriber")


def document(folder: Path, scaling: Sequence[Mapping[str, float]]) -> str:
    """The whole page; a study that was not run is left out."""
    machine = f"{os.cpu_count()} processors with Python {platform.python_version()}"
    studies = studies_in(folder)
    parts = [_OPENING.format(machine=machine), _conditions(studies), _doubts(folder)]
    parts += ["## The paper's claims, and ours\n", _CLAIMS, claims(studies)]
    parts += ["## Aims\n", aims(studies, scaling), *_sections(folder, studies)]
    if scaling:
        parts += ["## The analysis itself\n", _SCALING, table(_SCALING_COLUMNS, scaling, words=0).markdown()]
    return "\n".join(part for part in parts if part)


def _conditions(studies: RepeatedStudies) -> str:
    """Return when it was measured, how often, and the load of other programs meanwhile."""
    rows = [each for found in studies.values() for each in found]
    begun = sorted(str(result.about.get("started", "")) for each in rows for result in each.results)
    if not begun:
        return ""
    text = f"Measured from {_minute(begun[0])} to {_minute(begun[-1])} UTC, in {len(begun)} runs."
    text += (
        " Where a number has an interval, it is the median of the repeats, with the lowest and the highest; "
        "counts are sums over them."
    )
    counted = _counted(studies)
    if shares := _shares(counted):
        again = sum(found.tries - 1 for found in counted)
        disturbed = sum(found.is_disturbed for found in counted)
        text += (
            f" Other programs took {shares}. A run during which they took more than {OTHERS_MOST:.0%} is "
            f"made again, up to {TRIES} times in all: that happened {again} times, and {disturbed} runs "
            "stayed disturbed, which their rows say."
        )
    return fill(text, WIDTH) + "\n"


def load(folder: Path) -> str:
    """Return what other programs took during all runs; nothing if nobody counted that."""
    shares = _shares(_counted(studies_in(folder)))
    return f"other programs took {shares}" if shares else ""


def _counted(studies: RepeatedStudies) -> list[Quietness]:
    return [each for rows in studies.values() for row in rows for each in row.quietness]


def _shares(counted: Sequence[Quietness]) -> str:
    """Return the middle, the least and the most of what others took."""
    shares = [100 * each.others for each in counted if each.others is not None]
    if not shares:
        return ""
    return f"{median(shares):.0f} % of the processors, {min(shares):.0f} to {max(shares):.0f} %"


def _doubts(folder: Path) -> str:
    """Return the runs that allow no verdict, and why: they are in no table."""
    lines = [
        f"- {place.name}, {each.name}: {each.analysis['reason']}\n"
        for place in (sorted(folder.iterdir()) if folder.is_dir() else ())
        for each in results_of(place)
        if not each.is_known
    ]
    return "Without a verdict, and in no table below:\n\n" + "".join(lines) if lines else ""


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _sections(folder: Path, studies: RepeatedStudies) -> Iterator[str]:
    for title, name, text, shown in _SECTIONS:
        if rows := studies.get(name, ()):
            yield f"## {title}\n"
            yield text
            yield table(shown, rows).markdown()
            yield columns.stops(rows) if name == "figure8" else ""
    yield spread.section(folder)
    if rows := [each for name in _WITH_FAULTS for each in studies.get(name, ())]:
        yield "## With faults\n"
        yield _FAULTS
        yield table(columns.FAULTS, rows).markdown()
