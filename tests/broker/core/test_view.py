"""What an ordering plugin sees of the routing tables."""

from broker.core import BrokerCore
from broker.filters import parse
from broker.messages import Publication
from ordering.fifo import Fifo
from ordering.interface import Context, Emission, Event, Hops, NoTables, Route
from tests.broker.core.network import Network


class Looker(Fifo):
    """Fifo with eyes: the tables match each publication as its route does."""

    contexts: dict[str, Context] = {}  # noqa: RUF012 - one per test, cleared there

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.contexts[context.broker] = context

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> list[Emission]:
        matching = self._context.tables.matching(event, origin)
        union = 0
        for subscription in matching:
            union |= subscription.hop
        assert union == route.targets
        return list(super().publication(event, origin, mark, route))


def looked() -> Network:
    Looker.contexts.clear()
    network = Network(Looker)
    network.chain("A", "B", "C")
    network.subscribe("A", "s", "x > 0")
    network.subscribe("C", "t", "x > 5", ordered=False)
    network.advertise("B", "p", "x > 0")
    network.advertise("C", "q", "x < 9")
    network.settle()
    return network


def test_what_is_known_through_links_is_seen() -> None:
    network = looked()
    tables = Looker.contexts["B"].tables
    to_a, to_c = (network.hops["B", name].bit for name in ("A", "C"))
    assert [(each.id, each.hop) for each in tables.advertisements()] == [("q", to_c)]
    assert [(each.id, each.ordered, each.hop) for each in tables.subscriptions()] == [
        ("s", True, to_a),
        ("t", False, to_c),
    ]
    (advertised,) = tables.advertisements()
    s, t = tables.subscriptions()
    assert advertised.filter.overlaps(s.filter)
    assert advertised.filter.overlaps(t.filter)
    assert not parse("x > 9").overlaps(parse("x < 5"))


def test_matching_is_what_the_route_is_made_of() -> None:
    network = looked()
    for broker, publisher in (("B", "p"), ("C", "q")):
        for x in (1, 7):
            network.publish(broker, publisher, x=x)
    network.settle()
    assert len(network.got("s")) == 4
    assert len(network.got("t")) == 2


def test_the_version_changes_with_what_is_seen_and_with_nothing_else() -> None:
    network = looked()
    tables = Looker.contexts["B"].tables
    before = tables.version
    network.publish("B", "p", x=7)
    network.settle()
    assert tables.version == before
    network.unadvertise("C", "q")
    network.settle()
    assert tables.version > before
    before = tables.version
    network.unsubscribe("A", "s")
    network.settle()
    assert tables.version > before


def test_a_plugin_may_be_made_without_a_broker() -> None:
    tables = NoTables()
    event = Publication("p", 1, {}, True, b"")
    assert [*tables.advertisements(), *tables.subscriptions(), *tables.matching(event, 0)] == []
    assert BrokerCore("A", Fifo).measures == Fifo().measures
