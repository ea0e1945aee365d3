"""Stations joined by links in memory, driven by chance; every input meets a station and its double.

Law: when an input is recorded, the station is as it was before; what is not recorded changes nothing.
"""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final

from attrs import Factory, define, evolve

from broker.core import CoreEffects, Hop
from broker.filters import parse
from broker.messages import LinkMessage, Publication, PublicationsLost
from broker.replay import Bounds
from broker.replay_messages import ReplayCut
from broker.routing import DEFAULT
from broker.station import Station, SubscriptionTerms, recover, snapshot_of
from broker.station.inputs import frame_of
from broker.wire import encode_publication, publication_prefix
from ordering import plugins

KINDS: Final = "ab"
TREE: Final = (("B2", "B1"), ("B3", "B1"))

VERBS: Final = (
    "be_away",
    "subscribe",
    "replay",
    "replay_more",
    "advertise",
    "publish",
    "publish",
    "publish",
    "acknowledge",
    "take",
    "leave",
    "ask",
    "reach",
    "renew",
    "forget",
    "continue",
    "continue",
)

ROUTING: Final = evolve(DEFAULT, part_count=2)
"""A new neighbour learns what it is to know in many steps."""

End = tuple[str, str]
Change = Callable[[Station], object]


def publication(publisher: str, sequence: int, kind: str, *, ordered: bool = True) -> Publication:
    """One event with a whole frame."""
    frame = encode_publication(publication_prefix(publisher), sequence, 1, {"kind": kind}, b"x", ordered)
    return Publication(publisher, sequence, {"kind": kind}, ordered, frame, 0, 1)


def _comparable(message: LinkMessage) -> bytes | LinkMessage:
    # What goes to local subscriptions alone has no frame, and is a value.
    return message if isinstance(message, PublicationsLost | ReplayCut) else frame_of(message)


def seen(effects: CoreEffects) -> list[object]:
    """What a station wants done, in a form that compares between stations."""
    return [
        [(hop.name, list(map(_comparable, messages))) for hop, messages in effects.outgoing],
        effects.advertised,
        effects.subscribed,
        [hop.name for hop in effects.attached],
        [(hop.name, why) for hop, why in effects.rejected],
        effects.explained,
        effects.replaying,
    ]


@define(eq=False)
class Recorded:
    """A station, its records so far, and the last snapshot of it with the number of records before that."""

    station: Station
    records: list[bytes] = Factory(list)
    snapshot: bytes | None = None
    snapshot_at: int = 0
    before: bytes | None = None
    """The station before the input at hand; None once that is recorded."""

    def record(self, record: bytes) -> None:
        """Append a record, of an input that has not been applied."""
        if self.before is not None:
            assert snapshot_of(self.station) == self.before, "an input was applied before it was recorded"
            self.before = None
        self.records.append(record)

    def do(self, change: Change) -> None:
        """Change the station by one input."""
        self.before = snapshot_of(self.station)
        change(self.station)
        if self.before is not None:
            assert snapshot_of(self.station) == self.before, "an input was applied that was not recorded"
            self.before = None


@define(eq=False)
class Stations:
    """Everything that exists."""

    ordering: str
    random: Random
    brokers: dict[str, Recorded] = Factory(dict)
    hops: dict[End, Hop] = Factory(dict)
    wires: dict[End, deque[LinkMessage]] = Factory(dict)

    def start(self) -> None:
        for name in ("B1", "B2", "B3"):
            plugin = plugins.load(self.ordering)
            station = Station(name, plugin, f"{name}i", ordering_name=self.ordering, routing=ROUTING)
            self.brokers[name] = Recorded(station)
            station.begin(self.brokers[name].record)
            self._reach(name)
            # One publication at a time, and a cache that forgets: so a replay takes many steps.
            self.do(name, lambda station: station.bound_replays(Bounds(400, 100, 1, 1)))
        for child, parent in TREE:
            self.wires[child, parent] = deque()
            self.wires[parent, child] = deque()
            self._open(parent, child, uplink=False)
            self._open(child, parent, uplink=True)

    def _open(self, here: str, there: str, *, uplink: bool) -> None:
        session = f"{here}{there}{self.random.random()}"
        self.do(here, lambda station: station.open_link(there, session, uplink=uplink))
        self.hops[here, there] = self.brokers[here].station.links[there].hop

    def do(self, name: str, change: Change) -> None:
        """Change a station and its double, and compare what they want done and what they are then."""
        recorded = self.brokers[name]
        station = recorded.station
        double = recover(name, plugins.load(self.ordering), self.ordering, snapshot_of(station), (), ROUTING)
        assert double is not None
        recorded.do(change)
        change(double)
        effects = station.take()
        assert seen(effects) == seen(double.take())
        assert snapshot_of(station) == snapshot_of(double)
        if self.random.random() < 0.1:
            recorded.snapshot, recorded.snapshot_at = snapshot_of(station), len(recorded.records)
        for hop, messages in effects.outgoing:
            if hop.is_link:
                self.wires[name, hop.name].extend(messages)

    def step(self) -> None:
        """Something happens somewhere."""
        name = self.random.choice(list(self.brokers))
        if self.random.random() < 0.5:
            self._arrive()
            return
        if self.random.random() < 0.02:
            self._lose()
            return
        verb = self.random.choice(VERBS)
        getattr(self, f"_{verb}")(name)

    def _arrive(self) -> None:
        ends = [end for end, wire in self.wires.items() if wire]
        if not ends:
            return
        sender, receiver = self.random.choice(ends)
        wire = self.wires[sender, receiver]
        messages = [wire.popleft() for _ in range(min(len(wire), self.random.randint(1, 3)))]
        self.do(receiver, lambda station: station.receive(station.links[sender].hop, messages))

    def _reach(self, name: str) -> None:
        address = f"{name}:{self.random.randint(1, 3)}"
        self.do(name, lambda station: station.reached_at(address))

    def _subscribe(self, name: str) -> None:
        identity = self.brokers[name].station.mint("s")
        wanted = parse(f"kind == '{self.random.choice(KINDS)}'")
        terms = SubscriptionTerms(wanted, ordered=True, durable=self.random.choice(("", identity)))
        self.do(name, lambda station: station.subscribe(identity, terms))

    def _replay(self, name: str) -> None:
        identity = self.brokers[name].station.mint("s")
        past = (0, self.random.choice((0, 0, 3)))
        bound_bytes = self.random.choice((100, 10**6))
        terms = SubscriptionTerms(parse("kind == 'a'"), ordered=True, bound_bytes=bound_bytes)
        self.do(name, lambda station: station.subscribe(identity, terms, past))

    def _replay_more(self, name: str) -> None:
        for identity in list(self.brokers[name].station.subscriptions):
            self.do(name, _replaying(identity))

    def _advertise(self, name: str) -> None:
        identity = self.brokers[name].station.mint("p")
        self.do(name, lambda station: station.advertise(identity, parse("kind in ('a', 'b')"), client="p"))

    def _publish(self, name: str) -> None:
        ready = [place for place in self.brokers[name].station.publishers.values() if place.is_open]
        if ready:
            place = self.random.choice(ready)
            run = [
                publication(place.id, place.taken + more, self.random.choice(KINDS))
                for more in range(1, self.random.randint(2, 3))
            ]
            self.do(name, lambda station: station.publish(place.id, run))

    def _acknowledge(self, name: str) -> None:
        for neighbour, place in self.brokers[name].station.links.items():
            count = self.random.randint(place.acknowledged, place.sent)
            self.do(name, _acknowledging(neighbour, count))

    def _take(self, name: str) -> None:
        for identity, place in self.brokers[name].station.subscriptions.items():
            position = self.random.randint(place.taken, place.emitted)
            self.do(name, _taking(identity, position))
            if self.random.random() < 0.2 and place.emitted > place.taken:
                self.do(name, _dropping(identity))

    def _leave(self, name: str) -> None:
        station = self.brokers[name].station
        if station.subscriptions and self.random.random() < 0.5:
            identity = self.random.choice(list(station.subscriptions))
            self.do(name, lambda station: station.unsubscribe(identity))
        elif station.publishers:
            identity = self.random.choice(list(station.publishers))
            retire = self.random.random() < 0.5
            self.do(name, lambda station: station.unadvertise(identity, retire=retire))

    def _be_away(self, name: str) -> None:
        station = self.brokers[name].station
        passed_ms = self.random.randint(0, 10)
        self.do(name, lambda station: station.time_passed(passed_ms, passed_ms // 2, passed_ms))
        places = [("link", each) for each in station.links]
        places += [("publisher", each) for each in station.publishers]
        places += [("subscription", each) for each in station.subscriptions]
        kind, place = self.random.choice(places)
        verb = self.random.choice(("left", "left", "came"))
        self.do(name, lambda station: getattr(station, verb)(kind, place))

    def _ask(self, name: str) -> None:
        station = self.brokers[name].station
        if station.publishers:
            place = self.random.choice(list(station.publishers.values()))
            question = station.mint("?")
            self.do(name, lambda station: station.explain_way(question, place.id, place.taken))

    def _renew(self, name: str) -> None:
        self.do(name, Station.refresh)
        self.do(name, lambda station: station.sweep(2))

    def _continue(self, name: str) -> None:
        self.do(name, Station.continue_crossing)

    def _forget(self, name: str) -> None:
        self.do(name, lambda station: station.forget_before(2))

    def _lose(self) -> None:
        """A link is lost for good, and dialled again."""
        child, parent = self.random.choice(TREE)
        for here, there in ((child, parent), (parent, child)):
            self.wires[here, there].clear()
            self.do(here, _closing(there))
            self.wires[here, there].clear()
        self._open(parent, child, uplink=False)
        self._open(child, parent, uplink=True)


def _closing(neighbour: str) -> Change:
    return lambda station: station.close_link(station.links[neighbour].hop)


def _acknowledging(neighbour: str, count: int) -> Change:
    return lambda station: station.acknowledged(station.links[neighbour].hop, count)


def _taking(subscription: str, position: int) -> Change:
    return lambda station: station.taken(subscription, position)


def _replaying(subscription: str) -> Change:
    return lambda station: station.replay_more(subscription, 1)


def _dropping(subscription: str) -> Change:
    return lambda station: station.drop(subscription, 1)
