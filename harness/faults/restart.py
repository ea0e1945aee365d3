"""A broker dies, and is started again a little later, with the same name, port and journal."""

from typing import Final

from harness.faults.grammar import Clause, Fault
from harness.faults.kinds import BROKER, Field, Kind, Link

__all__ = ["RESTART"]

AFTER_S: Final = 1.0
"""What a supervisor takes to notice and act."""


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, str)
    after_s = fault.value("after")
    await field.kill(target, "restart", f"SIGKILL, again after {after_s:g} s")
    await field.sleep(after_s)
    await field.start(target, "restart")


RESTART: Final = Kind(
    ("restart",),
    "kill a broker and start it again",
    "restart core-2 at 10s after 5s",
    BROKER,
    _inject,
    {"after": Clause("seconds", AFTER_S)},
)
