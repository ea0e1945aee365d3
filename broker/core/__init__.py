"""The broker's core: a deterministic state machine that takes messages and returns effects.

Rules R1 to R9, which the modules here refer to, are stated in `docs/explanation/protocol.md`,
with their reasons.
"""

from broker.core.audit import LocalClients
from broker.core.broker import BrokerCore
from broker.core.effects import CoreEffects, Destination, ProtocolError
from broker.core.hops import Hop

__all__ = ["BrokerCore", "CoreEffects", "Destination", "Hop", "LocalClients", "ProtocolError"]
