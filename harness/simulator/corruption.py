"""Memory that changes by itself: what may happen to the tables of a simulated broker, drawn by chance.

The core does not learn of a change, and the tables stay well formed, as after a defect or an unnoticed torn
write.
"""

# ruff: noqa: SLF001 - it changes what nobody may change

from collections.abc import Callable
from random import Random
from typing import Final

from broker.core import BrokerCore, Hop
from broker.core.tables import RouteEntry, route_filter_of
from broker.filters import Filter
from broker.routing import RouteFilter
from harness.simulator.interests import KINDS, filter_of

GARBAGE: Final = "G"
"""The first letter of every invented id."""

KINDS_OF_GARBAGE: Final = 4

PUBLISHERS: Final = 0.3
"""The part of the changes of local entries that are of advertisements."""


def corrupt(core: BrokerCore, random: Random) -> str:
    """Change one part of the memory; return what was changed, "" if there was nothing to change."""
    links = list(core.neighbours.values())
    if not links:
        return ""
    link = random.choice(links)
    return random.choice(CORRUPTIONS)(core, link, random)


def corrupt_local(core: BrokerCore, random: Random) -> str:
    """Change one part of what a broker has for its own clients; return what was changed, "" if nothing."""
    hops = [each.hop for each in core.tables.entries() if not each.hop.is_link]
    if not hops or random.random() < PUBLISHERS:
        return random.choice(PUBLISHER_CORRUPTIONS)(core, random)
    return random.choice(SUBSCRIPTION_CORRUPTIONS)(core, random.choice(hops), random)


def _some_filter(random: Random) -> Filter:
    return filter_of("".join(sorted(random.sample(KINDS[:KINDS_OF_GARBAGE], random.randint(1, 2)))))


def _some_entry(core: BrokerCore, link: Hop, random: Random) -> RouteEntry | None:
    entries = list(core.tables.entries_of(link).values())
    return random.choice(entries) if entries else None


def drop_entry(core: BrokerCore, link: Hop, random: Random) -> str:
    """Remove a subscription that came over a link."""
    entry = _some_entry(core, link, random)
    if entry is None:
        return ""
    core.tables.remove_entry(link, entry.id)
    return f"{core.name} lost the entry {entry.id} of {link.name}"


def invent_entry(core: BrokerCore, link: Hop, random: Random) -> str:
    """Add a subscription that no neighbour has announced."""
    invented = f"{GARBAGE}{random.randrange(2**30)}"
    core.tables.add_entry(RouteEntry(invented, _some_filter(random), random.random() < 0.5, link))  # noqa: PLR2004 - a coin
    return f"{core.name} has an invented entry {invented} of {link.name}"


def change_filter(core: BrokerCore, link: Hop, random: Random) -> str:
    """Give a subscription another filter."""
    entry = _some_entry(core, link, random)
    if entry is None:
        return ""
    core.tables.add_entry(RouteEntry(entry.id, _some_filter(random), entry.ordered, link, entry.closed))
    return f"{core.name} has another filter for {entry.id} of {link.name}"


def flip_gate(core: BrokerCore, link: Hop, random: Random) -> str:
    """Open a gate that is closed, or close one that is open."""
    entries = [entry for entry in core.tables.entries() if entry.hop is not link]
    if not entries:
        return ""
    entry = random.choice(entries)
    flip = core.tables.open_gate if entry.closed & link.bit else core.tables.close_gate
    flip(entry, link)
    return f"{core.name} has a wrong gate of {entry.id} towards {link.name}"


def drop_advertisement(core: BrokerCore, link: Hop, random: Random) -> str:
    """Remove an advertisement that came over a link."""
    known = list(core.tables.advertisements(link).filters)
    if not known:
        return ""
    gone = random.choice(known)
    core.tables.remove_advertisement(link, gone)
    return f"{core.name} lost the advertisement {gone} of {link.name}"


def invent_advertisement(core: BrokerCore, link: Hop, random: Random) -> str:
    """Add an advertisement that no neighbour has announced."""
    invented = f"{GARBAGE}{random.randrange(2**30)}"
    core.tables.add_advertisement(link, invented, _some_filter(random))
    return f"{core.name} has an invented advertisement {invented} of {link.name}"


def forget_announcement(core: BrokerCore, link: Hop, random: Random) -> str:
    """Forget that a subscription was announced to a neighbour."""
    neighbour = core._routing.subscribing.neighbours[link]
    announced = [entry.id for entry in neighbour.offered.values()]
    if not announced:
        return ""
    gone = random.choice(announced)
    neighbour.announced.edit(remove=[gone])
    return f"{core.name} forgot that it announced {gone} to {link.name}"


def invent_announcement(core: BrokerCore, link: Hop, random: Random) -> str:
    """Count a subscription as announced to a neighbour that was not."""
    announced = core._routing.subscribing.neighbours[link].announced
    invented = RouteFilter(f"{GARBAGE}{random.randrange(2**30)}", _some_filter(random))
    announced.edit(add=[invented])
    return f"{core.name} believes that it announced {invented.id} to {link.name}"


def forget_announced_advertisement(core: BrokerCore, link: Hop, random: Random) -> str:
    """Forget that an advertisement was announced to a neighbour."""
    known = list(core.tables.advertisements_but(link))
    if not known:
        return ""
    gone = random.choice(known)
    core._routing.advertising.announced[link].edit(remove=[gone])
    return f"{core.name} forgot that it announced the advertisement {gone} to {link.name}"


def forget_offer(core: BrokerCore, link: Hop, random: Random) -> str:
    """Remove a subscription from the candidates for announcements to a neighbour."""
    offered = core._routing.subscribing.neighbours[link].offered
    if not offered:
        return ""
    place = random.choice(list(offered))
    entry = offered.pop(place)
    return f"{core.name} forgot to offer {route_filter_of(entry).id} to {link.name}"


def flip_answered(core: BrokerCore, hop: Hop, random: Random) -> str:
    """Forget that a client was notified that its gates are open, or believe that it was."""
    entry = _some_entry(core, hop, random)
    if entry is None:
        return ""
    entry.is_answered = not entry.is_answered
    return f"{core.name} is wrong about a notification of {entry.id}"


def flip_owed(core: BrokerCore, hop: Hop, random: Random) -> str:
    """Forget that a neighbour was sent an acknowledgement of its subscription, or believe that it was."""
    del hop
    links = list(core.neighbours.values())
    return flip_answered(core, random.choice(links), random) if links else ""


def forget_barrier(core: BrokerCore, random: Random) -> str:
    """Forget that a local publisher waits until its advertisement is known."""
    crossings = core._routing.barrier._crossings
    waiting = [each for each in core.tables.local.filters if each in crossings]
    if not waiting:
        return ""
    gone = random.choice(waiting)
    del crossings[gone]
    return f"{core.name} forgot that {gone} waits for its barrier"


def drop_local_advertisement(core: BrokerCore, random: Random) -> str:
    """Remove the advertisement of a local publisher."""
    known = list(core.tables.local.filters)
    if not known:
        return ""
    gone = random.choice(known)
    core.tables.local.remove(gone)
    return f"{core.name} lost the advertisement {gone} of a client"


def invent_local_advertisement(core: BrokerCore, random: Random) -> str:
    """Add an advertisement of a publisher that there is not, or give one another filter."""
    invented = random.choice([f"{GARBAGE}{random.randrange(2**30)}", *core.tables.local.filters])
    core.tables.local.remove(invented)
    core.tables.local.add(invented, _some_filter(random))
    return f"{core.name} has an invented advertisement {invented} of a client"


CORRUPTIONS: Final[tuple[Callable[[BrokerCore, Hop, Random], str], ...]] = (
    drop_entry,
    invent_entry,
    change_filter,
    flip_gate,
    drop_advertisement,
    invent_advertisement,
    forget_announcement,
    invent_announcement,
    forget_announced_advertisement,
    forget_offer,
)
"""All changes of what came over links, each as likely as the others."""

SUBSCRIPTION_CORRUPTIONS: Final = (drop_entry, invent_entry, change_filter, flip_answered, flip_owed)
PUBLISHER_CORRUPTIONS: Final = (drop_local_advertisement, invent_local_advertisement, forget_barrier)
"""All changes of what local clients have asked for, and of what clients and neighbours are owed."""
