"""Opens damaged and forged journals: `python -m harness.fuzz.journals --seconds 60 --seed 1`.

Every case is a small journal that was used for a while, and closed or killed, and then spoilt. Laws:

1. If a disk damaged one of its files, it has the same state as before when it is opened, or it is refused
   with an error that says where and what to do. Half of the damages hit the end of what was written last:
   there a torn write and damage look alike.
2. If it was forged (below its checksums, which are right again afterwards, or by what stands beside its
   files) it has every record that it says it has, or is refused.
3. What was opened goes on, and is opened again. What is refused is refused with a `ConcordError` of one line
   that can be printed and is not long.

Some cases are on the real file system, forged ones with directories, pipes and links where files should be;
of some the memory at its peak is watched.
"""

import os
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from attrs import field, frozen

from broker.errors import ConcordError
from broker.journal import Journal, open_journal
from broker.journal.files import Files
from broker.journal.identity import LOCK, identify
from broker.journal.opening import opened_in
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, check_message, command_for
from harness.fuzz.damage import Directory, damage, forge
from harness.journals import BROKER, ID, Keeper, SimulatedDisk, state_of

MEMORY_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""A case's files have less than a megabyte; what is claimed in them is not to be believed."""

WATCHED_CASES: Final = 16
"""One in so many cases is one whose memory is watched: that takes several times as long."""

REAL_CASES: Final = 256
"""One in so many cases is one on the file system: that takes a hundred times as long."""

IN_MEMORY: Final = "in memory"
WATCHED: Final = "in memory, watched"
REAL: Final = "on the file system"

_ADVISING: Final = ("; ", ": give ", ": use ")
"""What stands in an error before the words that say what to do."""

_SEGMENT_BYTES: Final = 8 * 4096
_NEWS: Final = b"goes on"
_WITH_SNAPSHOT: Final = 0.2
_SPARED: Final = 0.3
_REOPENED: Final = 0.2

Opening = Callable[[], Journal]


@frozen
class JournalCase:
    """How a journal was spoilt, where it is opened, what is in its files, and chance for the rest.

    A journal that was damaged has these `records` if it can be opened; of a forged one nothing is known.
    """

    how: str
    where: str
    files: Directory = field(repr=False)
    records: list[bytes] | None = field(repr=False)
    seed: int


def _make(random: Random) -> JournalCase:
    disk = SimulatedDisk()
    keeper = _used(disk, random)
    files = {name: bytearray(disk.content(name)) for name in disk.names()}
    is_damaged = random.getrandbits(1) == 1
    how = damage(files, random) if is_damaged else forge(files, ID, random)
    where = IN_MEMORY
    if random.randrange(REAL_CASES) == 0:
        where = REAL
    elif random.randrange(WATCHED_CASES) == 0:
        where = WATCHED
    return JournalCase(how, where, files, keeper.records if is_damaged else None, random.getrandbits(64))


def _used(disk: SimulatedDisk, random: Random) -> Keeper:
    """Use a journal for a while; close it or not."""
    keeper = Keeper(disk, random, _SEGMENT_BYTES)
    keeper.open()
    for _ in range(random.randrange(1, random.choice((12, 12, 40)))):
        for _ in range(random.randrange(1, 4)):
            keeper.append(random.choice((1, 10, 300, 5000)))
        keeper.flush()
        if random.random() < _WITH_SNAPSHOT:
            keeper.snapshot()
        if random.random() < _SPARED:
            keeper.journal.make_room()
    if random.random() < _REOPENED:
        keeper.reopen()
    if random.getrandbits(1):
        keeper.journal.close()
    return keeper


def _judge(case: JournalCase, _: FuzzTally) -> str:
    if case.where == REAL:
        is_opened = _on_disk(case)
    else:
        opening = partial(_open, SimulatedDisk.of(case.files))
        is_opened = (_watched if case.where == WATCHED else _judged)(case, opening)
    if case.records is None:
        return "forged and opened" if is_opened else "forged and refused"
    return f"{'recovered' if is_opened else 'refused'} with {case.how}"


def _judged(case: JournalCase, opened: Opening) -> bool:
    """Return whether it is opened; it is refused otherwise. Raises `Crash`."""
    try:
        appended = _went_on(case, opened())
    except ConcordError as error:
        check_message(str(error))
        if case.records is not None and not any(each in str(error) for each in _ADVISING):
            raise Crash(f"refused without saying what to do: {error}") from error
        return False
    with _closing(opened()) as again:
        if (again.appended, list(again.recovered.records())[-1:]) != (appended, [_NEWS]):
            raise Crash(f"it had {appended} records, and has {again.appended} when it is opened again")
    return True


def _open(files: Files) -> Journal:
    return opened_in(files, identify(files, BROKER, ID), _SEGMENT_BYTES, fresh=Random(1).randbytes)  # noqa: S311 - repeatable


@contextmanager
def _closing(journal: Journal) -> Iterator[Journal]:
    try:
        yield journal
    finally:
        journal.close()


def _went_on(case: JournalCase, journal: Journal) -> int:
    """Read all that was recovered, and go on; return how many records there are then."""
    with _closing(journal):
        if case.records is not None and (found := state_of(journal.recovered)) != case.records:
            raise Crash(f"recovered {len(found)} records of {len(case.records)}, and not the same")
        read = sum(1 for _ in journal.recovered.records())
        if read != journal.recovered.count:
            raise Crash(f"it has {read} records and says {journal.recovered.count}")
        journal.append(_NEWS)
        journal.flush()
        journal.snapshot(b"everything", journal.appended - 1)
        return journal.appended


def _watched(case: JournalCase, opening: Opening) -> bool:
    tracemalloc.start()
    try:
        is_opened = _judged(case, opening)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak_bytes > MEMORY_LIMIT_BYTES:
        raise Crash(f"{peak_bytes} bytes of memory were used")
    return is_opened


def _on_disk(case: JournalCase) -> bool:
    random = Random(case.seed)  # noqa: S311 - it has to be repeatable, not secret
    with tempfile.TemporaryDirectory(prefix="concord-fuzz-") as directory:
        path = Path(directory)
        for name, content in case.files.items():
            (path / name).write_bytes(content)
        if case.records is None:
            _exchange(path / random.choice([*sorted(case.files), LOCK]), random)
        return _watched(case, partial(open_journal, path, BROKER))


def _exchange(path: Path, random: Random) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    match random.randrange(6):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to(path.parent / "nowhere" / "at all")
        case 3:
            path.symlink_to(path.name)
        case 4:
            path.symlink_to(os.devnull)
        case _:
            path.write_bytes(random.randbytes(random.choice((0, 10, 5000))))


CAMPAIGN: Final = Campaign("spoilt journals", _make, _judge)
main: Final = command_for(CAMPAIGN, "Open spoilt journals.")

if __name__ == "__main__":
    main()
