"""The result of a comparison: the figures of every run, and its verdicts; as a table."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

import attrs

from harness.peers.measurement import Figures
from harness.tables import NONE, Column


@attrs.frozen
class PeerVerdict:
    """The verdicts of Spark on the deliveries of a run, paced and flat out."""

    pairs: int
    disagreeing: int
    """Pairs of subscribers that were delivered two events in different order."""
    missing: int
    reason: str = ""
    """Why there is no verdict, if there is none."""


@attrs.frozen
class PeerResult:
    """All runs of one system with one shape."""

    shape: str
    peer: str
    runs: Sequence[Figures]
    verdicts: Sequence[PeerVerdict] = ()

    def middle(self, figure: Callable[[Figures], float]) -> float:
        """Return the median of a figure over the runs."""
        return median(map(figure, self.runs))

    @property
    def deliveries_per_s(self) -> float:
        """Return the median of what all subscribers together were delivered in a second."""
        return self.middle(lambda run: run.deliveries_per_s)

    @property
    def spread(self) -> str:
        """Return the lowest and the highest of those, in thousands."""
        rates = [run.deliveries_per_s / 1e3 for run in self.runs]
        return f"{min(rates):,.0f} to {max(rates):,.0f}"

    @property
    def disagreement(self) -> str:
        """Return how many pairs of subscribers disagree, over all runs."""
        known = [each for each in self.verdicts if not each.reason]
        if not known:
            return NONE
        return f"{sum(each.disagreeing for each in known)} of {sum(each.pairs for each in known)}"

    @property
    def missing(self) -> str:
        """Return how many deliveries are missing, over all runs."""
        known = [each for each in self.verdicts if not each.reason]
        return f"{sum(each.missing for each in known):,}" if known else NONE


def _median(figure: Callable[[Figures], float], digits: int = 2) -> Callable[[PeerResult], str]:
    return lambda result: f"{result.middle(figure):,.{digits}f}"


COLUMNS: Final[Sequence[Column[PeerResult]]] = (
    ("publishers x subscribers", lambda each: each.shape),
    ("system", lambda each: each.peer),
    ("deliveries/s", lambda each: f"{each.deliveries_per_s:,.0f}"),
    ("thousands, from to", lambda each: each.spread),
    ("p50 ms", _median(lambda run: run.p50_ms)),
    ("p99 ms", _median(lambda run: run.p99_ms)),
    ("us publishers", _median(lambda run: run.work.publishers_us)),
    ("us servers", _median(lambda run: run.work.servers_us)),
    ("us subscribers", _median(lambda run: run.work.subscribers_us)),
    ("pairs that disagree", lambda each: each.disagreement),
    ("missing", lambda each: each.missing),
)
"""Microseconds are processor time per delivery, by who used it."""
