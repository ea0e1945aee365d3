"""A subscriber's program takes its time over each delivery."""

from typing import Final

from harness.faults.grammar import Clause, Fault
from harness.faults.kinds import FOR_S, SUBSCRIPTION, Field, Kind, Link

__all__ = ["SLOW_SUBSCRIBER"]

PER_SECOND: Final = 10.0
"""A program that waits for a remote database with each delivery."""


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, str)
    per_second = fault.value("to")
    assert per_second is not None
    await field.slow(target, per_second, fault.value("for"))


SLOW_SUBSCRIBER: Final = Kind(
    ("slow", "subscriber"),
    "let a subscriber read only so many deliveries a second; 0/s is none",
    "slow subscriber sub-3 at 5s to 10/s for 20s",
    SUBSCRIPTION,
    _inject,
    {"to": Clause("rate", PER_SECOND), "for": FOR_S},
)
