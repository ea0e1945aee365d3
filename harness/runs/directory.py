"""A run's directory: made empty, described by `run.json`, and tidied up at the end."""

import json
import platform
import shutil
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import time_ns
from typing import Final

from broker.errors import ConcordError
from harness.datasets import RUN
from harness.runs.plan import Plan

RUN_FILE: Final = "run.json"

SCHEDULE_FILE: Final = "schedule.txt"
"""The datasets of a simulated run."""

OURS: Final = frozenset({*RUN, "tables", "logs", "journals", "report"})
"""Folders that a run or its analysis makes."""

_SHOWN: Final = ("concord-pubsub", "trio", "pyarrow", "cbor2", "attrs")


class DirectoryError(ConcordError):
    """A run cannot be written to its folder; the text has the reason."""


def prepare(folder: Path, *, replace: bool) -> None:
    """Make the folder, or see that it is empty. With `replace`, what an earlier run left there goes.

    Raises:
        DirectoryError: it has something in it that nobody said may go.
    """
    if folder.exists() and not folder.is_dir():
        raise DirectoryError(f"--out {folder}: is no directory")
    if folder.is_dir() and any(folder.iterdir()):
        if not replace:
            raise DirectoryError(f"--out {folder}: is not empty; choose another, or say --replace")
        _clear(folder)
    folder.mkdir(parents=True, exist_ok=True)


def _clear(folder: Path) -> None:
    """Remove what runs leave behind, and nothing else: a mistyped path must not cost anybody a folder."""
    if not _is_of_runs(folder):
        raise DirectoryError(f"--out {folder}: holds something else than runs; choose another")
    shutil.rmtree(folder)


def _is_of_runs(folder: Path) -> bool:
    if any((folder / name).is_file() for name in (RUN_FILE, SCHEDULE_FILE)):
        return True
    inside = [each for each in folder.iterdir() if each.name not in OURS]
    folders = [each for each in inside if each.is_dir()]
    return bool(folders) and all(map(_is_of_runs, folders))


def describe(
    folder: Path, plan: Plan, ordering: Mapping[str, object], name: str, content: Mapping[str, object]
) -> dict[str, object]:
    """Write `run.json`, and return what is in it, to be added to."""
    scenario = plan.scenario
    about: dict[str, object] = {
        **ordering,
        "scenario": name,
        "seed": scenario.seed,
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "started_ns": time_ns(),
        "command": " ".join(["concord", *sys.argv[1:]]),
        "versions": _versions(),
        "uplinks": {broker: above or "" for broker, above in plan.uplinks.items()},
        "brokers": len(plan.uplinks),
        "publishers": scenario.publishers.count,
        "subscriptions": scenario.subscribers.count,
        "faults": list(scenario.faults),
        "settings": content,
    }
    write(folder, about)
    return about


def about(folder: Path) -> Mapping[str, object]:
    """Return the content of `run.json`.

    Raises:
        DirectoryError: there is none, or it cannot be read.
    """
    try:
        found = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DirectoryError(f"{folder}/{RUN_FILE}: {error}; give the directory of a run") from error
    return found if isinstance(found, dict) else {}


def write(folder: Path, about: Mapping[str, object]) -> None:
    """Write `run.json`, whole or not at all."""
    unfinished = folder / f".{RUN_FILE}"
    unfinished.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder / RUN_FILE)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform()}
    for name in _SHOWN:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
