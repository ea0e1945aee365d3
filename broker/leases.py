"""The times of leases, and whether they can work together.

A lease runs out `lease_s` after it was last renewed; it is renewed every `refresh_s`. What is renewed in time
must not run out on the way: a renewal may be slower than the one before by all that delays differ. Since each
broker renews on each of its links by itself, the way is one link long, and the diameter of the overlay does
not matter here; it matters for how long garbage may travel before the last of it has expired.
"""

from typing import Final

from attrs import field, frozen

from broker.errors import ConcordError

SWEEPS: Final = 4
"""A lease is looked at so often while it lasts: one that has run out is gone a quarter later."""

REFRESHES: Final = 4
"""A lease is renewed so often while it lasts, unless something else is asked for."""

SKEW_PART: Final = 0.01
"""Clocks of two machines go at different speeds; this is a hundred times more than real ones do."""

ROUND_TRIP: Final = 3
"""Where two brokers differ, one renews, the other asks, and the first tells: so many times over the link."""


class LeaseError(ConcordError):
    """Leases cannot work with these times."""


@frozen
class Terms:
    """What was agreed on. `delay_max_s` is the longest that a message may be on a link that is not lost.

    Raises:
        LeaseError: a lease could run out although it is renewed, or be mended too late.
    """

    lease_s: float
    delay_max_s: float
    delay_min_s: float = 0.0
    refresh_s: float = field()

    @refresh_s.default
    def _refresh_s(self) -> float:
        return self.lease_s / REFRESHES

    def __attrs_post_init__(self) -> None:
        needed_s = self.refresh_s + ROUND_TRIP * self.delay_max_s + self.skew_s
        if self.lease_s <= needed_s:
            raise LeaseError(
                f"--lease {self.lease_s:g}: a lease must last longer than {needed_s:g} s, which is the time "
                f"between two renewals ({self.refresh_s:g} s), three times the longest delay of a link "
                f"({self.delay_max_s:g} s, as --link-timeout says) and what clocks may differ by: "
                "make the lease longer, or renew more often, or give links up sooner"
            )

    @property
    def skew_s(self) -> float:
        """By how much two clocks may differ while a lease lasts."""
        return self.lease_s * SKEW_PART

    @property
    def sweep_s(self) -> float:
        """How often leases are looked at."""
        return self.lease_s / SWEEPS

    def recovery_s(self, hops: int) -> float:
        """When everything is right again after the last corruption, in an overlay of that diameter."""
        return hops * self.delay_max_s + self.lease_s + self.sweep_s

    def printed_s(self, hops: int) -> float:
        """The time that the literature gives for it; garbage that travels on can take longer."""
        return self.delay_max_s + hops * (self.delay_max_s - self.delay_min_s) + self.lease_s
