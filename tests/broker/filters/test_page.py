"""The page for users is true."""

import doctest
import re
from pathlib import Path

import pytest

from broker.filters import parse

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "filters.md"


def test_the_examples_of_the_page_give_what_it_shows() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0


def _predicates() -> list[str]:
    table = PAGE.read_text().partition("## Predicates")[2].partition("Join them")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [text for row in rows for text in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("text", _predicates())
def test_every_predicate_of_the_page_is_in_the_language(text: str) -> None:
    assert parse(str(parse(text))) == parse(text)
