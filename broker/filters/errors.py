"""What can be wrong with a filter, said once for the parser and the algebra."""

from broker.errors import ConcordError

SIZE = "size"
SYNTAX = "syntax"
LEVELS = "levels"
CONJUNCTIONS = "conjunctions"
NAME = "name"
LITERAL = "literal"
PREDICATE = "predicate"


class FilterError(ConcordError):
    """A text that is no filter, or a filter beyond a limit.

    `code` is one of this module's constants, `column` counts characters from 1, `reason` says what was
    wrong there and what to write instead.
    """

    def __init__(self, code: str, column: int, reason: str) -> None:
        super().__init__(f"column {column}: {reason}")
        self.code = code
        self.column = column
        self.reason = reason

    def __reduce__(self) -> tuple[type["FilterError"], tuple[str, int, str]]:
        """Make the error survive pickling, which would otherwise call it with the message alone."""
        return (FilterError, (self.code, self.column, self.reason))
