"""Theorem 9 does not hold: for each form a schedule in which two subscribers disagree.

The files begin with the form's name. With REWRITE=1 in the environment their output is written anew.
"""

import os
from pathlib import Path

import pytest

from harness.simulator.scenario import perform
from ordering.pairwise import Pairwise
from ordering.plugins import configured
from ordering.published import Published
from ordering.published.plugin import FORMS

FILES = sorted((Path(__file__).parents[2] / "scenarios" / "published").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_two_subscribers_disagree(file: Path) -> None:
    text = file.read_text()
    performed = perform(text, configured(Published, {"form": file.stem.partition("-")[0]}))
    if os.environ.get("REWRITE"):
        file.write_text(performed)
    assert performed == text
    assert text.splitlines()[-1].startswith("= pairwise: ")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_with_pairwise_they_agree(file: Path) -> None:
    schedule = [line for line in file.read_text().splitlines() if not line.startswith(("=", "deliver"))]
    assert perform("\n".join(schedule), Pairwise).splitlines()[-1] == "= every promise was kept"


def test_there_is_a_counterexample_to_every_form() -> None:
    assert {file.stem.partition("-")[0] for file in FILES} == set(FORMS)
