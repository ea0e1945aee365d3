"""One law of sessions, journals and snapshots broken per function: each loses or repeats something."""

from collections.abc import Iterable, Sequence
from typing import Any

from broker.core import Hop
from broker.messages import Acknowledge, LinkMessage
from broker.node.links import LinkSession
from broker.routing import Routing
from broker.station import Station, recover, snapshots
from broker.station import inputs as i
from broker.station.values import Writer
from broker.wire import encode
from ordering.interface import OrderingFactory

_read_record = i.read_record
_state_of = snapshots.state_of
_receive = Station.receive
_restore = Station.restore


def acknowledges_at_once(self: LinkSession) -> None:
    """Acknowledge messages before they are on disk."""
    connection = self._connection
    if connection is not None and self.state.received > self._acknowledged:
        self._acknowledged = self.state.received
        connection.send_free(encode(Acknowledge(self._acknowledged)))


def learns_nothing(self: Station, link: Hop, count: int) -> None:
    """Ignore the acknowledgements of the other end: a resumed session repeats."""
    del self, link, count


def counts_anew(self: Station, *state: Any) -> None:
    """Restore sessions without their counts of received messages."""
    for place in state[1].values():
        place.received = 0
    _restore(self, *state)


def takes_anew(self: Station, *state: Any) -> None:
    """Restore publishers without their last sequence numbers."""
    for place in state[2].values():
        place.taken = 0
    _restore(self, *state)


def forgets_the_plugin(part: object, parts: Sequence[object], writer: Writer) -> Iterable[list[object]]:
    """Leave the ordering plugin out of snapshots."""
    return () if part is parts[-1] else _state_of(part, parts, writer)


def applies_half(self: Station, link: Hop, messages: Sequence[LinkMessage]) -> None:
    """Apply only the first half of a batch that is replayed, and count all of it."""
    if self.recorder is None and len(messages) > 1:
        whole = len(messages)
        messages = messages[: whole // 2]
        self.links[link.name].received += whole - len(messages)
    _receive(self, link, messages)


def takes_at_the_end(record: bytes) -> tuple[i.Input, bool]:
    """Replay without regard to when effects were taken: two notes leave as one."""
    return _read_record(record)[0], False


def loses_the_last_record(  # noqa: PLR0913, PLR0917 - as that of `recover`
    name: str,
    ordering: OrderingFactory,
    ordering_name: str,
    snapshot: bytes | None,
    records: Sequence[bytes],
    routing: Routing,
) -> Station | None:
    """Recover without the last record on disk."""
    kept = records[:-1] if len(records) > 1 else records
    return recover(name, ordering, ordering_name, snapshot, kept, routing)
