"""What programs know of what is on offer, compared at rest with what stands at the brokers."""

from collections.abc import Iterator

from broker.filters import parse
from broker.node import Node
from broker.routing.flooding import EVERYTHING
from harness.simulator.verdict import Fault
from harness.whole.programs import Program
from harness.whole.world import WholeWorld


def misinformed(world: WholeWorld) -> Iterator[Fault]:
    """Yield programs whose last list of advertisements is not what stands."""
    for program in world.live_programs():
        node = world.sites[program.site].node
        if program.offers is None or node is None:
            continue
        stands = _standing(world, node, program)
        if program.offered != stands:
            wrong = sorted(program.offered.items() ^ stands.items())
            yield "promise", f"{program.name} at {program.site} does not know of offers as they are: {wrong}"


def _standing(world: WholeWorld, node: Node, program: Program) -> dict[str, str]:
    """Return what a program should know: from all brokers' publishers where each is announced by itself."""
    if world.routing.advertisements.is_exact and not world.routing.advertisements.floods:
        nodes = [site.node for site in world.live_sites() if site.node is not None]
        known = {each.id: each.filter for one in nodes for each in one.exchange.publishers.values()}
    else:
        known = node.exchange.core.tables.advertisements_but(None)
    assert program.offers is not None, "it watches"
    asked = parse(program.offers.filter)
    return {
        identity: str(content)
        for identity, content in known.items()
        if identity != EVERYTHING.id and content.overlaps(asked)
    }
