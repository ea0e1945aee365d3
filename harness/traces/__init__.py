"""A run's directory: its datasets, and how their many small files become few.

Whoever writes while the run goes on uses `broker.trace`; this says what is written, and tidies up afterwards.
"""

from harness.traces.datasets import (
    BROKERS,
    DELIVERIES,
    FAULTS,
    MATCHES,
    PUBLICATIONS,
    SEEN,
    SUBSCRIPTIONS,
    Dataset,
)
from harness.traces.merging import merge

__all__ = [
    "BROKERS",
    "DELIVERIES",
    "FAULTS",
    "MATCHES",
    "PUBLICATIONS",
    "SEEN",
    "SUBSCRIPTIONS",
    "Dataset",
    "merge",
]
