"""What is described of a broker's place in the overlay."""

import json

from broker.healing import Candidate, Roster, Search, describe_search
from broker.page_limits import LINE_BYTES
from tests.broker.healing.test_roster import roster_of


def test_uplink_moves_and_candidates_are_described() -> None:
    roster = roster_of("C", A="", B="A")
    roster.attached_to("B")
    search = Search("C", ("B:1",))
    search.attached(Candidate("B:1", "B", "configured uplink"))
    described = json.loads(describe_search(search, roster, "B", frozenset()))
    assert (described["broker"], described["address"], described["uplink"], described["uplink_address"]) == (
        "C",
        "C:1",
        "B",
        "B:1",
    )
    assert (described["moves"], described["known"]) == (1, 3)
    assert described["candidates"] == [
        {"address": "B:1", "name": "B", "why": "configured uplink"},
        {"address": "A:1", "name": "A", "why": "above the lost uplink"},
    ]


def test_a_broker_that_was_never_anywhere_is_described_as_such() -> None:
    described = json.loads(describe_search(Search("C"), Roster("C"), None, frozenset()))
    assert (
        described["address"],
        described["uplink"],
        described["uplink_address"],
        described["candidates"],
    ) == (
        "",
        None,
        None,
        [],
    )


def test_all_of_it_fits_into_one_line_however_many_brokers_there_are() -> None:
    names = {f"A{number:04}-{'é' * 400}": "" for number in range(2000)}
    described = describe_search(Search("C"), roster_of("C", **names), None, frozenset())
    assert len(described) <= LINE_BYTES
    assert json.loads(described)["known"] == 2001
