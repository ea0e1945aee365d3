"""Every page of results says what made it, and one command which of them are older than the code."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from harness.results import HEAD, KEYS, PageError, age, main, provenance, stamped
from tests.sources import ROOT

PAGES: Final = sorted(path for path in (ROOT / "docs" / "results").glob("*.md") if path.name != "index.md")

HEADED: Final = """\
---
commit: 0000000
command: make it
machine: another
load: none
measures: broker
---

# Page
"""

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)


@each_page
def test_a_page_of_results_says_what_made_it_and_measures_what_is_there(page: Path) -> None:
    made = provenance(page.read_text(encoding="utf-8"))
    assert set(KEYS) <= made.keys()
    assert [each for each in made["measures"].split() if not (ROOT / each).exists()] == []


@pytest.mark.parametrize(
    "text", ["# Page\n", HEADED.replace("load: none\n", ""), HEADED.replace(": broker", ":")]
)
def test_a_page_that_does_not_say_it_is_refused(text: str) -> None:
    with pytest.raises(PageError):
        provenance(text)


def repository(folder: Path) -> None:
    """A repository with a file that is measured, and one that is not."""
    for name in ("measured", "other"):
        (folder / name).write_text("1\n", encoding="utf-8")
    git(folder, "init", "--quiet")
    commit(folder, "begin")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    ended = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603, S607 - our arguments
    return ended.stdout.strip()


def commit(folder: Path, subject: str) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", subject)
    return git(folder, "rev-parse", "--short", "HEAD")


def test_a_page_is_old_when_what_it_measures_has_changed(tmp_path: Path) -> None:
    repository(tmp_path)
    made = git(tmp_path, "rev-parse", "HEAD")
    page = HEADED.replace("0000000", made).replace("broker", "measured")
    (tmp_path / "other").write_text("2\n", encoding="utf-8")
    commit(tmp_path, "change another")
    assert not age("page", page, tmp_path).is_old
    (tmp_path / "measured").write_text("2\n", encoding="utf-8")
    changed = commit(tmp_path, "change it")
    assert age("page", page, tmp_path).changed == (f"{changed} change it",)


def test_a_page_of_an_unknown_commit_is_old(tmp_path: Path) -> None:
    repository(tmp_path)
    assert age("page", HEADED, tmp_path).missing


def test_a_page_that_is_made_anew_says_where_and_keeps_the_rest(tmp_path: Path) -> None:
    repository(tmp_path)
    page = stamped(HEADED, "# Page, anew\n", tmp_path)
    made = provenance(page)
    assert git(tmp_path, "rev-parse", "HEAD").startswith(made["commit"])
    assert made["machine"] != "another"
    assert made["command"] == "make it"
    assert HEAD.sub("", page).strip() == "# Page, anew"


def test_a_load_that_is_known_replaces_what_was_said_of_the_measurement_before(tmp_path: Path) -> None:
    repository(tmp_path)
    noted = HEADED.replace("measures:", "note: made in a hurry\nmeasures:")
    assert provenance(stamped(noted, "# Page\n", tmp_path))["note"] == "made in a hurry"
    made = provenance(stamped(noted, "# Page\n", tmp_path, load="3 %"))
    assert made["load"] == "3 %"
    assert "note" not in made


def test_the_command_has_a_line_for_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    main([], standalone_mode=False)
    printed = capsys.readouterr().out
    assert [page.name for page in PAGES if page.name not in printed] == []
