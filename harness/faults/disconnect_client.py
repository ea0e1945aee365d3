"""A client's connection is reset; the client comes back by itself."""

from typing import Final

from harness.faults.grammar import Clause, Fault
from harness.faults.kinds import CLIENT, Field, Kind, Link

__all__ = ["DISCONNECT_CLIENT"]

FOR_S: Final = 0.2
"""Long enough for both ends to notice."""


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, Link)
    await field.cut(target, "disconnect client", target.lower)
    await field.sleep(fault.value("for"))
    await field.mend(target, "disconnect client", target.lower)


DISCONNECT_CLIENT: Final = Kind(
    ("disconnect", "client"),
    "reset the connection of a publisher or subscriber, and keep it away for a while",
    "disconnect client pub-4 at 6s for 2s",
    CLIENT,
    _inject,
    {"for": Clause("seconds", FOR_S)},
)
