"""A broker stops where it is, as if its machine were swapping, and may go on later."""

from typing import Final

from harness.faults.grammar import Fault
from harness.faults.kinds import BROKER, FOR_S, Field, Kind, Link

__all__ = ["PAUSE"]


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, str)
    await field.pause(target)
    if fault.value("for") is not None:
        await field.sleep(fault.value("for"))
        await field.resume(target)


PAUSE: Final = Kind(
    ("pause",),
    "stop a broker where it is (SIGSTOP)",
    "pause edge-2 at 5s for 3s",
    BROKER,
    _inject,
    {"for": FOR_S},
)
