"""A broker dies, and stays dead."""

from typing import Final

from harness.faults.grammar import Fault
from harness.faults.kinds import BROKER, Field, Kind, Link

__all__ = ["CRASH"]


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    del fault
    assert isinstance(target, str)
    await field.kill(target, "crash", "SIGKILL")


CRASH: Final = Kind(("crash",), "kill a broker; it stays dead", "crash edge-3 at 10s", BROKER, _inject)
