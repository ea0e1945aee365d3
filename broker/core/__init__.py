"""The broker's core: a deterministic state machine, fed with messages, that hands back effects."""

from broker.core.broker import BrokerCore
from broker.core.effects import Effects
from broker.core.hops import Hop
from broker.core.protocol import ProtocolError

__all__ = ["BrokerCore", "Effects", "Hop", "ProtocolError"]
