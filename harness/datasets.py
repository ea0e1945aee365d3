"""The datasets that runs and studies leave: each a folder of Parquet files, with these columns.

Nothing is imported here: the analysis takes this along to clusters that have nothing else of ours.
"""

from collections.abc import Mapping
from typing import Final

TEXT: Final = "string"
WHOLE: Final = "int64"
FLOAT: Final = "float64"
TRUTH: Final = "bool_"
"""Types of columns, as Arrow calls them."""

Columns = Mapping[str, str]
"""The columns of a dataset in their order, each with its type."""

RUN: Final[Mapping[str, Columns]] = {
    "publications": {
        "publisher": TEXT,
        "sequence": WHOLE,
        "broker": TEXT,
        "ordered": TRUTH,
        "published_ns": WHOLE,
    },
    "deliveries": {
        "subscriber": TEXT,
        "broker": TEXT,
        "position": WHOLE,
        "publisher": TEXT,
        "sequence": WHOLE,
        "delivered_ns": WHOLE,
    },
    "matches": {"subscriber": TEXT, "publisher": TEXT, "sequence": WHOLE},
    "brokers": {"broker": TEXT, "at_ns": WHOLE, "counter": TEXT, "value": FLOAT},
    "faults": {"at_ns": WHOLE, "kind": TEXT, "target": TEXT, "detail": TEXT},
    # What a publisher had read before a publication. Publishers of runs read nothing: there are no rows.
    "seen": {"publisher": TEXT, "sequence": WHOLE, "subscriber": TEXT, "count": WHOLE},
    "subscriptions": {"subscriber": TEXT, "broker": TEXT, "ordered": TRUTH},
}
"""The datasets of a run of an overlay."""

_POINT: Final = {"study": TEXT, "consumers": WHOLE}

STUDY: Final[Mapping[str, Columns]] = {
    # How many remote entries a broker has, with so many subscriptions active in the whole overlay.
    "tables": {
        **_POINT,
        "subscriptions": WHOLE,
        "broker": TEXT,
        "level": WHOLE,
        "is_local": TRUTH,
        "entries": WHOLE,
    },
    # What that should be, worked out from scratch; missing where the strategy leaves it open.
    "expected": {**_POINT, "broker": TEXT, "entries": WHOLE},
    # A subscription that came or went, and how many messages between brokers that took.
    "changes": {
        **_POINT,
        "round": WHOLE,
        "broker": TEXT,
        "is_added": TRUTH,
        "messages": WHOLE,
        "acknowledgements": WHOLE,
    },
    # A quote, over how many links it went and needed to go, and how many subscriptions got and wanted it.
    "events": {
        **_POINT,
        "stock": WHOLE,
        "price": FLOAT,
        "messages": WHOLE,
        "needed": WHOLE,
        "delivered": WHOLE,
        "wanted": WHOLE,
    },
}
"""What a study of routing strategies leaves, by the consumers at each broker."""
