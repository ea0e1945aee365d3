"""How much of the machine other programs took while a run was made: what its figures can be trusted for.

Linux counts what all processors did, and what the children of a process did that have ended. The difference
is the others'. Elsewhere nothing is known, and nothing is said.
"""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

FILE: Final = "others.txt"

_COUNTS: Final = Path("/proc/stat")

_IDLE: Final = (3, 4)
"""Which of the first eight counts are no work: doing nothing, and waiting for a disk."""

_STATES: Final = 8


@attrs.frozen
class Moment:
    """Seconds so far: by the clock, of all processors at work, of our own programs at work."""

    at_s: float
    busy_s: float
    own_s: float

    @classmethod
    def now(cls) -> "Moment | None":
        """What is counted at present; nothing where the system does not count."""
        try:
            counts = _COUNTS.read_text(encoding="ascii").split()[1 : _STATES + 1]
        except OSError:
            return None
        busy = sum(int(count) for place, count in enumerate(counts) if place not in _IDLE)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), busy / os.sysconf("SC_CLK_TCK"), ended.ru_utime + ended.ru_stime)


def others(before: Moment, after: Moment, processors: int) -> float:
    """The part of all processors that others took between two moments."""
    there_was_s = (after.at_s - before.at_s) * processors
    taken_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    return min(1.0, max(0.0, taken_s / there_was_s))


@contextmanager
def watched(run: Path) -> Iterator[None]:
    """While a run is made in this folder, watch the others, and write down what they took."""
    before = Moment.now()
    yield
    after = Moment.now()
    if before is not None and after is not None and run.is_dir():
        part = others(before, after, os.cpu_count() or 1)
        (run / FILE).write_text(f"{part:.4f}\n", encoding="utf-8")


def read(folder: Path) -> list[float]:
    """What others took in every run of a folder's studies that is whole."""
    found = sorted(folder.glob(f"*/[!.]*/{FILE}"))
    return [float(path.read_text(encoding="utf-8")) for path in found]
