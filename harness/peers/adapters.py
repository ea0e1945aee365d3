"""The systems that can be compared, by the names that users give them.

Adding one is adding a file and one line to `PEERS`. What a system needs is imported by its own clients alone.
"""

from collections.abc import Mapping
from typing import Final

from harness.peers.adapter import Adapter
from harness.peers.concord import Concord
from harness.peers.jetstream import JetStream
from harness.peers.nats import Nats
from harness.peers.redis import Redis
from harness.peers.relay import Relay
from harness.peers.spread import Spread
from harness.peers.zenoh import Zenoh

_ADAPTERS: Final[tuple[Adapter, ...]] = (Concord(), Nats(), Zenoh(), Redis(), JetStream(), Spread(), Relay())

PEERS: Final[Mapping[str, Adapter]] = {each.name: each for each in _ADAPTERS}
"""Every system, Concord and the floor included."""
