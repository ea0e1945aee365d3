"""The client: publishes and subscribes at one broker, and comes back to it when the connection is lost.

`session`, `window`, `inbox` and `stream` are the protocol without I/O; `connection` runs them over Trio, and
`client`, `publisher` and `deliveries` are what users hold.
"""

from broker.client.client import Client, connect
from broker.client.connection import StateChange
from broker.client.deliveries import Deliveries
from broker.client.delivery import Delivery, Gap
from broker.client.limits import Limits
from broker.client.publisher import Publisher
from broker.client.replay import Replay

__all__ = [
    "Client",
    "Deliveries",
    "Delivery",
    "Gap",
    "Limits",
    "Publisher",
    "Replay",
    "StateChange",
    "connect",
]
