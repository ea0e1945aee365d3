"""The verdict on one axiom, with witnesses that are sentences."""

from typing import Final

from attrs import frozen

WITNESSES_MAX: Final = 5
"""Witnesses per verdict. Counts are complete; nobody reads a hundred witnesses."""


@frozen
class PromiseVerdict:
    """Whether an axiom holds: true, false, or None for undetermined.

    `violations` counts the violations; `open` the operations that are owed and may still follow, in a trace
    that does not end at rest. `witnesses` are sentences about the first of these.
    """

    axiom: str
    outcome: bool | None
    violations: int = 0
    open: int = 0
    witnesses: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The outcome as it stands in a table."""
        return {True: "true", False: "false", None: "undetermined"}[self.outcome]

    def __str__(self) -> str:
        counts = {True: "", False: f" ({self.violations} times)", None: f" ({self.open} owed, not at rest)"}
        return " ".join((f"{self.axiom}: {self.word}{counts[self.outcome]}", *self.witnesses[:1]))


def verdict_on(axiom: str, violated: list[str], still_open: list[str]) -> PromiseVerdict:
    """Return the verdict: violated if there is a violation, else undetermined if an operation is open."""
    outcome = False if violated else None if still_open else True
    return PromiseVerdict(
        axiom, outcome, len(violated), len(still_open), tuple((violated or still_open)[:WITNESSES_MAX])
    )
