"""Scripts: situations that chance builds too rarely, as actions, with random arrivals between them.

The actions before `begin` set the world up, and it comes to rest. After it, between two actions, some
messages arrive, those of some directions far behind others; an action that makes no sense then is left out.
"""

from typing import Final

from harness.simulator.world import Action

MOVED_PUBLISHER: Final = """
start B1 / start B2 / start B3 / dial B2 B1 / drain / dial B3 B2 / drain
advertise P1 B3 a / advertise P2 B1 a / subscribe S1 B1 a
subscribe S2 B2 a / drain / begin
publish P1 a / publish P1 a / publish P2 a / publish P1 a / cut B3>B2 9 9
dial B3 B1 / dial B3 B1 / dial B3 B1 / dial B3 B1
publish P1 a / dial B3 B1 / publish P1 a / dial B3 B1 / publish P1 a / publish P2 a / publish P1 a
"""
"""A publisher's broker moves closer while what it sent the old way is still on its way there."""

TWO_MOVE: Final = """
start B1 / start B2 / start B3 / start B4 / dial B2 B1 / drain / dial B3 B1 / drain
advertise P1 B2 a / advertise P2 B4 a / subscribe S1 B1 a / subscribe S2 B3 a / drain / begin
publish P1 a / dial B1 B4 / publish P1 a / publish P1 a / cut B2>B1 9 9
dial B2 B4 / dial B2 B4 / dial B2 B4 / publish P1 a / dial B1 B4 / dial B2 B4
publish P1 a / dial B2 B4 / publish P1 a / publish P2 a / publish P1 a / publish P1 a
"""
"""A broker leaves its uplink for the very broker that the uplink is about to attach to."""

WITHDRAWN_WHILE_ATTACHING: Final = """
start B1 / start B2 / start B3 / dial B2 B1 / drain
advertise P1 B2 a / advertise P2 B3 a / advertise P3 B1 a / subscribe S1 B1 a
subscribe S2 B2 a / drain / begin
dial B1 B3 / publish P1 a / unadvertise P3 / publish P1 a / publish P2 a / publish P1 a / publish P2 a
publish P1 a / publish P2 a / publish P1 a / publish P2 a / publish P1 a / publish P2 a
"""
"""What exposed a subscription is withdrawn while its tree attaches to publishers of the same."""

ATTACHED_TWICE: Final = """
start B1 / start B2 / start B3 / dial B2 B1 / drain
advertise P1 B2 a / advertise P2 B3 a / advertise P3 B1 a / subscribe S1 B1 a
subscribe S2 B2 a / drain / begin
dial B1 B3 / publish P1 a / publish P2 a / cut B1>B3 9 9 / unadvertise P3 / publish P1 a
dial B1 B3 / dial B1 B3 / dial B1 B3 / publish P1 a / publish P2 a / dial B1 B3
publish P1 a / publish P2 a / publish P1 a / publish P2 a / publish P1 a / publish P2 a
"""
"""A connection is lost while a flood for it is on its way, and made again to the same broker."""

RING: Final = """
start B1 / start B2 / start B3 / start B4 / dial B4 B3 / drain
advertise P1 B1 a / advertise P2 B4 a / subscribe S1 B2 a / subscribe S2 B4 a / begin
dial B1 B2 / dial B2 B4 / dial B3 B1 / publish P1 a / publish P2 a / cut B4>B3 1 1
dial B4 B1 / dial B2 B4 / dial B1 B2 / dial B3 B1 / dial B4 B2 / dial B2 B3 / dial B4 B1
publish P1 a / dial B3 B2 / dial B1 B4 / publish P2 a
"""
"""Several roots ask each other, in circles, and the trees change under their requests."""


REPLACED: Final = """
start B1 / start B2 / start B3 / start B4 / dial B2 B1 / drain / dial B3 B2 / drain / dial B4 B3 / drain
subscribe S1 B1 ab / subscribe S2 B4 a / subscribe S3 B4 b unordered / advertise P1 B3 ab / drain / begin
publish P1 a / publish P1 b / cut B4>B3 9 9 / publish P1 a
dial B4 B1 / publish P1 b / dial B4 B1 / subscribe S4 B4 b / publish P1 a / subscribe S5 B4 ab / publish P1 b
unsubscribe S4 / publish P1 a / unsubscribe S5 / publish P1 b
subscribe S6 B4 ab / publish P1 a / publish P1 b
"""
"""The cover of some subscriptions changes while their broker moves to where others cover all of them."""


def read(text: str) -> tuple[Action, ...]:
    """Read the actions of a script from its text."""
    words = (each.split() for line in text.splitlines() for each in line.split("/"))
    return tuple(tuple(int(w) if w.isdigit() else w for w in action) for action in words if action)


SCRIPTS: Final = tuple(
    map(read, (MOVED_PUBLISHER, TWO_MOVE, WITHDRAWN_WHILE_ATTACHING, ATTACHED_TWICE, RING))
)
"""The scripts of every routing, as actions."""

COVER_SCRIPTS: Final = (read(REPLACED),)
"""The scripts that matter where subscriptions cover one another."""
