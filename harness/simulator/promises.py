"""Every promise that a world has broken, as far as clients can tell; what is left over is told elsewhere.

If tables were corrupted, order and completeness are promised again once they have been repaired. Nothing is
delivered twice, to whom it does not match, or before an earlier one of its publisher, all the time; and
nothing is missing for which no gap is told, then or when it is found that tables were wrong.
"""

from harness.simulator.verdict import (
    Fault,
    broken_axioms,
    faults_in,
    integrity_of,
    missing_in,
    never_told_in,
    past_missing_in,
    untold_in,
)
from harness.simulator.world import World


def broken_promises(world: World) -> list[Fault]:
    """What is wrong with the record of a world that has come to its end."""
    return [*_broken(world), *(("needless", text) for text in world.needless)]


def _broken(world: World) -> list[Fault]:
    record = world.record
    if world.leasing.corruptions:
        sound = record.since(world.leasing.sound_from)
        return [
            *faults_in(sound),
            *missing_in(sound, list(world.subscribers)),
            *integrity_of(record),
            *never_told_in(record, [] if world.leasing.is_replaced else _met(world)),
        ]
    return [
        *faults_in(record),
        *missing_in(record, list(world.subscribers)),
        *past_missing_in(record, world.past.missing),
        *untold_in(record, _met(world)),
        *broken_axioms(record),
    ]


def _met(world: World) -> list[tuple[str, str]]:
    """The subscriptions and publishers that are in one tree at the end: between them nothing is untold."""
    return [
        (subscriber.name, publisher.name)
        for subscriber in world.subscribers.values()
        for publisher in world.publishers.values()
        if world.owing.meet(subscriber.site, publisher.site)
    ]
