"""The version of a build follows from a tag, and there is one without tags and without a history."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sources import ROOT


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607 - our arguments


def committed(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")


def tagged(folder: Path) -> None:
    committed(folder)
    git(folder, "tag", "--annotate", "v1.2.3", "--message", "x")


def behind_a_tag(folder: Path) -> None:
    tagged(folder)
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "y")


@pytest.mark.parametrize(
    ("prepare", "version"),
    [
        (tagged, r"1\.2\.3"),
        (behind_a_tag, r"1\.2\.4\.dev1\+g[0-9a-f]+"),
        (committed, r"0\.1.*\.dev1\+g[0-9a-f]+"),
        (Path.exists, r"0\.1\.0"),
    ],
    ids=["on a tag", "behind a tag", "without tags", "without a history"],
)
def test_the_version_follows_from_the_tag(
    prepare: Callable[[Path], object], version: str, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    prepare(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "setuptools_scm"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(version, ended.stdout.strip())


def test_the_changelog_has_what_is_unreleased_first() -> None:
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", head) for head in heads[1:])
