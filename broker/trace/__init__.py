"""Traces: what happens while it happens, as Parquet files that anything can read.

`rows` writes rows of any dataset, `counters` what a broker counts.
"""

from broker.trace.rows import FLOAT, FLUSH_EVERY_S, TEXT, TRUTH, WHOLE, Columns, RowFiles, prepare

__all__ = ["FLOAT", "FLUSH_EVERY_S", "TEXT", "TRUTH", "WHOLE", "Columns", "RowFiles", "prepare"]
