"""Every scenario of whole brokers gives what is written in it. With REWRITE=1 it is written anew."""

import os
from pathlib import Path

import pytest

from harness.whole.scenario import WholeScenarioError, perform
from ordering.pairwise import Pairwise

FILES = sorted((Path(__file__).parents[2] / "scenarios" / "whole").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario_gives_what_is_written_in_it(file: Path) -> None:
    text = file.read_text()
    performed = perform(text, Pairwise)
    if os.environ.get("REWRITE"):
        file.write_text(performed)
    else:
        assert performed == text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario_says_first_what_it_shows_and_ends_at_rest(file: Path) -> None:
    lines = file.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert "rest" in lines
    assert lines[-1] == "= every promise was kept"


def test_a_line_that_makes_no_sense_is_named() -> None:
    with pytest.raises(WholeScenarioError, match="line 2: 'cut B2 B1' makes no sense"):
        perform("start B1\ncut B2 B1\n", Pairwise)
    with pytest.raises(WholeScenarioError, match="line 1: 'jump' is no action"):
        perform("jump\n", Pairwise)
