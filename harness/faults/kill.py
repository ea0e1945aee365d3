"""Brokers die again and again, and are started again: `kill random every 3s`."""

from typing import Final

from harness.faults.grammar import Clause, Fault
from harness.faults.kinds import BROKER, Field, Kind, Link

__all__ = ["KILL"]

AFTER_S: Final = 0.5
"""Shorter than a supervisor takes, so that under `every 1s` brokers are up about half of the time."""


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, str)
    after_s = fault.value("after")
    if await field.kill(target, "kill", f"SIGKILL, again after {after_s:g} s"):
        await field.sleep(after_s)
        await field.start(target, "kill")


KILL: Final = Kind(
    ("kill",),
    "kill a broker if it is running, and start it again; for faults that come `every` so often",
    "kill random every 3s",
    BROKER,
    _inject,
    {"after": Clause("seconds", AFTER_S)},
)
