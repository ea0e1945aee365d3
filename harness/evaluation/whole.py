"""Folders that are whole or not there: what is made has a hidden name, which it loses at the end.

So a campaign that was interrupted goes on behind what is whole, and nobody reads what is not.
"""

import shutil
from pathlib import Path

__all__ = ["begin", "finish"]


def begin(place: Path) -> Path:
    """Return the folder to work in, which is not there yet; what an interrupted attempt left is removed."""
    unfinished = _unfinished(place)
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    return unfinished


def finish(place: Path) -> None:
    """It is whole."""
    _unfinished(place).rename(place)


def _unfinished(place: Path) -> Path:
    return place.with_name(f".{place.name}")
