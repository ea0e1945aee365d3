"""What `concord explain --uplinks` tells of one broker's place in the overlay, as a line of JSON."""

import json

from broker.healing.roster import Roster
from broker.healing.search import Search


def describe_search(search: Search, roster: Roster, uplink: str | None, below: frozenset[str]) -> str:
    """The present uplink, how often it moved, and whom it would dial in this order if it had none."""
    own = roster.own
    return json.dumps(
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
                for each in search.candidates(roster, below)
            ],
        }
    )
