"""How much of the machine other programs took during a run: what its figures can be trusted for.

Linux counts what all processors did, and what the children of a process did that have ended. The difference
is the others'. Elsewhere nothing is known, and nothing is said.
"""

import json
import os
import resource
import time
from pathlib import Path
from typing import Final

import attrs

OTHERS_MOST: Final = 0.1
"""A run during which others took a larger part of the processors is disturbed."""

FILE: Final = "quiet.json"

_COUNTS: Final = Path("/proc/stat")
_IDLE: Final = (3, 4)
"""Which of the first eight counts are no work: doing nothing, and waiting for a disk."""

_STATES: Final = 8


@attrs.frozen
class StudyMoment:
    """Seconds so far: by the clock, of all processors at work, of our own programs at work."""

    at_s: float
    busy_s: float
    own_s: float

    @classmethod
    def now(cls) -> "StudyMoment | None":
        """Return the present counts; nothing where the system does not count."""
        try:
            counts = _COUNTS.read_text(encoding="ascii").split()[1 : _STATES + 1]
        except OSError:
            return None
        busy = sum(int(count) for place, count in enumerate(counts) if place not in _IDLE)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), busy / os.sysconf("SC_CLK_TCK"), ended.ru_utime + ended.ru_stime)


def others(before: StudyMoment, after: StudyMoment, processors: int) -> float:
    """The part of all processors that others took between two moments."""
    there_was_s = (after.at_s - before.at_s) * processors
    taken_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    return min(1.0, max(0.0, taken_s / there_was_s))


@attrs.frozen
class QuietMeter:
    """Measures the others from its beginning, over programs that begin and end after that."""

    _before: StudyMoment | None

    @classmethod
    def begin(cls) -> "QuietMeter":
        """Begin to measure."""
        return cls(StudyMoment.now())

    def others(self) -> float | None:
        """Return the part of all processors that others took so far; None where nobody counts."""
        after = StudyMoment.now()
        if self._before is None or after is None:
            return None
        return others(self._before, after, os.cpu_count() or 1)


@attrs.frozen
class Quietness:
    """What others took during a run that was kept, and after how many tries it was."""

    others: float | None
    tries: int = 1

    @property
    def is_disturbed(self) -> bool:
        """Return whether the run's times mean little."""
        return self.others is not None and self.others > OTHERS_MOST


def write_others(run: Path, quietness: Quietness) -> None:
    """Write down what others took during a run."""
    (run / FILE).write_text(json.dumps(attrs.asdict(quietness)) + "\n", encoding="utf-8")


def read_others(run: Path) -> Quietness:
    """Return what others took during a run; nothing is known of one that says nothing."""
    file = run / FILE
    return Quietness(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else Quietness(None)
