"""Sessions: links and streams that survive their connections. Who dials and who writes is elsewhere."""

from broker.sessions.errors import SessionError
from broker.sessions.retained import RETAINED_COUNT_MAX, Batch, Missing, Retained

__all__ = ["RETAINED_COUNT_MAX", "Batch", "Missing", "Retained", "SessionError"]
