"""Every promise to clients that a world has broken; what is left over at rest is judged by `liveness`.

If tables were corrupted, order and completeness are promised again once they have been repaired. Always, no
publication is delivered twice, against its filter, or before an earlier one of its publisher; and for each
that is missing there is a gap, in its place or when it is found that tables were wrong. If what a broker has
for its own clients was wrong, the gaps alone are promised; and nothing for what was published while the state
of an ordering plugin was wrong.
"""

from harness.simulator.verdict import (
    Fault,
    broken_axioms,
    faults_in,
    integrity_of,
    missing_in,
    never_reported_in,
    past_missing_in,
    unreported_in,
)
from harness.simulator.world import World


def broken_promises(world: World) -> list[Fault]:
    """Return what is wrong with the record of a world that has come to its end."""
    return [*_broken(world), *(("needless", text) for text in world.needless)]


def _broken(world: World) -> list[Fault]:
    record = world.record
    if world.leasing.corruptions:
        sound = record.since(world.leasing.sound_from)
        after = [*faults_in(sound), *missing_in(sound, list(world.subscribers))]
        if world.leasing.is_damaged:
            return after
        return [
            *after,
            *([] if world.leasing.is_local else integrity_of(record)),
            *never_reported_in(record, [] if world.leasing.is_replaced else _met(world)),
        ]
    return [
        *faults_in(record),
        *missing_in(record, list(world.subscribers)),
        *past_missing_in(record, world.past.missing),
        *unreported_in(record, _met(world)),
        *broken_axioms(record),
    ]


def _met(world: World) -> list[tuple[str, str]]:
    """Return the pairs of subscription and publisher in one tree at the end: between them no gap may lack."""
    return [
        (subscriber.name, publisher.name)
        for subscriber in world.subscribers.values()
        for publisher in world.publishers.values()
        if world.owing.meet(subscriber.site, publisher.site)
    ]
