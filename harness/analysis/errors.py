"""What can be wrong with what is to be analysed, for a person who can do something about it."""

from broker.errors import ConcordError

__all__ = ["AnalysisError", "UnknownVerdictError"]


class AnalysisError(ConcordError):
    """The analysis itself could not run: no Spark, no such directory."""


class UnknownVerdictError(ConcordError):
    """The datasets do not allow a verdict; says which one, and why."""
