"""The liveness phase of a schedule: messages in flight arrive, trees are joined, and nothing may be left.

A world at rest is checked against a computation from scratch: every routing table, every gate, every barrier.
A wrong route shows here at once, long before a subscriber misses a publication.
"""

from typing import Final

from broker.core import Hop
from broker.core.tables import route_filter_of
from broker.routing import RouteFilter
from broker.routing.flooding import EVERYTHING
from harness.simulator.expected import (
    expected_advertisements,
    expected_subscriptions,
    is_as_it_should,
)
from harness.simulator.healing import heal_all
from harness.simulator.leasing import clients_of, recover, renew_all, wrong_leases
from harness.simulator.network import Site, sites_beyond
from harness.simulator.world import RestlessError, World

LEFT_TO_DO: Final = (
    "waiting",
    "closed_gates",
    "settling",
    "open_barriers",
    "open_floods",
    "joining",
    "attachments",
    "moves",
    "steps",
    "replays",
    "crossing",
)
"""The counts of a core that are zero at rest."""

ROUNDS_MAX: Final = 40
"""More rounds of joining trees than there are brokers in a schedule with faults."""


def rest(world: World) -> list[tuple[str, str]]:
    """Bring the world to rest; return what is wrong then, as faults."""
    try:
        if world.leasing.is_damaged:  # What goes in circles does so until the next lease.
            renew_all(world)
        world.do(("drain",))
        heals = all(site.search is not None for site in world.sites.values())
        wrong = heal_all(world) if heals and world.sites else _join_all(world)
        recover(world)
        if world.leasing.is_damaged:  # A broker may have given up a link whose two ends did not agree.
            wrong = heal_all(world) if heals and world.sites else _join_all(world)
            recover(world)
    except RestlessError as error:
        return [("stuck", str(error))]
    return wrong or [*wrong_leases(world), *wrong_at_rest(world)]


def wrong_at_rest(world: World) -> list[tuple[str, str]]:
    """Compare a world at rest with a computation from scratch."""
    return [
        *_left_over(world),
        *_wrong_tables(world),
        *_wrong_local_entries(world),
        *_wrong_interest(world),
        *_wayless(world),
        *_unanswered(world),
    ]


def go_on(world: World) -> list[tuple[str, str]]:
    """Let every publisher publish once more of every kind, and all of it arrive; return faults."""
    try:
        for publisher in list(world.publishers.values()):
            for kind in publisher.kinds:
                world.do(("publish", publisher.name, kind))
        world.do(("drain",))
    except RestlessError as error:
        return [("stuck", str(error))]
    return []


def _join_all(world: World) -> list[tuple[str, str]]:
    for _ in range(ROUNDS_MAX):
        roots = [site for site in world.sites.values() if site.core.uplink is None]
        stuck = [site.name for site in roots if site.dialling is not None]
        if stuck:
            return [("stuck", f"{name} waits for ever to be attached") for name in stuck]
        if len(roots) < 2:  # noqa: PLR2004 - one tree is left
            return []
        for root in roots[1:]:
            world.do(("dial", root.name, roots[0].name))
            world.do(("drain",))
    return [("stuck", "the trees do not join")]


def _left_over(world: World) -> list[tuple[str, str]]:
    """Return everything that a broker or a client still waits for."""
    wrong = []
    for site in world.sites.values():
        counts = site.core.counts()
        waits = {name: counts[name] for name in LEFT_TO_DO if counts[name]}
        if waits:
            wrong.append(("stuck", f"{site.name} still has {waits}: {site.core!r}"))
    barred = [f"{p.name} may never publish" for p in world.publishers.values() if not p.is_ready]
    closed = [f"the gates of {s.name} never open" for s in world.subscribers.values() if not s.is_open]
    return [*wrong, *(("stuck", text) for text in (*barred, *closed))]


def _wrong_tables(world: World) -> list[tuple[str, str]]:
    """Compare every broker's tables with the present publishers and subscriptions."""
    wrong = []
    for site in world.sites.values():
        tables = site.core.tables
        for hop in site.core.neighbours.values():
            behind, this_side = sites_beyond(site, hop), _this_side(site, hop)
            published = [RouteFilter(p.name, p.filter) for p in world.publishers.values() if p.site in behind]
            here = [p.filter for p in world.publishers.values() if p.site in this_side]
            wanted = [
                RouteFilter(s.name, s.filter, world.record.streams[s.name].ordered)
                for s in world.subscribers.values()
                if s.site in behind
            ]
            known = [
                RouteFilter(name, content) for name, content in tables.advertisements(hop).filters.items()
            ]
            entries = map(route_filter_of, tables.entries_of(hop).values())
            expected = expected_subscriptions(world.routing, wanted, here)
            everything = [EVERYTHING.filter]
            some = everything if world.routing.advertisements.floods else here
            for what, has, should, of in (
                ("advertisements", known, expected_advertisements(world.routing, published), everything),
                ("subscriptions", list(entries), expected, some),
            ):
                if not is_as_it_should(getattr(world.routing, what), has, should, of):
                    text = f"{site.name} knows the {what} {_listed(has)} through {hop.name}"
                    wrong.append(("tables", f"{text}, not {_listed(should)}"))
    return wrong


def _wrong_local_entries(world: World) -> list[tuple[str, str]]:
    """Compare what every broker has for its own clients with what these have asked for."""
    wrong = []
    for site in world.sites.values():
        clients, tables = clients_of(world, site), site.core.tables
        local = [each for each in tables.entries() if not each.hop.is_link]
        if {each.id: (each.filter, each.ordered) for each in local} != clients.subscriptions:
            wrong.append(("tables", f"{site.name} has {local} for its clients"))
        if tables.local.filters != clients.publishers:
            wrong.append(("tables", f"{site.name} has the publishers {tables.local.filters}"))
    return wrong


def _wayless(world: World) -> list[tuple[str, str]]:
    """Return what brokers of one tree cannot be moved to step by step, although they know all addresses.

    The next step to a broker leads to the one behind the uplink, on the way there.
    """
    if sum(site.core.uplink is None for site in world.sites.values()) != 1:
        return []
    wrong = []
    for site in world.sites.values():
        uplink = site.core.uplink
        if uplink is None or not all(map(site.core.roster.address_of, world.sites)):
            continue
        parent = site.outgoing[uplink].site
        for hop in parent.core.neighbours.values():
            if (following := parent.outgoing[hop].site) is site:
                continue
            for other in sites_beyond(parent, hop):
                if (step := site.core.moves.next_step(other.name)) != following.name:
                    text = f"{site.name} would go to {step or 'nobody'} and not to {following.name}"
                    wrong.append(("wayless", f"{text}, for {other.name}: {site.core.roster!r}"))
    return wrong


def _unanswered(world: World) -> list[tuple[str, str]]:
    """Return the moves of which the asker has not learnt once how they ended: what is lost takes it along."""
    if world.has_losses or world.leasing.corruptions:
        return []
    ends = world.moves.items()
    return [("stuck", f"{question} has ended {count} times") for question, count in ends if count != 1]


def _listed(routes: list[RouteFilter]) -> list[str]:
    return sorted(f"{route.id}: {route.filter}{'' if route.ordered else ' unordered'}" for route in routes)


def _wrong_interest(world: World) -> list[tuple[str, str]]:
    """Compare the notices of interest that publishers got with the subscriptions of their tree.

    Where announced filters may take more than the subscriptions do, a publisher may be wanted by none.
    """
    wrong = []
    for publisher in world.publishers.values():
        tree = {publisher.site}.union(
            *(sites_beyond(publisher.site, hop) for hop in publisher.site.core.neighbours.values())
        )
        listeners = [
            s.name
            for s in world.subscribers.values()
            if s.site in tree and set(s.kinds) & set(publisher.kinds)
        ]
        strategy = world.routing.subscriptions
        is_excused = not strategy.is_perfect and publisher.is_wanted
        if publisher.is_wanted is not bool(listeners) and not is_excused:
            notice = "wanted" if publisher.is_wanted else "not wanted"
            wrong.append(("interest", f"{publisher.name} counts as {notice}, and {listeners} listen"))
    return wrong


def _this_side(site: Site, hop: Hop) -> set[Site]:
    """Return the broker and all brokers behind its other links."""
    others = [other for other in site.core.neighbours.values() if other is not hop]
    return {site}.union(*(sites_beyond(site, other) for other in others))
