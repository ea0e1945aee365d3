"""The questions for the past that are open at one broker, found by name and by who asked.

Law: finding a question takes no longer the more of them are open.
"""

from collections import Counter
from collections.abc import Iterator

from attrs import define, field

from broker.core.hops import Hop
from broker.replay import Merge


@define(eq=False)
class Question:
    """One question at one broker. `asker` is the link it came through, None if it was asked here."""

    id: str
    asker: Hop | None
    merge: Merge[Hop]
    unready: set[Hop]
    is_wanted: bool = False


@define(eq=False)
class Questions:
    """One broker's questions; what came through several links is a question of each."""

    _named: dict[str, dict[Hop | None, Question]] = field(factory=dict)
    _counts: Counter[Hop | None] = field(factory=Counter)

    def __len__(self) -> int:
        return self._counts.total()

    def __iter__(self) -> Iterator[Question]:
        for askers in self._named.values():
            yield from askers.values()

    def asked_by(self, asker: Hop | None) -> int:
        """Return how many came through that link."""
        return self._counts[asker]

    def add(self, question: Question) -> None:
        """Put a question beside the others; the same one is not there."""
        askers = self._named.setdefault(question.id, {})
        assert question.asker not in askers, "who asks again has ended the first"
        askers[question.asker] = question
        self._counts[question.asker] += 1

    def named(self, name: str) -> list[Question]:
        """Return the question of that name, as often as it was asked."""
        return list(self._named.get(name, {}).values())

    def get(self, name: str, asker: Hop | None) -> Question | None:
        """Return a question, if it is open."""
        return self._named.get(name, {}).get(asker)

    def pop(self, name: str, asker: Hop | None) -> Question | None:
        """Remove a question; return it if it was open."""
        question = self._named.get(name, {}).pop(asker, None)
        if question is not None:
            self._counts[asker] -= 1
            if not self._counts[asker]:
                del self._counts[asker]
            if not self._named[name]:
                del self._named[name]
        return question
