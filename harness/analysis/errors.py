"""What can be wrong with what is to be analysed, for a person who can do something about it."""

try:
    from broker.errors import ConcordError as _Error
except ImportError:
    # On a cluster there is this package alone, and whoever started the job reads the error there.
    _Error = Exception  # type: ignore[misc, assignment]  # a name for one of two classes

__all__ = ["AnalysisError", "UnknownVerdictError"]


class AnalysisError(_Error):
    """The analysis itself could not run: no Spark, no such directory."""


class UnknownVerdictError(_Error):
    """The datasets do not allow a verdict; says which one, and why."""
