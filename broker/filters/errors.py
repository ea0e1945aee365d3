"""Errors of filters, defined once for the parser and the algebra.

Law: the text of an error is one line of limited length for every filter.
"""

from typing import Final

from broker.errors import ConcordError

SIZE = "size"
SYNTAX = "syntax"
LEVELS = "levels"
CONJUNCTIONS = "conjunctions"
PARTS = "parts"
STEPS = "steps"
NAME = "name"
LITERAL = "literal"
PREDICATE = "predicate"
UNREADABLE = "unreadable"

REASON_LENGTH: Final = 900
"""Characters of a reason: what this package words is shorter with two names of full length, so only what
comes from elsewhere is cut."""

SOURCE_LENGTH: Final = 40
"""Characters of the filter that an error repeats: enough to find the position, whose column it names too."""


class FilterError(ConcordError):
    """A text that is no filter, or a filter beyond a limit.

    `code` is one of this module's constants, `column` counts characters from 1, `reason` is what was
    wrong there and what to write instead. `cost` is how many steps it took to find out.
    """

    def __init__(self, code: str, column: int, reason: str, cost: int = 0) -> None:
        reason = legible(reason, REASON_LENGTH)
        super().__init__(f"column {column}: {reason}")
        self.code = code
        self.column = column
        self.reason = reason
        self.cost = cost

    def __reduce__(self) -> tuple[type["FilterError"], tuple[str, int, str, int]]:
        """Make the error survive pickling, which would otherwise call it with the message alone."""
        return (FilterError, (self.code, self.column, self.reason, self.cost))


def legible(text: str, length: int) -> str:
    """Return the text on one line and cut to that length, with escapes for what cannot be printed."""
    cut = text[: length + 1]
    if not cut.isprintable():
        cut = "".join(
            character if character.isprintable() else character.encode("unicode_escape").decode()
            for character in cut
        )
    return cut if len(cut) <= length else cut[: length - 3] + "..."
