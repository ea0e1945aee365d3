"""A link becomes slow or narrow."""

from typing import Final

from harness.faults.grammar import Clause, Fault
from harness.faults.kinds import FOR_S, LINK, Field, Kind, Link

__all__ = ["SLOW_LINK"]

DELAY_S: Final = 0.1
"""Across an ocean."""


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, Link)
    await field.shape(target, fault.value("to"), fault.value("limit"))
    if fault.value("for") is not None:
        await field.sleep(fault.value("for"))
        await field.shape(target, None, None)


SLOW_LINK: Final = Kind(
    ("slow", "link"),
    "give a link another delay and, if asked for, a bandwidth",
    "slow link core-1 core-2 at 5s to 80ms limit 1mbit for 10s",
    LINK,
    _inject,
    {"to": Clause("seconds", DELAY_S), "limit": Clause("mbit"), "for": FOR_S},
)
