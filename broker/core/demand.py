"""Whether any subscription asks for what a local publisher has advertised.

Laws.

1. A publisher is wanted while some filter in the tables overlaps its advertisement, wherever that filter's
   subscribers are. Subscriptions travel towards what they overlap, so the publisher's broker knows them all.
2. Filters are counted for each distinct advertisement when they come and go, never looked for: a publication
   costs nothing, a new filter one test for each distinct local advertisement.
3. Only the state at the end of a step counts: a publisher that was wanted only within one step is not
   notified.
4. Watches (`broker.core.interest`) are notified of the filters themselves, at no further test.
"""

from collections.abc import Collection, Iterable
from typing import ClassVar

from attrs import Factory, define

from broker.core.interest import InterestWatch
from broker.filters import Filter


@define(eq=False)
class Demand:
    """How many distinct filters overlap each local advertisement, and the demand last reported."""

    DERIVED: ClassVar = frozenset({"_watches", "watches_touched"})

    _contents: dict[str, Filter] = Factory(dict)
    _publishers: dict[Filter, dict[str, None]] = Factory(dict)
    _counts: dict[Filter, int] = Factory(dict)
    touched: dict[str, None] = Factory(dict)
    """Publishers whose demand may have changed."""
    _wanted: dict[str, None] = Factory(dict)
    _watches: dict[Filter, dict[str, InterestWatch]] = Factory(dict)
    watches_touched: dict[InterestWatch, None] = Factory(dict)
    """Watches that may have something to report."""

    def advertised(self, publisher: str, content: Filter, interests: Iterable[Filter]) -> None:
        """Add a local publisher's advertisement; `interests` are all distinct filters."""
        if content not in self._publishers:
            self._publishers[content] = {}
            self._counts[content] = sum(1 for each in interests if each.overlaps(content))
        self._publishers[content][publisher] = None
        self._contents[publisher] = content
        self.touched[publisher] = None

    def withdrawn(self, publisher: str) -> None:
        """Remove a local publisher."""
        content = self._contents.pop(publisher, None)
        if content is None:
            return
        self._wanted.pop(publisher, None)
        publishers = self._publishers[content]
        del publishers[publisher]
        if not publishers:
            del self._publishers[content], self._counts[content]
        self._unwatch(content, publisher)

    def watch(self, publisher: str, interests: Collection[Filter]) -> InterestWatch:
        """Follow the filters that overlap a local advertisement; `interests` are all distinct filters."""
        content = self._contents[publisher]
        watch = InterestWatch(publisher, content, interests)
        self._watches.setdefault(content, {})[publisher] = watch
        return watch

    def unwatch(self, publisher: str) -> None:
        """Follow them no longer."""
        self._unwatch(self._contents[publisher], publisher)

    def _unwatch(self, content: Filter, publisher: str) -> None:
        watches = self._watches.get(content, {})
        if (watch := watches.pop(publisher, None)) is not None:
            self.watches_touched.pop(watch, None)
            if not watches:
                del self._watches[content]

    def interest_came(self, interest: Filter) -> None:
        """Count a filter that has got its first entry."""
        self._count(interest, 1)

    def interest_went(self, interest: Filter) -> None:
        """Discount a filter that has lost its last entry."""
        self._count(interest, -1)

    def _count(self, interest: Filter, change: int) -> None:
        for content, publishers in self._publishers.items():
            if interest.overlaps(content):
                count = self._counts[content] = self._counts[content] + change
                assert count >= 0
                if count in (0, change):
                    self.touched.update(publishers)
                for watch in self._watches.get(content, {}).values():
                    (watch.came if change > 0 else watch.went)(interest)
                    self.watches_touched[watch] = None

    def is_wanted(self, publisher: str) -> bool:
        """Return whether any subscription overlaps what this local publisher has advertised."""
        return self._counts[self._contents[publisher]] > 0

    def news(self) -> list[tuple[str, bool]]:
        """Return the publishers whose demand has changed since the last call."""
        if not self.touched:
            return []
        touched, self.touched = self.touched, {}
        news = []
        for publisher in touched:
            if publisher not in self._contents:
                continue
            is_wanted = self.is_wanted(publisher)
            if is_wanted is not (publisher in self._wanted):
                news.append((publisher, is_wanted))
                if is_wanted:
                    self._wanted[publisher] = None
                else:
                    del self._wanted[publisher]
        return news
