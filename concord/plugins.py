"""The interface of ordering plugins, for those who write one.

An `OrderingFactory` is found by its name in the entry-point group `concord.ordering`; `names` has all that
are installed. The docstrings of the classes say what a broker calls and what a plugin may answer.
"""

from ordering.interface import (
    ALONE,
    INTERFACE_VERSION,
    MARK_LIMIT,
    Advertisement,
    Audited,
    Blocked,
    Context,
    Emission,
    Event,
    ForeignNoteError,
    Hops,
    Interest,
    Lifting,
    Measures,
    NoTables,
    Note,
    OptionError,
    Ordering,
    OrderingFactory,
    Route,
    Subscription,
    Tables,
    TakesRuns,
)
from ordering.plugins import IncompatibleOrderingError, UnknownOrderingError, load, names

__all__ = [
    "ALONE",
    "INTERFACE_VERSION",
    "MARK_LIMIT",
    "Advertisement",
    "Audited",
    "Blocked",
    "Context",
    "Emission",
    "Event",
    "ForeignNoteError",
    "Hops",
    "IncompatibleOrderingError",
    "Interest",
    "Lifting",
    "Measures",
    "NoTables",
    "Note",
    "OptionError",
    "Ordering",
    "OrderingFactory",
    "Route",
    "Subscription",
    "Tables",
    "TakesRuns",
    "UnknownOrderingError",
    "load",
    "names",
]
