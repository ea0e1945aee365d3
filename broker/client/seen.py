"""Which events a subscription has had, so that it gets none again at another broker. No I/O.

Laws:

* Brokers deliver the ordered events of a publisher in their order, and the others in theirs: one number for
  each says which have come.
* `KNOWN_COUNT` publishers are known; beyond that the one that was seen first is forgotten, and what it has
  published may come again.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from broker.wire import origin_of

KNOWN_COUNT: Final = 100_000
"""About 20 MiB for a subscription that sees so many publishers; most see a few."""


@define(eq=False)
class SeenEvents:
    """The last number of each publisher, of its ordered events and of the others."""

    _last: dict[tuple[bytes, bool], int] = field(factory=dict)

    def is_new(self, frame: bytes) -> bool:
        """Note the event of a frame; return whether it comes behind all others of its publisher."""
        publisher, ordered, sequence = origin_of(frame)
        key = publisher, ordered
        last = self._last.get(key)
        if last is not None and sequence <= last:
            return False
        self._last[key] = sequence
        if last is None and len(self._last) > KNOWN_COUNT:
            del self._last[next(iter(self._last))]
        return True

    def note(self, publisher: str, *, ordered: bool, sequence: int) -> None:
        """Note that a publisher's events up to this one, ordered or not, have come before."""
        key = publisher.encode(), ordered
        self._last[key] = max(sequence, self._last.get(key, 0))

    def new_runs(self, frames: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        """Yield runs of new events, with the place of the first of each in `frames`."""
        run: list[bytes] = []
        for place, frame in enumerate(frames):
            if self.is_new(frame):
                run.append(frame)
            elif run:
                yield place - len(run), run
                run = []
        if run:
            yield len(frames) - len(run), run
