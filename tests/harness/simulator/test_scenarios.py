"""Every scenario gives what is written in it. With REWRITE=1 in the environment it is written anew."""

import os
from pathlib import Path

import pytest

from harness.simulator.scenario import ScheduleTextError, perform
from ordering.pairwise import Pairwise

FILES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.txt"))


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


@pytest.mark.parametrize("rule", range(1, 10))
def test_every_rule_has_a_scenario(rule: int) -> None:
    assert [file for file in FILES if file.stem.startswith(f"r{rule}-")]


def test_a_line_that_makes_no_sense_is_named() -> None:
    with pytest.raises(ScheduleTextError, match="line 2: 'dial B2 B1' makes no sense"):
        perform("start B1\ndial B2 B1\n", Pairwise)
    with pytest.raises(ScheduleTextError, match="line 1: 'jump' is no action"):
        perform("jump\n", Pairwise)
