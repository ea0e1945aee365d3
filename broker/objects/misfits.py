"""What does not fit: a value with its place in an object or in an event."""

from typing import Final

SHOWN_LENGTH: Final = 60
"""Characters of a value in an error: enough to recognise it."""


class MisfitError(Exception):
    """A value that does not fit its field. `place` is the way to it, `reason` what was expected."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"

    def within(self, place: str) -> "MisfitError":
        """Return the error with a place before its own: `.field`, `[0]`, or the name of a class."""
        self.place = place + self.place
        return self


def misfit(expected: str, value: object) -> MisfitError:
    """Return the error for a value in the place of something else."""
    shown = repr(value)
    if len(shown) > SHOWN_LENGTH:
        shown = f"{shown[:SHOWN_LENGTH]}..."
    return MisfitError(f"expected {expected}, got {shown}")
