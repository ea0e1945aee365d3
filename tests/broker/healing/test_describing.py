"""What is told of a broker's place in the overlay."""

import json

from broker.healing import Candidate, Roster, Search, describe_search
from broker.page_limits import LINE_BYTES
from tests.broker.healing.test_roster import roster_of


def test_uplink_moves_and_candidates_are_told() -> None:
    roster = roster_of("C", A="", B="A")
    roster.attached_to("B")
    search = Search("C", ("B:1",))
    search.attached(Candidate("B:1", "B", "configured uplink"))
    told = json.loads(describe_search(search, roster, "B", frozenset()))
    assert (told["broker"], told["address"], told["uplink"], told["uplink_address"]) == (
        "C",
        "C:1",
        "B",
        "B:1",
    )
    assert (told["moves"], told["known"]) == (1, 3)
    assert told["candidates"] == [
        {"address": "B:1", "name": "B", "why": "configured uplink"},
        {"address": "A:1", "name": "A", "why": "above the lost uplink"},
    ]


def test_a_broker_that_was_never_anywhere_tells_that() -> None:
    told = json.loads(describe_search(Search("C"), Roster("C"), None, frozenset()))
    assert (told["address"], told["uplink"], told["uplink_address"], told["candidates"]) == (
        "",
        None,
        None,
        [],
    )


def test_all_of_it_fits_into_one_line_however_many_brokers_there_are() -> None:
    names = {f"A{number:04}-{'é' * 400}": "" for number in range(2000)}
    told = describe_search(Search("C"), roster_of("C", **names), None, frozenset())
    assert len(told) <= LINE_BYTES
    assert json.loads(told)["known"] == 2001
