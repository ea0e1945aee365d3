"""Judges a history by every promise."""

from ordering.verdicts.acyclic import acyclic
from ordering.verdicts.causal import causal
from ordering.verdicts.completeness import completeness
from ordering.verdicts.history import History
from ordering.verdicts.integrity import integrity
from ordering.verdicts.local import local
from ordering.verdicts.numbering import number
from ordering.verdicts.pairwise import pairwise
from ordering.verdicts.publisher import publisher
from ordering.verdicts.verdict import Reports, Verdicts


def check(history: History) -> Verdicts:
    """Judge every promise. Raises `HistoryError` if the history contradicts itself."""
    numbered = number(history)
    return Verdicts(
        pairwise=pairwise(numbered),
        publisher=publisher(numbered),
        causal=causal(numbered),
        integrity=integrity(numbered),
        completeness=completeness(numbered),
    )


def report(history: History) -> Reports:
    """Report what is not promised: whether the order is acyclic, and whether equal audiences agree."""
    numbered = number(history)
    return Reports(acyclic=acyclic(numbered), local=local(numbered))
