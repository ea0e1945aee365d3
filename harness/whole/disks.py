"""The journal of one simulated broker: its records, how many are on disk, and the last snapshot.

Law: a crash keeps everything that was synced, and a few records behind that or none; a snapshot is there
when it was written and every record in it is synced.
"""

from attrs import define, field


@define(eq=False)
class Disk:
    """What a broker has written. Numbers count records since the first run."""

    incarnation: str
    records: list[bytes] = field(factory=list, init=False)
    synced: int = field(default=0, init=False)
    first: int = field(default=0, init=False)
    is_syncing: bool = field(default=False, init=False)
    _snapshot: tuple[bytes, int] | None = field(default=None, init=False)
    _next: tuple[bytes, int] | None = field(default=None, init=False)

    @property
    def appended(self) -> int:
        """The number of the last record."""
        return len(self.records)

    def append(self, records: list[bytes]) -> None:
        """Take records."""
        self.records += records

    def sync(self, upto: int) -> None:
        """Everything up to this record is on disk."""
        self.synced = max(self.synced, upto)
        if self._next is not None and self._next[1] <= self.synced:
            self._snapshot, self._next = self._next, None

    def keep_snapshot(self, content: bytes) -> None:
        """Keep a snapshot of the state after all records."""
        self._next = content, self.appended
        self.sync(self.synced)

    @property
    def unsynced(self) -> int:
        """How many records may be lost."""
        return self.appended - self.synced

    def crash(self, surviving: int) -> None:
        """Lose what was not synced, but for the first so many records of that."""
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
