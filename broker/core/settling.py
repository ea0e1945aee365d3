"""R9: a subscription that has moved rides on a route that is there, and must not meet what it has had.

Where a subscription that has moved is suppressed, because something that was told stands for it, publications
may be on their way that it has been delivered by its old way. So a question goes along the routes of what
stands for it, and comes back behind all of them; until then its gate is closed.

Law: a question is answered once all neighbours that it was passed on to have answered, or are lost.
"""

from collections.abc import Iterable

from attrs import Factory, define

from broker.core.hops import Hop


@define(eq=False)
class _Question:
    asker: Hop
    number: int
    awaited: dict[tuple[Hop, int], None]


Answer = tuple[Hop, int]
"""Whom to answer, and the number of its question."""


@define(eq=False)
class Settling:
    """The questions that pass through one broker."""

    _questions: list[_Question] = Factory(list)

    def pass_on(self, asker: Hop, number: int, asked: Iterable[tuple[Hop, int]]) -> list[Answer]:
        """These neighbours have been asked in turn, under those numbers."""
        self._questions.append(_Question(asker, number, dict.fromkeys(asked)))
        return self._due()

    def answered(self, neighbour: Hop, number: int) -> list[Answer]:
        """A neighbour answers, maybe to one of these."""
        for question in self._questions:
            question.awaited.pop((neighbour, number), None)
        return self._due()

    def link_lost(self, link: Hop) -> list[Answer]:
        """Nobody waits for a lost link, and nobody there waits for an answer."""
        self._questions = [question for question in self._questions if question.asker is not link]
        for question in self._questions:
            for key in [key for key in question.awaited if key[0] is link]:
                del question.awaited[key]
        return self._due()

    def _due(self) -> list[Answer]:
        due = [question for question in self._questions if not question.awaited]
        if due:
            self._questions = [question for question in self._questions if question.awaited]
        return [(question.asker, question.number) for question in due]

    def __len__(self) -> int:
        return len(self._questions)
