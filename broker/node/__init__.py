"""One broker as a machine without I/O: `Node.step(input, now_s)` answers with `Effects`.

`node` is the way in, `inputs` and `effects` are its two ends. `broker.server` runs it over sockets and files,
the simulator over streams of bytes in memory.
"""

from broker.node.config import NodeConfig
from broker.node.effects import Close, Dial, Effects, Write
from broker.node.inputs import (
    Accepted,
    Connected,
    Gone,
    Input,
    JournalState,
    Pass,
    Received,
    Started,
    Stop,
    Synced,
    Tick,
    Unreached,
    Written,
)
from broker.node.node import Node

__all__ = [
    "Accepted",
    "Close",
    "Connected",
    "Dial",
    "Effects",
    "Gone",
    "Input",
    "JournalState",
    "Node",
    "NodeConfig",
    "Pass",
    "Received",
    "Started",
    "Stop",
    "Synced",
    "Tick",
    "Unreached",
    "Write",
    "Written",
]
