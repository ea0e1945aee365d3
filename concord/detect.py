"""Patterns of events: `A as a then B as b where a.id == b.id within 5s`.

`detect` finds them in what a client subscribes to; a `Detector` in any deliveries, those of `concord.sync`
too.
"""

from broker.patterns.conditions import PatternError
from broker.patterns.detecting import Detection, Found, detect
from broker.patterns.language import parse_pattern
from broker.patterns.machine import PARTIALS_LIMIT, Detector, Evicted, PatternMatch
from broker.patterns.pattern import Pattern

__all__ = [
    "PARTIALS_LIMIT",
    "Detection",
    "Detector",
    "Evicted",
    "Found",
    "Pattern",
    "PatternError",
    "PatternMatch",
    "detect",
    "parse_pattern",
]
