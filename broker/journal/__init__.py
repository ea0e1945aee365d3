"""A broker's memory on disk: every input in order, and a snapshot of the state now and then.

Files of our own with a checksum per batch, and not an embedded database. What is needed is little: append,
sync, read once from the beginning. And a torn write at the end of the file has to be distinguished
from damage: databases cut their logs at the first bad frame, whatever it is. Measured with one
sync per batch, against SQLite (write-ahead log, synchronous=FULL, one row per batch) in the same directory:

| batch | SQLite, p50 | this, p50 | SQLite, processor | this, processor |
|---|---|---|---|---|
| 300 bytes | 0.19 ms | 0.10 ms | 75 us | 38 us |
| 64 KiB | 0.18 ms | 0.12 ms | 181 us | 53 us |
| 1 MiB | 1.20 ms | 0.41 ms | 2,051 us | 241 us |

`python -m harness.benchmarks.stores` measures it again.
"""

from broker.journal.errors import JournalError
from broker.journal.journal import Journal
from broker.journal.opening import open_journal

__all__ = ["Journal", "JournalError", "open_journal"]
