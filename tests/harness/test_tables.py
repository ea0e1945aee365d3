import io
import sys

import pytest

from harness.tables import Table, show, table

SMALL = Table(
    ("ordering", "kept", "deliveries/s"), [("fifo", "yes [1]", "12,000"), ("pairwise", "no", "-")], 2
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_words_stand_on_the_left_and_numbers_on_the_right() -> None:
    assert SMALL.text().splitlines() == [
        "ordering  kept     deliveries/s",
        "fifo      yes [1]        12,000",
        "pairwise  no                  -",
    ]


def test_a_table_may_have_no_headings() -> None:
    assert Table((), [("kept", "yes"), ("missing", "0")], words=2).text() == "kept     yes\nmissing  0"


def test_a_column_says_what_stands_in_a_row() -> None:
    made = table((("number", str), ("squared", lambda each: f"{each * each}")), [2, 3])
    assert made.rows == [["2", "4"], ["3", "9"]]


def test_a_page_has_the_same_cells_between_bars() -> None:
    assert SMALL.markdown().splitlines()[:3] == [
        "| ordering | kept | deliveries/s |",
        "| --- | --- | --- |",
        "| fifo | yes [1] | 12,000 |",
    ]


def test_what_is_no_terminal_gets_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(SMALL)
    assert capsys.readouterr().out == SMALL.text() + "\n"


@pytest.mark.parametrize("columns", ["20", "200"])
def test_a_terminal_gets_every_cell_whole_however_narrow_it_is(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", columns)
    show(SMALL)
    assert all(cell in terminal.getvalue() for row in SMALL.rows for cell in row)
