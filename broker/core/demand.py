"""Whether anybody wants what a local publisher has advertised.

Laws.

1. A publisher is wanted while some filter in the tables overlaps its advertisement, wherever that filter's
   subscribers are. Subscriptions travel towards what they overlap, so the publisher's broker knows them all.
2. Filters are counted for each distinct advertisement when they come and go, never looked for: a publication
   costs nothing, a new filter one test for each distinct local advertisement.
3. Only what is so in the end counts: a publisher that was wanted for a moment within one step hears nothing.
"""

from collections.abc import Iterable

from attrs import Factory, define

from broker.filters import Filter


@define(eq=False)
class Demand:
    """How many distinct filters overlap each local advertisement, and who has been told what."""

    _contents: dict[str, Filter] = Factory(dict)
    _publishers: dict[Filter, dict[str, None]] = Factory(dict)
    _counts: dict[Filter, int] = Factory(dict)
    touched: dict[str, None] = Factory(dict)
    """Publishers about whom there may be news."""
    _wanted: dict[str, None] = Factory(dict)

    def advertised(self, publisher: str, content: Filter, interests: Iterable[Filter]) -> None:
        """A local publisher has advertised; `interests` are the distinct filters there are."""
        if content not in self._publishers:
            self._publishers[content] = {}
            self._counts[content] = sum(1 for each in interests if each.overlaps(content))
        self._publishers[content][publisher] = None
        self._contents[publisher] = content
        self.touched[publisher] = None

    def withdrawn(self, publisher: str) -> None:
        """A local publisher is gone."""
        content = self._contents.pop(publisher)
        self._wanted.pop(publisher, None)
        publishers = self._publishers[content]
        del publishers[publisher]
        if not publishers:
            del self._publishers[content], self._counts[content]

    def interest_came(self, interest: Filter) -> None:
        """There is a first entry with this filter."""
        self._count(interest, 1)

    def interest_went(self, interest: Filter) -> None:
        """There is no entry with this filter any more."""
        self._count(interest, -1)

    def _count(self, interest: Filter, change: int) -> None:
        for content, publishers in self._publishers.items():
            if interest.overlaps(content):
                count = self._counts[content] = self._counts[content] + change
                assert count >= 0
                if count in (0, change):
                    self.touched.update(publishers)

    def is_wanted(self, publisher: str) -> bool:
        """Whether anybody wants what this local publisher has advertised."""
        return self._counts[self._contents[publisher]] > 0

    def news(self) -> list[tuple[str, bool]]:
        """Return who is wanted now and was not when last asked, or the other way round."""
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
