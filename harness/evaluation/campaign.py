"""The steps of every evaluation: choose studies, make the missing ones, and show the progress.

Laws:

1. A study's folder is whole or not there: until it is whole it has a hidden name. So a campaign that was
   interrupted goes on behind what is whole, and nobody reads what is not.
2. What fails is reported and left out; the rest goes on.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import attrs
import click

from harness.runs.progress import Progress


class Named(Protocol):
    """A study, as far as campaigns know it."""

    @property
    def name(self) -> str:
        """Return the name by which it is chosen, which is also that of its folder."""


_Study = TypeVar("_Study", bound=Named)


def chosen(studies: Sequence[_Study], only: str | None) -> list[_Study]:
    """Return the studies whose names begin with one of `--only`, separated by commas; all if it is empty.

    Raises:
        click.BadParameter: no study's name begins so.
    """
    starts = ("",) if only is None else tuple(only.split(","))
    for start in starts:
        if not any(study.name.startswith(start) for study in studies):
            known = ", ".join(study.name for study in studies)
            raise click.BadParameter(
                f"no study's name begins with {start}; there are {known}", param_hint="--only"
            )
    return [study for study in studies if study.name.startswith(starts)]


@contextmanager
def whole(place: Path) -> Iterator[Path]:
    """Give a hidden folder to work in, not there yet; it gets its name if the block ends without error."""
    unfinished = place.with_name(f".{place.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    yield unfinished
    unfinished.rename(place)


@attrs.frozen
class Done:
    """One study that was made, or failed: `complaint` has the reason."""

    name: str
    seconds: float
    complaint: str = ""


def perform(
    wanted: Mapping[str, Path], make: Callable[[Sequence[str]], Iterable[Done]], progress: Progress
) -> list[str]:
    """Make the missing studies, by name and folder; return the failures, in a line each."""
    missing = [name for name, place in wanted.items() if not place.is_dir()]
    progress.run("measuring")
    progress.stage(f"{len(wanted) - len(missing)} of {len(wanted)} done before", len(missing))
    failed = []
    for count, done in enumerate(make(missing), 1):
        progress.event(f"{count}/{len(missing)}  {done.name}  {done.complaint or f'{done.seconds:.0f} s'}")
        progress.advance(count)
        if done.complaint:
            failed.append(f"{done.name}: {done.complaint}")
    return failed
