"""A simulated broker with a journal: its station, what is on its disk, and what it holds back until then.

Laws.

1. What an input leads to leaves the broker when the journal has been synced after it, never before.
2. A crash loses what is held back, and of the records that were not synced all but a prefix: the disk may
   have got some of them.
3. A restart begins with the newest snapshot and applies the records after it.
"""

from attrs import Factory, define, field

from broker.core import Effects, Hop
from broker.routing import DEFAULT, Routing
from broker.station import Station, picture_of, recover
from harness.simulator.network import Port, Site
from harness.simulator.nowhere import NOWHERE
from ordering.interface import OrderingFactory


@define(eq=False)
class Keeper:
    """What survives a crash of a broker, and what does not.

    `acknowledged` is what neighbours were told; they are told again once `patience` more messages have come.
    """

    ordering: OrderingFactory
    station: Station
    port: Port
    patience: int = 1
    routing: Routing = DEFAULT
    records: list[bytes] = Factory(list)
    synced: int = 0
    snapshot: bytes | None = None
    snapshot_upto: int = 0
    held: list[Effects] = Factory(list)
    acknowledged: dict[Hop, int] = field(factory=dict, init=False)

    def hold(self, effects: Effects) -> list[Effects]:
        """Hold back what a step led to; return what may leave already: nothing."""
        self.held.append(effects)
        return []

    def on_disk(self, hop: Hop) -> int:
        """How many messages of a session have come and are on disk, if everything has just been synced."""
        return self.station.links[hop.name].received

    def acknowledges_early(self) -> bool:
        """Whether what has just come may be acknowledged before it is on disk: no."""
        return False

    def sync(self) -> list[Effects]:
        """Everything appended is on disk now; return what may leave."""
        self.synced = len(self.records)
        held, self.held = self.held, []
        return held

    def take_picture(self) -> None:
        """Write a snapshot; it is there once everything before it is."""
        self.snapshot, self.snapshot_upto = picture_of(self.station), len(self.records)

    def crash(self, surviving: int) -> None:
        """Lose what is not on disk, but for some records that got there without anybody knowing (law 2)."""
        self.synced = min(self.synced + surviving, len(self.records))
        del self.records[self.synced :]
        self.held.clear()
        self.acknowledged.clear()

    def restart(self) -> Station:
        """Make the station again out of what is on disk (law 3)."""
        name, incarnation = self.station.name, self.station.incarnation
        after = self.records[self.snapshot_upto :]
        station = recover(name, self.ordering, "", self.snapshot, after, self.routing)
        if station is None:
            station = Station(name, self.ordering, incarnation, routing=self.routing)
        self.station = station
        self.station.begin(self.records.append)
        return self.station


def keep(
    site: Site, ordering: OrderingFactory, routing: Routing, incarnation: str, knobs: tuple[float, int]
) -> None:
    """Give a site a journal that is synced so eagerly, and its patience; its core is its station's."""
    weight, patience = knobs
    station = Station(site.name, ordering, incarnation, routing=routing)
    site.keeper = Keeper(ordering, station, Port(f"{site.name}!", site, NOWHERE, weight), patience, routing)
    site.inputs, site.core = station, station.core
    station.begin(site.keeper.records.append)
