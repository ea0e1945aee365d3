"""A paused broker goes on."""

from typing import Final

from harness.faults.grammar import Fault
from harness.faults.kinds import BROKER, Field, Kind, Link

__all__ = ["RESUME"]


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    del fault
    assert isinstance(target, str)
    await field.resume(target)


RESUME: Final = Kind(
    ("resume",), "let a paused broker go on (SIGCONT)", "resume edge-2 at 8s", BROKER, _inject
)
