"""The last publications of local publishers, cached as the bytes they came in.

Laws.

1. What was published together is cached and forgotten together: caching costs a join of bytes, and nothing is
   decoded before a question is asked.
2. The cache never exceeds its limits; the oldest run goes first, of any publisher. A publisher that has left
   is forgotten by the same limits and no sooner.
3. Each run knows how late its publisher had come before it. So the time of a publication (`Item`) is fixed
   when it is cached, and is the same for every question, independent of what has been forgotten meanwhile.
4. Runs that are forgotten while a question is open are retained for it, within limits
   (`broker.replay.retention`).
5. There is no clock here: the caller decides what is too old.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from attrs import define, field

from broker.history_events import ASK, TO
from broker.messages import Publication
from broker.replay.kept import CachedRun
from broker.replay.retention import Retention
from broker.wire import plainly_joined

NOTHING_CACHED_NS: Final = 2**64 - 1
"""Later than any event: the least time of nothing."""

Columns = tuple[int, list[int], list[str], list[int], list[int], list[int], list[bytes], list[int]]
"""How many runs are retained and not cached any more; then the fields of all runs, these first."""


@define(eq=False)
class _Chain:
    """How many runs of a publisher are cached, and the time of its last one."""

    runs: int = 0
    peak_ns: int = 0


@define(eq=False)
class Cache:
    """The recent past of one broker's publishers; without limits nothing is cached.

    `low_ns` is the least time of what was cached since it was set anew (`broker.replay.positions`).
    """

    size_bytes_max: int = 0
    count_max: int = 0
    size_bytes: int = 0
    count: int = 0
    next_number: int = 0
    low_ns: int = NOTHING_CACHED_NS
    retention: Retention = field(factory=Retention)
    _runs: deque[CachedRun] = field(factory=deque, repr=False)
    _chains: dict[str, _Chain] = field(factory=dict, repr=False)

    @property
    def is_on(self) -> bool:
        """Return whether anything is cached."""
        return self.size_bytes_max > 0

    def bound(self, size_bytes_max: int, count_max: int) -> None:
        """Set the limits, and forget what exceeds them."""
        self.size_bytes_max, self.count_max = size_bytes_max, count_max
        self.retention.bound(size_bytes_max, count_max)
        self._shrink()

    def keep(self, publisher: str, publications: Sequence[Publication]) -> None:
        """Cache publications that were published together, unless they are of a replay themselves."""
        if ASK in publications[0].attributes or TO in publications[0].attributes:
            return
        chain = self._chains.get(publisher)
        if chain is None:
            chain = self._chains[publisher] = _Chain()
        count = len(publications)
        floor_ns = chain.peak_ns
        first_ns = max(publications[0].published_ns, floor_ns)
        self.low_ns = min(self.low_ns, first_ns)
        if count == 1:
            frames, latest_ns = publications[0].frame, publications[0].published_ns
        else:
            frames, latest_ns = plainly_joined(publications)
        peak_ns = max(latest_ns, floor_ns)
        chain.peak_ns = peak_ns
        chain.runs += 1
        self._runs.append(CachedRun(self.next_number, publisher, count, floor_ns, peak_ns, frames))
        self.next_number += 1
        self.count += count
        self.size_bytes += len(frames)
        if self.size_bytes > self.size_bytes_max or self.count > self.count_max:
            self._shrink()

    def _shrink(self) -> None:
        while self.size_bytes > self.size_bytes_max or self.count > self.count_max:
            self._forget(self._runs.popleft())

    def _forget(self, run: CachedRun) -> None:
        self.count -= run.count
        self.size_bytes -= len(run.frames)
        chain = self._chains[run.publisher]
        chain.runs -= 1
        if not chain.runs:
            del self._chains[run.publisher]
        self.retention.retain(run)

    def has_before(self, at_ns: int) -> bool:
        """Return whether a cached run is older than this."""
        return any(run.peak_ns < at_ns for run in self._runs)

    def forget_before(self, at_ns: int) -> None:
        """Forget the runs that are older than this."""
        runs, self._runs = self._runs, deque()
        for run in runs:
            if run.peak_ns < at_ns:
                self._forget(run)
            else:
                self._runs.append(run)

    @property
    def runs(self) -> Sequence[CachedRun]:
        """Return the cached runs, in the order in which they came."""
        return self._runs

    def columns(self) -> Columns:
        """Return the cached and the retained runs, as plain values, for a snapshot."""
        runs = [*self.retention.runs, *self._runs]
        return (
            len(self.retention.runs),
            [run.number for run in runs],
            [run.publisher for run in runs],
            [run.count for run in runs],
            [run.floor_ns for run in runs],
            [run.peak_ns for run in runs],
            [run.frames for run in runs],
            [run.forgotten for run in runs],
        )

    def restore(self, columns: Columns) -> None:
        """Replace all runs with these."""
        retained_count, *kept = columns
        runs = [CachedRun(*fields) for fields in zip(*kept, strict=True)]
        self._runs = deque(runs[retained_count:])
        self._chains.clear()
        for run in self._runs:
            chain = self._chains.setdefault(run.publisher, _Chain())
            chain.runs += 1
            chain.peak_ns = run.peak_ns
        self.retention.restore(runs[:retained_count], self._runs)
