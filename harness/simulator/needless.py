"""Needless waiting: an event that needs no order waits for no acknowledgement.

Laws.

1. An unordered event asks its uplink for nothing.
2. No event waits for its uplink's acknowledgement on behalf of unordered subscriptions alone.

Both may stay behind an earlier item for the same hop: a publisher has its order (R3), so has control (R5).
"""

from collections.abc import Container, Iterator
from typing import Final

from broker.core import BrokerCore
from broker.messages import Publication

AWAITS: Final = "the uplink's acknowledgement"
"""The reason that `pairwise` gives for an item that has asked its uplink."""


def needless_waits(core: BrokerCore, unordered: Container[str]) -> Iterator[str]:
    """Yield what waits without need; `unordered` are the names of local subscriptions without order."""
    if not core.waiting_count:
        return
    for blocked in core.blocked():
        event = blocked.item
        if blocked.reason != AWAITS or not isinstance(event, Publication):
            continue
        name = f"{event.publisher}:{event.sequence}"
        if not event.ordered:
            yield f"{core.name} lets {name} wait, which is unordered"
        names = core._hops.names(blocked.targets)  # noqa: SLF001 - only to look
        if names and all(each in unordered for each in names):
            yield f"{core.name} lets {name} wait for unordered subscriptions alone"
