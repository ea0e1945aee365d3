"""Spoils one file of a real journal at a time, and looks whether that is noticed or does not matter.

Laws:

1. Every journal is made on the real file system, by chance from the seed: how many records and of what size,
   when pictures were taken, whether it was closed or its process killed after the last sync.
2. After the damage there are two right answers: the same state as before, or a `JournalError`. Anything
   else is a failure, and printed with what makes it happen again.
3. Half of the damages hit the end of what was written last: there a torn write and damage look alike.
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import click
from attrs import define, field

from broker.journal import JournalError
from broker.journal.files import SystemFiles
from broker.journal.identity import LOCK, identify
from broker.journal.opening import opened_in
from harness.journals.damage import spoil
from harness.journals.truth import BROKER, Keeper, state_of

_SEGMENT_BYTES: Final = 64 * 1024
_STEPS_MAX: Final = 40
_RECORD_BYTES_MAX: Final = 6000

_REOPENED: Final = 0.2
_CLOSED: Final = 0.3
_AT_THE_END: Final = 0.5


@define
class Outcome:
    """What became of a campaign."""

    recovered: int = 0
    refused: int = 0
    failures: list[str] = field(factory=list)
    kinds: Counter[str] = field(factory=Counter)

    @property
    def count(self) -> int:
        """How many journals were spoilt."""
        return self.recovered + self.refused + len(self.failures)


def _live(keeper: Keeper, random: Random) -> None:
    """Use the journal for a while, so that everything in it has been told."""
    keeper.open()
    picture_chance = random.choice([0, 0.05, 0.2])
    for _ in range(random.randrange(1, _STEPS_MAX)):
        for _ in range(random.randrange(1, 5)):
            keeper.append(random.randrange(_RECORD_BYTES_MAX))
        keeper.flush()
        keeper.journal.make_room()
        if random.random() < picture_chance:
            keeper.snapshot()
    if random.random() < _REOPENED:
        keeper.reopen()


def _target(directory: Path, random: Random) -> Path:
    names = sorted(path.name for path in directory.iterdir() if path.name != LOCK)
    segments = [name for name in names if name.endswith(".segment")]
    return directory / (segments[-1] if random.random() < _AT_THE_END else random.choice(names))


def _verdict(files: SystemFiles, records: list[bytes]) -> str:
    """What the journal does when it is opened now, and again after it has gone on."""
    try:
        journal = opened_in(files, identify(files, BROKER), _SEGMENT_BYTES)
    except JournalError as error:
        is_clear = str(error).startswith(str(files.path)) and "; " in str(error)
        return "refused" if is_clear else f"refused without saying where and what to do: {error}"
    found = state_of(journal.recovered)
    if found != records:
        return f"recovered {len(found)} records of {len(records)}, and not the same"
    journal.append(b"goes on")
    journal.close()
    again = opened_in(files, identify(files, BROKER), _SEGMENT_BYTES)
    found = state_of(again.recovered)
    again.close()
    return "recovered" if found == [*records, b"goes on"] else "did not go on"


def corrupt(seed: int, directory: Path) -> tuple[str, str]:
    """Make a journal, spoil it, open it; return what was done, and what became of it."""
    random = Random(seed)  # noqa: S311 - chance that can be repeated
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
        return f"{target.name}: {kind}", _verdict(files, keeper.records)
    finally:
        files.close()


def run(seed: int, count: int) -> Outcome:
    """Spoil so many journals; every seed stands for one."""
    outcome = Outcome()
    for each in range(seed, seed + count):
        with tempfile.TemporaryDirectory(prefix="concord-journal-") as directory:
            try:
                what, verdict = corrupt(each, Path(directory))
            except Exception as error:  # noqa: BLE001 - whatever else is raised is what is looked for
                what, verdict = "an exception", repr(error)
        outcome.kinds[f"{what.rpartition(': ')[2]}: {verdict}"] += 1
        if verdict == "recovered":
            outcome.recovered += 1
        elif verdict == "refused":
            outcome.refused += 1
        else:
            outcome.failures.append(f"seed {each}: {what}: {verdict}")
    return outcome


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=1000, show_default=True, help="Journals.")
@click.option("--seed", default=0, show_default=True, help="The first journal's seed.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of a table.")
def command(*, count: int, seed: int, json_: bool) -> None:
    """Spoil journals by chance: each is recovered exactly, or refused with a message, or it is a failure.

    Example: python -m harness.journals --count 1000 --seed 0
    """
    outcome = run(seed, count)
    figures = {
        "journals": outcome.count,
        "recovered": outcome.recovered,
        "refused": outcome.refused,
        "failures": len(outcome.failures),
    }
    if json_:
        click.echo(json.dumps(figures | {"kinds": dict(sorted(outcome.kinds.items()))}))
    else:
        for kind, times in sorted(outcome.kinds.items()):
            click.echo(f"{times:6}  {kind}")
        click.echo("  ".join(f"{name} {value}" for name, value in figures.items()))
    for failure in outcome.failures:
        click.echo(failure, err=True)
    sys.exit(1 if outcome.failures else 0)
