"""The counters of the shell, per batch and not per publication; `broker.server.metrics` shows them."""

from attrs import define


@define(eq=False)
class Totals:
    """Sums since the start of the broker."""

    publications_in: int = 0
    deliveries: int = 0
    dropped: int = 0
    slow: int = 0
    ended_slow: int = 0
    refused: int = 0
    rested: int = 0
    connections: int = 0
    lost_links: int = 0
    gaps: int = 0
    defects: int = 0
    core_s: float = 0.0
    matched: int = 0
    matching_s: float = 0.0
    closed_sent_bytes: int = 0
    waiting_s: float = 0.0
    """How long publications were pending in the ordering plugin, all together."""
    waiting_count: int = 0
    """How many were pending when that was counted last."""
    _waiting_since_s: float = 0.0

    def waits(self, count: int, now_s: float) -> None:
        """Count how long publications have been pending until now; from now on so many are."""
        self.waiting_s += self.waiting_count * (now_s - self._waiting_since_s)
        self.waiting_count, self._waiting_since_s = count, now_s
