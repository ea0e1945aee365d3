"""What programs know of what is on offer, compared at rest with what stands at the brokers."""

from collections.abc import Iterator, Mapping

from broker.client.offers import Offers
from broker.filters import Filter, parse
from broker.node import Node
from broker.routing.flooding import EVERYTHING
from harness.simulator.verdict import Fault
from harness.whole.world import WholeWorld


def misinformed(world: WholeWorld) -> Iterator[Fault]:
    """Yield programs whose last list of advertisements is not what stands."""
    for program in world.live_programs():
        node = world.sites[program.site].node
        if program.offers is None or node is None:
            continue
        stands = overlapping(_standing(world, node), program.offers)
        if program.offered != stands:
            wrong = sorted(program.offered.items() ^ stands.items())
            yield "promise", f"{program.name} at {program.site} does not know of offers as they are: {wrong}"


def _standing(world: WholeWorld, node: Node) -> Mapping[str, Filter]:
    """Return what a broker should know: all brokers' publishers where each is announced by itself."""
    if not world.routing.advertisements.is_exact or world.routing.advertisements.floods:
        return node.exchange.core.tables.advertisements_but(None)
    nodes = [site.node for site in world.live_sites() if site.node is not None]
    return {each.id: each.filter for one in nodes for each in one.exchange.publishers.values()}


def overlapping(known: Mapping[str, Filter], offers: Offers) -> dict[str, str]:
    """Return what of these advertisements a program should know."""
    asked = parse(offers.filter)
    return {
        identity: str(content)
        for identity, content in known.items()
        if identity != EVERYTHING.id and content.overlaps(asked)
    }
