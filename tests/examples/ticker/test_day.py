import io
from pathlib import Path

import pytest

from broker import ConcordError
from examples.ticker.day import DAY_S, EXCHANGES, made, read, write


def test_a_day_is_read_from_its_file(tmp_path: Path) -> None:
    day = made(7, 200)
    file = tmp_path / "day.csv"
    with file.open("w", encoding="utf-8") as lines:
        write(day, lines)
    assert read(file) == day


def test_the_same_seed_makes_the_same_day() -> None:
    assert made(3, 100) == made(3, 100) != made(4, 100)


def test_a_made_up_day_is_in_order_and_all_exchanges_trade() -> None:
    day = made(1)
    assert [moment.at_s for moment in day] == sorted(moment.at_s for moment in day)
    assert {moment.tick.exchange for moment in day} == set(EXCHANGES)
    assert all(0 <= moment.at_s <= DAY_S for moment in day)


def test_most_happens_near_the_open_and_the_close() -> None:
    hours = [int(moment.at_s * 10 / DAY_S) for moment in made(1)]
    assert min(hours.count(0), hours.count(9)) > max(hours.count(4), hours.count(5))


def test_quotes_surround_their_price() -> None:
    quotes = [moment.tick for moment in made(1) if moment.tick.kind == "quote"]
    assert quotes
    assert all(quote.bid <= quote.price <= quote.ask for quote in quotes)


@pytest.mark.parametrize(
    ("column", "value"), [("price", "cheap"), ("kind", "rumour"), ("at_s", ""), ("size", "1.5")]
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, column: str, value: str) -> None:
    lines = io.StringIO()
    write(made(1, 2), lines)
    header, first, second = lines.getvalue().splitlines()
    fields = second.split(",")
    fields[header.split(",").index(column)] = value
    file = tmp_path / "day.csv"
    file.write_text("\n".join([header, first, ",".join(fields)]), encoding="utf-8")
    with pytest.raises(ConcordError, match=r"day\.csv, line 3: "):
        read(file)
