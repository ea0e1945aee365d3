"""For how long somebody has been waited for, over restarts.

Laws.

1. Time is told to the station like everything else: so much has passed while the broker was up, so much while
   it was down, and what a clock on the wall says. Nothing here reads a clock.
2. Who left remembers what the sums were then. So what passes is told once for everybody who is away.
3. For links, publishers and plain subscriptions the time counts in which the broker was up: while it is down
   nobody can come back. The age of a durable subscription counts all the time.
"""

from typing import Final

from attrs import define, frozen

MS: Final = 1000


@frozen
class Away:
    """What the sums were when somebody left."""

    awake_ms: int
    asleep_ms: int


@define(eq=False)
class Waited:
    """The sums, since the broker's first start; `told_at_ms` is the wall's time when they were told last."""

    awake_ms: int = 0
    asleep_ms: int = 0
    told_at_ms: int = 0

    def passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """So much more has passed."""
        self.awake_ms += awake_ms
        self.asleep_ms += asleep_ms
        self.told_at_ms = at_ms

    def now(self) -> Away:
        """Somebody leaves."""
        return Away(self.awake_ms, self.asleep_ms)

    def awake_s(self, since: Away) -> float:
        """How long the broker has been up since then."""
        return (self.awake_ms - since.awake_ms) / MS

    def asleep_s(self, since: Away) -> float:
        """How long it has been down since then."""
        return (self.asleep_ms - since.asleep_ms) / MS
