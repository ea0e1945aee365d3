"""How much processor time processes have used, for saying where the time of a delivery goes.

Counted by the kernel in steps of 10 ms and read from `/proc`; a system without it counts nothing.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.processes import Program

__all__ = ["used_s"]

_USER: Final = 11
_SYSTEM: Final = 12
"""Places in `/proc/PID/stat` after the process's name, which may itself contain spaces."""


def used_s(programs: Iterable[Program]) -> float:
    """Seconds of processor time that running programs have used together since they started."""
    return sum(_one(Path("/proc") / str(program.process.pid) / "stat") for program in programs)


def _one(stat: Path) -> float:
    try:
        fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
