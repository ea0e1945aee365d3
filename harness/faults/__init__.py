"""Faults: what goes wrong in a run, on purpose and at a known time.

`grammar` reads them, and `kinds` is the table of all kinds with what each does.
"""

from harness.faults.grammar import RANDOM, Fault, FaultError
from harness.faults.kinds import BROKER, CLIENT, KINDS, LINK, SUBSCRIPTION, Field, Kind, Link, kind_of, parse

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
