"""The locations of all brokers as one broker knows them: where each can be dialled, and its last uplink.

Laws.

1. A broker alone announces its location, with a number for each version: of two the later counts everywhere.
   So it does not matter in which order, over which links or how often locations come, and all brokers that
   got the same ones know the same.
2. A broker that gets an outdated location of its own from an earlier run, which it does not remember,
   announces the true one with a later number.
3. No location is forgotten because a link is lost: healing goes by the locations known then. A broker that
   cannot be dialled costs an attempt now and then, and a few bytes.
4. A broker's uplink is the last one it was attached to. So a child of a lost root still knows its siblings
   and its ancestors, nearest first.
5. A root has none any more once that one, or one known to be above that, is below it. So in one tree the
   known uplinks form no ring, and all ways up end at the root.
"""

from collections.abc import Collection, Iterable
from typing import Final

from attrs import define, evolve, field, frozen

BROKERS_MAX: Final = 10_000
"""More brokers than an overlay has. Locations of further ones are ignored: a megabyte is in memory at
most."""

VERSION_MAX: Final = 2**62
"""No broker moves so often. A larger number is forged, and would leave no room for a later one."""


@frozen
class Location:
    """One broker's location. Of two locations of one broker the one with the larger version counts.

    `address` is "" if no broker can dial it, `uplink` the name of the last broker it was attached to, or ""
    (laws 4 and 5).
    """

    name: str
    version: int
    address: str
    uplink: str


Locations = tuple[Location, ...]


@define(eq=False)
class Roster:
    """All locations that `name` knows. Methods return the locations that are new and must be announced."""

    name: str
    places: dict[str, Location] = field(factory=dict, init=False)

    @property
    def own(self) -> Location | None:
        """Return the location of this broker, if it has one."""
        return self.places.get(self.name)

    # --- our own location ---

    def reached_at(self, address: str) -> Locations:
        """Set the address at which this broker can be dialled; "" if it cannot be."""
        own = self.own
        if own is None:
            return self._set_own(Location(self.name, 1, address, ""))
        return self._set_own(evolve(own, address=address))

    def attached_to(self, uplink: str) -> Locations:
        """Set the uplink of this broker."""
        own = self.own
        return () if own is None else self._set_own(evolve(own, uplink=uplink))

    def root_of(self, below: Collection[str]) -> Locations:
        """Forget the last uplink if these brokers, which are below this one, a root, are above it (law 5)."""
        own = self.own
        if own is None or not any(name in below for name in self.ancestors(self.name)):
            return ()
        return self._set_own(evolve(own, uplink=""))

    def _set_own(self, location: Location) -> Locations:
        own = self.own
        if own is not None:
            if location == own:
                return ()
            location = evolve(location, version=own.version + 1)
        self.places[self.name] = location
        return (location,)

    # --- locations of others ---

    def learn(self, places: Iterable[Location]) -> Locations:
        """Take and return the locations that are later than the known ones."""
        return tuple(location for location in places if self._is_news(location))

    def _is_news(self, location: Location) -> bool:
        if location.name == self.name or location.version > VERSION_MAX:
            return False
        known = self.places.get(location.name)
        if known is None and len(self.places) >= BROKERS_MAX:
            return False
        if known is not None and _rank(location) <= _rank(known):
            return False
        self.places[location.name] = location
        return True

    def contradict(self, places: Iterable[Location]) -> Locations:
        """Return the true location if one of these is a later one of this broker, with a later number."""
        own = self.own
        if own is None:
            return ()
        outdated = [p.version for p in places if p.name == self.name and _rank(p) > _rank(own)]
        if not outdated or max(outdated) >= VERSION_MAX:
            return ()
        self.places[self.name] = location = evolve(own, version=max(outdated) + 1)
        return (location,)

    def everything(self) -> Locations:
        """Return all locations, in the order in which the brokers became known."""
        return tuple(self.places.values())

    # --- queries ---

    def address_of(self, name: str) -> str:
        """Return where to dial a broker, or "" if that is not known."""
        location = self.places.get(name)
        return "" if location is None else location.address

    def uplink_of(self, name: str) -> str:
        """Return the last known uplink of a broker, or ""."""
        location = self.places.get(name)
        return "" if location is None else location.uplink

    def ancestors(self, name: str) -> list[str]:
        """Return the known ancestors of a broker, nearest first; the known uplinks may be a ring."""
        found: dict[str, None] = {}
        ancestor = self.uplink_of(name)
        while ancestor and ancestor != name and ancestor not in found:
            found[ancestor] = None
            ancestor = self.uplink_of(ancestor)
        return list(found)

    def fellows(self, name: str) -> list[str]:
        """Return the other children of the broker's last uplink, smallest name first."""
        uplink = self.uplink_of(name)
        if not uplink:
            return []
        return sorted(p.name for p in self.places.values() if p.uplink == uplink and p.name != name)

    def __len__(self) -> int:
        return len(self.places)


def _rank(location: Location) -> tuple[int, str, str]:
    """Return a sort key: two locations of the same number come from two runs, and any fixed order will do."""
    return location.version, location.address, location.uplink
