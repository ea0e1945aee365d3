"""The names of numbered files: they sort as their numbers do."""

from collections.abc import Iterable
from typing import Final

SEGMENT: Final = ".segment"
"""The number is that of the first record."""

SNAPSHOT: Final = ".snapshot"
"""The number is that of the last record covered."""

_DIGITS: Final = 20
"""As many as the largest number has that fits the files' fields."""


def name_of(number: int, kind: str) -> str:
    """Return the name of the file of that kind and number."""
    return f"{number:0{_DIGITS}}{kind}"


def numbers(names: Iterable[str], kind: str) -> list[int]:
    """Return the numbers of the files of that kind, in order."""
    stems = [name.removesuffix(kind) for name in names if name.endswith(kind)]
    return sorted(int(stem) for stem in stems if len(stem) == _DIGITS and stem.isdecimal() and stem.isascii())
