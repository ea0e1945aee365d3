"""Directed schedules: situations that chance does not build in a hundred thousand tries, step by step.

They are scripts that fix the deliveries too. A schedule follows one of them, now and then with another
arrival in between, or with a step left out. Each is the smallest that is known to need one rule of R7 or R9:
with that rule broken a promise is broken, although every other rule holds.
"""

from typing import Final

from harness.simulator.scripts import read
from harness.simulator.world import Action

EARLY_ANSWER: Final = """
start B1 / start B2 / start B3 / start B4 / dial B2 B1 / drain / dial B3 B2 / drain / dial B4 B3 / drain
advertise P1 B2 a / drain / begin
subscribe S1 B1 a / unadvertise P1 / advertise P2 B3 a / settle B3 B4 / deliver B3>B2 9
deliver B1<B2 1 / settle B2 B3 / deliver B2>B1 9
advertise P3 B4 a / deliver B4>B3 9 / deliver B1<B2 9 / deliver B2<B3 9
publish P2 a
"""
"""R7. B1 has withdrawn S1 and announced it again when the acknowledgement of its first request comes. If that
counted, P2 might publish while B3 still waits for B4 anew, and B2 would not know yet that S1 needs it."""

FLOOD_BEHIND: Final = """
start B1 / start B2 / start B3 / dial B2 B1 / drain
advertise P1 B2 a / advertise P2 B3 a / subscribe S1 B1 a / drain / begin
dial B3 B2 / settle B2 B3 / settle B1 B2 / settle B2 B3 / publish P2 a / settle B2 B3
cut B3>B2 9 9 / deliver B2<B3 99
dial B3 B1 / settle B1 B3 / publish P2 a / settle B1 B3
"""
"""R9, the flood is waited for. S1 is announced to B2 because of P1. B3 is attached to B2, then to B1, before
the flood of its first attachment has come to B1. If B2 let S1 cross at once, P2's first event would be on
its way behind that flood, and B1, for which nothing is stale, would take the second one first."""

OLD_FLOODS: Final = """
start B1 / start B2 / start B3 / start B4 / dial B2 B1 / drain / dial B4 B1 / drain
advertise P1 B2 a / advertise P2 B3 a / subscribe S1 B1 a / drain / begin
dial B3 B2 / settle B2 B3 / settle B1 B2 / settle B2 B3 / deliver B2>B1 9 / deliver B1<B4 9
cut B3>B2 9 9 / deliver B3>B2 99 / deliver B2<B3 99 / deliver B2>B1 9
dial B3 B1 / settle B1 B3 / settle B1 B2 / deliver B1<B4 9
cut B3>B1 9 9 / deliver B3>B1 99 / deliver B1<B3 99 / deliver B1<B2 9
dial B3 B2 / settle B2 B3 / settle B1 B2 / settle B2 B3
deliver B4>B1 1 / deliver B1<B2 9 / settle B2 B3 / publish P2 a / settle B2 B3
cut B3>B2.2 9 9 / deliver B2<B3.2 99
dial B3 B1 / settle B1 B3 / deliver B4>B1 1 / settle B1 B3 / publish P2 a / settle B1 B3
"""
"""R9, a flood belongs to one attachment. B3 attaches to B2, to B1, and again to each, while B4 answers
late: its two answers are to the floods of the first two attachments. If they opened the later two,
these would be as in FLOOD_BEHIND."""

KNOWN_TWO_WAYS: Final = """
start B1 / start B2 / start B3 / start B4 / dial B2 B1 / drain / dial B3 B1 / drain / dial B4 B1 / drain
advertise P1 B3 a / subscribe S1 B4 a / drain / begin
publish P1 a / cut B3>B1 9 0 / deliver B1<B3 9 / cut B4>B1 9 0 / deliver B1<B4 9
dial B3 B4 / settle B3 B4 / publish P1 a / settle B3 B4
dial B4 B2 / settle B1 B2 B3 B4 / deliver B3>B1 1
"""
"""R9, deferral. B3 and B4 have left B1, which has noticed neither and has an event of P1 on its way. They
join, and attach to B2. B1 has asked B3 for S1 already, on B4's behalf, so it would answer B2 at once,
and the event would follow by the new way, after later ones."""

STALE_SINCE: Final = """
start B1 / start B2 / start B3 / start B4 / dial B3 B1 / drain / dial B4 B1 / drain
advertise P1 B3 a / subscribe S1 B4 a / drain / begin
publish P1 a / cut B3>B1 9 0 / deliver B1<B3 9 / cut B4>B1 9 0 / deliver B1<B4 9
dial B3 B4 / settle B3 B4 / publish P1 a / settle B3 B4
dial B4 B2 / dial B1 B2 / deliver B4>B2 9 / deliver B2<B4 9 / deliver B4>B2 9 / deliver B2<B4 9
settle B1 B2 / settle B1 B2 B3 B4 / deliver B3>B1 1
"""
"""R9, the second look. As in KNOWN_TWO_WAYS, but B2 learns from B1 what is stale after it has let B4
attach."""

BEHIND_A_NEW_LINK: Final = """
start B1 / start B2 / start B3 / dial B2 B1 / drain / advertise P1 B3 a / begin
dial B3 B1 / settle B1 B3 / subscribe S1 B1 a / publish P1 a / settle B1 B2 / settle B1 B3 / publish P1 a
"""
"""R7. B3 has been attached, and its flood has not come to B2, so no subscription may cross to it yet. If S1
were open already, it would miss what P1 publishes, without a gap."""

_FORK: Final = """
start B1 / reach B1 / start B2 / reach B2 B1 / dial B2 B1 / start B3 / reach B3 B2 / dial B3 B2
start B4 / reach B4 B2 / drain / dial B4 B2 / drain
"""
"""B2 is below B1; B3, and B4, which will move below B3, are below B2."""

PENDING_FOR_THE_CHILD: Final = f"""{_FORK}
subscribe S1 B1 a / subscribe S3 B3 ab / subscribe S4 B4 abc
advertise P1 B1 c / advertise P2 B2 a / advertise P3 B3 b / drain / begin
move B4 B3 path B4 / settle B3 B4 / deliver B3>B2 1 / deliver B2<B3 1 / deliver B3>B2 1
publish P2 a / settle B2 B3 B4
publish P3 b / settle B3 B4
"""
"""Lowerings. P2's event is pending at B2 for B4 alone when B4 is lowered; B3 has had it. If P3's event, which
nobody above B3 wants, were not ordered by B2, B4 would get it first."""

PENDING_FOR_THE_SIBLING: Final = f"""{_FORK}
subscribe S1 B1 b / subscribe S3 B3 bc / subscribe S4 B4 b unordered
advertise P1 B1 c / advertise P3 B3 b / advertise P4 B4 b / drain / begin
move B4 B3 path B4 / settle B3 B4 / deliver B3>B2 1 / deliver B2<B3 1 / deliver B3>B2 1
publish P4 b / settle B2 B3 B4
"""
"""Lowerings. P4's event is pending at B2 for B3 when B4 is lowered. It comes from B4, and may not return."""

WANTED_TOO_LATE: Final = f"""{_FORK}
subscribe S1 B1 a / subscribe S2 B2 a / advertise P2 B2 a / advertise P3 B3 a / drain / begin
move B4 B3 path B4 / deliver B4>B3 1 / deliver B3>B2 1 / deliver B2<B3 1 / publish P3 a / deliver B3>B2 2
subscribe S4 B4 a / deliver B4>B2 1 / publish P2 a / deliver B2<B4 3 / deliver B4>B2 9
"""
"""Lowerings. P3's event is pending at B2, and B3 keeps it for B4, which wants it only now and has P2's."""

_CHAIN: Final = """
start B1 / reach B1 / start B2 / reach B2 B1 / dial B2 B1 / start B3 / reach B3 B2 / dial B3 B2
start B4 / reach B4 B3 / drain / dial B4 B3 / drain
"""

OLDER_THAN_THE_LIFT: Final = """
start B1 / start B2 / reach B2 B1 / dial B2 B1 / start B3 / reach B3 B2 / dial B3 B2
start B4 / reach B4 B3 / dial B4 B3
subscribe S1 B1 a / subscribe S4 B4 a / advertise P3 B3 a / advertise P1 B1 a / drain / begin
move B4 B2 path B2 / deliver B2<B3 1 / publish P1 a / deliver B1<B2 1 / deliver B2<B3 1 / deliver B3<B4 1
deliver B3<B4 1 / publish P1 a / publish P3 a / publish P3 a unordered / deliver B4>B3 1
"""
"""Lifts. P3's events are pending at B3 when B4 asks; the second one has climbed without a request."""

WITHDRAWN_ON_THE_WAY: Final = f"""{_CHAIN}
subscribe S1 B1 a / subscribe S3 B3 a / subscribe S4 B4 a unordered
advertise P1 B1 a / advertise P4 B4 a / drain / begin
move B4 B2 path B4 / settle B2 B4 / deliver B4>B3 1 / publish P4 a / unadvertise P4 / settle B2 B3 B4
"""
"""Lifts. P4's event is pending at B2, which is to be B4's uplink, and P4 has withdrawn. It may not return."""

GIVEN_UP_WHILE_IT_WAITS: Final = f"""{_CHAIN}
begin
move B4 B2 path B4 / settle B2 B4 / move B3 B1 path B3 / settle B1 B3 / deliver B3>B2 9 / cut B3>B1 0 0
"""
"""Steps that meet. B3's lift waits at B2 for that of B4, and is given up."""

DIRECTED: Final[dict[str, tuple[tuple[Action, ...], ...]]] = {
    "churn": (read(EARLY_ANSWER),),
    "lower": tuple(
        map(
            read,
            (
                PENDING_FOR_THE_CHILD,
                PENDING_FOR_THE_SIBLING,
                OLDER_THAN_THE_LIFT,
                WITHDRAWN_ON_THE_WAY,
                GIVEN_UP_WHILE_IT_WAITS,
                WANTED_TOO_LATE,
            ),
        )
    ),
    "crash": tuple(map(read, (FLOOD_BEHIND, OLD_FLOODS, KNOWN_TWO_WAYS, STALE_SINCE, BEHIND_A_NEW_LINK))),
}
"""All directed schedules, by the faults that they belong to."""
