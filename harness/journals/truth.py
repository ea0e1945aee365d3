"""A journal with somebody beside it who remembers everything, and checks what it says after a crash."""

from random import Random
from typing import Final

from attrs import define, field

from broker.journal.files import Files
from broker.journal.identity import identify
from broker.journal.journal import Journal
from broker.journal.opening import opened_in
from broker.journal.recovery import Recovered

BROKER: Final = "B1"
ID: Final = bytes(range(16))


def content_of(records: list[bytes]) -> bytes:
    """A snapshot's content: here the state is the list of all records."""
    return b"".join(len(record).to_bytes(4, "big") + record for record in records)


def state_of(recovered: Recovered) -> list[bytes]:
    """All records that the recovered journal stands for."""
    content = recovered.snapshot or b""
    records = []
    place = 0
    while place < len(content):
        stop = place + 4 + int.from_bytes(content[place : place + 4], "big")
        records.append(content[place + 4 : stop])
        place = stop
    assert len(records) == recovered.upto
    records.extend(recovered.records())
    return records


@define(eq=False)
class Keeper:
    """Uses the journal and remembers `records`; the first `told` of them were acknowledged to somebody."""

    files: Files
    random: Random
    segment_bytes: int
    journal: Journal = field(init=False)
    records: list[bytes] = field(factory=list)
    told: int = 0

    def open(self) -> None:
        """Open the journal, and check that it has what was told, and nothing that never was.

        Raises `AssertionError` if it has not, and whatever the journal raises.
        """
        self.journal = opened_in(
            self.files, identify(self.files, BROKER, ID), self.segment_bytes, fresh=self.random.randbytes
        )
        found = state_of(self.journal.recovered)
        assert self.told <= len(found) <= len(self.records), (self.told, len(found), len(self.records))
        assert found == self.records[: len(found)]
        assert self.journal.synced == self.journal.appended == len(found)
        self.records = found
        self.told = len(found)

    def append(self, size_bytes: int) -> None:
        """Append a record that is like no other."""
        record = self.random.randbytes(8) + bytes(self.random.choice([0, 1])) * size_bytes
        self.records.append(record + self.random.randbytes(size_bytes // 2))
        assert self.journal.append(self.records[-1]) == len(self.records)

    def flush(self) -> None:
        """Get everything to disk, and tell."""
        self.journal.flush()
        assert self.journal.synced == len(self.records)
        self.told = self.journal.synced

    def snapshot(self) -> bool:
        """Keep a picture of everything."""
        return self.journal.snapshot(content_of(self.records), len(self.records))

    def reopen(self) -> None:
        """Close and open again."""
        self.journal.close()
        self.told = len(self.records)
        self.open()
