"""Faults: what goes wrong in a run, on purpose and at a known time.

`grammar` reads them, `kinds` says what a kind is, `known` is the table of them, and each kind is a file.
"""

from harness.faults.grammar import RANDOM, Fault, FaultError
from harness.faults.kinds import BROKER, CLIENT, LINK, SUBSCRIPTION, Field, Kind, Link
from harness.faults.known import KINDS, kind_of, parse

__all__ = [
    "BROKER",
    "CLIENT",
    "KINDS",
    "LINK",
    "RANDOM",
    "SUBSCRIPTION",
    "Fault",
    "FaultError",
    "Field",
    "Kind",
    "Link",
    "kind_of",
    "parse",
]
