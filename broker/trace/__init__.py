"""Traces: counters and events of a run as Parquet files.

`rows` writes rows of any dataset, `counters` what a broker counts.
"""

from broker.trace.rows import FLOAT, FLUSH_EVERY_S, TEXT, TRUTH, WHOLE, Columns, RowFiles, prepare

__all__ = ["FLOAT", "FLUSH_EVERY_S", "TEXT", "TRUTH", "WHOLE", "Columns", "RowFiles", "prepare"]
