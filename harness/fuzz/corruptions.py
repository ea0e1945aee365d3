"""Spoils one file of a real journal at a time, and looks whether that is noticed or does not matter.

    python -m harness.fuzz.corruptions --cases 1000

Laws:

1. Every journal is made on the real file system, by chance from its case: how many records and of what size,
   when snapshots were taken, whether it was closed or its process killed after the last sync.
2. After the damage there are two right answers: the same state as before, or a `JournalError` that says where
   and what to do. Anything else is a crash.
3. Half of the damages hit the end of what was written last: there a torn write and damage look alike.
"""

import tempfile
from pathlib import Path
from random import Random
from typing import Final

from broker.journal import JournalError
from broker.journal.files import SystemFiles
from broker.journal.identity import LOCK, identify
from broker.journal.opening import opened_in
from harness.fuzz.campaigns import Campaign, Crash, Tally, command_for
from harness.fuzz.damage import spoil
from harness.journals import BROKER, Keeper, state_of

_SEGMENT_BYTES: Final = 64 * 1024
_STEPS_MAX: Final = 40
_RECORD_BYTES_MAX: Final = 6000

_REOPENED: Final = 0.2
_CLOSED: Final = 0.3
_AT_THE_END: Final = 0.5


def _make(random: Random) -> int:
    """Return the seed of everything else: a journal on the file system is made when it is judged."""
    return random.getrandbits(64)


def _judge(case: int, _: Tally) -> str:
    with tempfile.TemporaryDirectory(prefix="concord-fuzz-") as directory:
        return corrupted(case, Path(directory))


def corrupted(case: int, directory: Path) -> str:
    """Make a journal, spoil it, open it; return what was done, and what became of it."""
    random = Random(case)  # noqa: S311 - it has to be repeatable, not secret
    files = SystemFiles.of(directory)
    keeper = Keeper(files, random, _SEGMENT_BYTES)
    _live(keeper, random)
    if random.random() < _CLOSED:
        keeper.journal.close()
    target = _target(directory, random)
    kind, spoilt = spoil(target.read_bytes(), random)
    if spoilt is None:
        target.unlink()
    else:
        target.write_bytes(spoilt)
    try:
        return f"{_verdict(files, keeper.records, f'{target.name}: {kind}')} with {kind}"
    finally:
        files.close()


def _live(keeper: Keeper, random: Random) -> None:
    """Use the journal for a while, so that everything in it has been acknowledged."""
    keeper.open()
    snapshot_chance = random.choice([0, 0.05, 0.2])
    for _ in range(random.randrange(1, _STEPS_MAX)):
        for _ in range(random.randrange(1, 5)):
            keeper.append(random.randrange(_RECORD_BYTES_MAX))
        keeper.flush()
        keeper.journal.make_room()
        if random.random() < snapshot_chance:
            keeper.snapshot()
    if random.random() < _REOPENED:
        keeper.reopen()


def _target(directory: Path, random: Random) -> Path:
    names = sorted(path.name for path in directory.iterdir() if path.name != LOCK)
    segments = [name for name in names if name.endswith(".segment")]
    return directory / (segments[-1] if random.random() < _AT_THE_END else random.choice(names))


def _verdict(files: SystemFiles, records: list[bytes], done: str) -> str:
    """What the journal does when it is opened now, and again after it has gone on. Raises `Crash`."""
    try:
        journal = opened_in(files, identify(files, BROKER), _SEGMENT_BYTES)
    except JournalError as error:
        if not str(error).startswith(str(files.path)) or "; " not in str(error):
            raise Crash(f"{done}: refused without saying where and what to do: {error}") from error
        return "refused"
    found = state_of(journal.recovered)
    if found != records:
        raise Crash(f"{done}: recovered {len(found)} records of {len(records)}, and not the same")
    journal.append(b"goes on")
    journal.close()
    again = opened_in(files, identify(files, BROKER), _SEGMENT_BYTES)
    found = state_of(again.recovered)
    again.close()
    if found != [*records, b"goes on"]:
        raise Crash(f"{done}: it did not go on")
    return "recovered"


CAMPAIGN: Final = Campaign("corrupted journals", _make, _judge)
main: Final = command_for(
    CAMPAIGN, "Spoil files of journals: each is recovered exactly, or refused with a message."
)

if __name__ == "__main__":
    main()
