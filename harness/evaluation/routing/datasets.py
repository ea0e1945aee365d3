"""What a study leaves, as Parquet files. Every row begins with the study and the consumers at each broker."""

from typing import Final

from broker.trace import FLOAT, TEXT, TRUTH, WHOLE
from harness.traces import Dataset

__all__ = ["CHANGES", "DATASETS", "EVENTS", "EXPECTED", "TABLES"]

_POINT: Final = {"study": TEXT, "consumers": WHOLE}

TABLES: Final = Dataset(
    "tables",
    {**_POINT, "subscriptions": WHOLE, "broker": TEXT, "level": WHOLE, "is_local": TRUTH, "entries": WHOLE},
)
"""How many remote entries a broker has, with so many subscriptions active in the whole overlay."""

EXPECTED: Final = Dataset("expected", {**_POINT, "broker": TEXT, "entries": WHOLE})
"""What that should be, worked out from scratch; missing where the strategy leaves it open."""

CHANGES: Final = Dataset(
    "changes",
    {
        **_POINT,
        "round": WHOLE,
        "broker": TEXT,
        "is_added": TRUTH,
        "messages": WHOLE,
        "acknowledgements": WHOLE,
    },
)
"""A subscription that came or went, and how many messages between brokers that took."""

EVENTS: Final = Dataset(
    "events",
    {
        **_POINT,
        "stock": WHOLE,
        "price": FLOAT,
        "messages": WHOLE,
        "needed": WHOLE,
        "delivered": WHOLE,
        "wanted": WHOLE,
    },
)
"""A quote, over how many links it went and needed to go, and how many subscriptions got and wanted it."""

DATASETS: Final = (TABLES, EXPECTED, CHANGES, EVENTS)
