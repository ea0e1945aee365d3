"""What `concord explain --uplinks` tells of one broker's place in the overlay, as a line of JSON."""

from typing import Final

from broker.healing.roster import Roster
from broker.healing.search import Search
from broker.lines import json_line

CANDIDATES_TOLD: Final = 32
"""The first of those that would be dialled: no person reads more, and they have to fit into one line."""


def describe_search(search: Search, roster: Roster, uplink: str | None, below: frozenset[str]) -> str:
    """The present uplink, how often it moved, and whom it would dial in this order if it had none."""
    own = roster.own
    candidates = search.candidates(roster, below)
    return json_line(
        {
            "broker": search.name,
            "address": own.address if own is not None else "",
            "uplink": uplink,
            "uplink_address": roster.address_of(uplink) if uplink is not None else None,
            "moves": search.moves,
            "round": search.round,
            "known": len(roster),
            "candidates": [
                {"address": each.address, "name": each.name, "why": each.why}
                for each in candidates[:CANDIDATES_TOLD]
            ],
            "more_candidates": max(len(candidates) - CANDIDATES_TOLD, 0),
        }
    )
