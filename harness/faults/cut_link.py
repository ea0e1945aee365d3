"""A link is cut: its connections are reset and new ones are too, until it is mended."""

from typing import Final

from harness.faults.grammar import Fault
from harness.faults.kinds import FOR_S, LINK, Field, Kind, Link

__all__ = ["CUT_LINK"]


async def _inject(field: Field, fault: Fault, target: str | Link) -> None:
    assert isinstance(target, Link)
    await field.cut(target, "cut link", target.name)
    if fault.value("for") is not None:
        await field.sleep(fault.value("for"))
        await field.mend(target, "cut link", target.name)


CUT_LINK: Final = Kind(
    ("cut", "link"),
    "reset a link between two brokers, and keep it from coming back",
    "cut link edge-3 at 10s for 2s",
    LINK,
    _inject,
    {"for": FOR_S},
)
