"""Whom a fault hits: names in faults, looked up in the plan of a run.

`random` is anybody, and a name with `*` anybody it fits: drawn anew each time the fault happens, by the
scenario's seed.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from random import Random

import attrs

from harness.faults import BROKER, CLIENT, LINK, RANDOM, SUBSCRIPTION, Fault, FaultError, Link, kind_of, parse
from harness.runs.plan import Plan

__all__ = ["Targeted", "read_faults"]

_SHOWN: int = 8


@attrs.frozen
class Targeted:
    """A fault, with everybody it may hit."""

    fault: Fault
    candidates: tuple[str | Link, ...]

    def draw(self, random: Random) -> str | Link:
        """Return whom it hits this time."""
        return self.candidates[0] if len(self.candidates) == 1 else random.choice(self.candidates)


def read_faults(texts: Sequence[str], plan: Plan) -> tuple[Targeted, ...]:
    """Read faults and look up their targets. Raises `FaultError`."""
    return tuple(_targeted(parse(text), plan) for text in texts)


def _targeted(fault: Fault, plan: Plan) -> Targeted:
    target = kind_of(fault).target
    first = fault.targets[0]
    if target == BROKER:
        return Targeted(fault, tuple(_fitting(fault, 0, list(plan.uplinks), "broker")))
    if target == SUBSCRIPTION:
        names = [
            role for job in plan.jobs if job.role == "subscriber" for seat in job.seats for role in seat.roles
        ]
        return Targeted(fault, tuple(_fitting(fault, 0, names, "subscription")))
    if target == CLIENT:
        seats = plan.seats
        names = _fitting(fault, 0, list(seats), "client")
        return Targeted(fault, tuple(Link(seats[each].name, seats[each].broker) for each in names))
    assert target == LINK
    if len(fault.targets) == 1:
        lower = [name for name, above in plan.uplinks.items() if above is not None]
        return Targeted(
            fault, tuple(Link(each, plan.uplinks[each] or "") for each in _fitting(fault, 0, lower, "link"))
        )
    return Targeted(fault, (_link_between(fault, first, fault.targets[1], plan),))


def _link_between(fault: Fault, one: str, other: str, plan: Plan) -> Link:
    """The link between two brokers, whichever is above."""
    for place, name in enumerate((one, other)):
        _fitting(fault, place, list(plan.uplinks), "broker")
        if name not in plan.uplinks:
            raise _error(fault, place, "expected the name of one broker")
    for lower, upper in ((one, other), (other, one)):
        if plan.uplinks[lower] == upper or upper in plan.fallbacks(lower):
            return Link(lower, upper)
    raise _error(fault, 1, f"there is no link between {one} and {other}")


def _fitting(fault: Fault, place: int, names: Sequence[str], what: str) -> list[str]:
    wanted = fault.targets[place]
    pattern = "*" if wanted == RANDOM else wanted
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise _error(fault, place, f"no {what} is called that; there are {shown or 'none'}")
    return found


def _error(fault: Fault, place: int, text: str) -> FaultError:
    word = len(fault.words) + place + 1
    return FaultError(f"fault {fault.text!r}: at word {word}, {fault.targets[place]!r}: {text}")
