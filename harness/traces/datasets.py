"""The datasets of a run's directory: the folder of each, and its columns."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from broker.trace import TEXT, TRUTH, WHOLE, Columns, RowFiles, counters

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BROKERS", "DELIVERIES", "FAULTS", "MATCHES", "PUBLICATIONS", "SEEN", "SUBSCRIPTIONS", "Dataset"]


@attrs.frozen
class Dataset:
    """A folder of Parquet files."""

    name: str
    columns: Columns

    def schema(self) -> "pa.Schema":
        """Return its columns as Parquet knows them."""
        import pyarrow as pa  # noqa: PLC0415 - heavy, and only who writes pays for it

        types = ((name, getattr(pa, kind)()) for name, kind in self.columns.items())
        return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types])

    def folder(self, run: Path) -> Path:
        """Return where a run has it."""
        return run / self.name

    def writer(self, run: Path, stem: str) -> RowFiles:
        """Return what writes rows to it; `stem` names the writer."""
        return RowFiles(self.folder(run), stem, self.columns)


PUBLICATIONS: Final = Dataset(
    "publications",
    {"publisher": TEXT, "sequence": WHOLE, "broker": TEXT, "ordered": TRUTH, "published_ns": WHOLE},
)
DELIVERIES: Final = Dataset(
    "deliveries",
    {
        "subscriber": TEXT,
        "broker": TEXT,
        "position": WHOLE,
        "publisher": TEXT,
        "sequence": WHOLE,
        "delivered_ns": WHOLE,
    },
)
MATCHES: Final = Dataset("matches", {"subscriber": TEXT, "publisher": TEXT, "sequence": WHOLE})
BROKERS: Final = Dataset(counters.FOLDER, counters.COLUMNS)
FAULTS: Final = Dataset("faults", {"at_ns": WHOLE, "kind": TEXT, "target": TEXT, "detail": TEXT})
SEEN: Final = Dataset("seen", {"publisher": TEXT, "sequence": WHOLE, "subscriber": TEXT, "count": WHOLE})
"""What a publisher had read before a publication. Publishers of runs read nothing: there are no rows."""
SUBSCRIPTIONS: Final = Dataset("subscriptions", {"subscriber": TEXT, "broker": TEXT, "ordered": TRUTH})
