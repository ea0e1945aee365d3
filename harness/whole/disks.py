"""The journal of one simulated broker: its records, how many are on disk, and the last snapshot.

Law: a crash keeps everything that was synced, and a few records behind that or none; a snapshot survives if
every record in it is synced.
"""

from attrs import define, field


@define(eq=False)
class Disk:
    """The records and the snapshot of a broker. Numbers count records since the first run."""

    incarnation: str
    records: list[bytes] = field(factory=list, init=False)
    synced: int = field(default=0, init=False)
    first: int = field(default=0, init=False)
    is_syncing: bool = field(default=False, init=False)
    _snapshot: tuple[bytes, int] | None = field(default=None, init=False)
    _next: tuple[bytes, int] | None = field(default=None, init=False)

    @property
    def appended(self) -> int:
        """Return the number of the last record."""
        return len(self.records)

    def append(self, records: list[bytes]) -> None:
        """Append records."""
        self.records += records

    def sync(self, upto: int) -> None:
        """Note that all records up to this one are on disk."""
        self.synced = max(self.synced, upto)
        if self._next is not None and self._next[1] <= self.synced:
            self._snapshot, self._next = self._next, None

    def keep_snapshot(self, content: bytes) -> None:
        """Write a snapshot of the state after all records."""
        self._next = content, self.appended
        self.sync(self.synced)

    @property
    def unsynced(self) -> int:
        """Return how many records a crash may lose."""
        return self.appended - self.synced

    def crash(self, surviving: int) -> None:
        """Lose the records that were not synced, except for the first `surviving` of them."""
        kept = self.synced + min(surviving, self.unsynced)
        del self.records[kept:]
        self.synced = self.first = kept
        self.is_syncing = False
        self._next = None

    def recovered(self) -> tuple[bytes | None, list[bytes]]:
        """Return the snapshot and the records behind it."""
        if self._snapshot is None:
            return None, self.records
        content, upto = self._snapshot
        return content, self.records[upto:]
