"""What one broker knows of all others: where each can be dialled, and whose child it was last.

Laws.

1. A broker alone says where it is, and gives each such word a number: of two the later counts everywhere.
   So it does not matter in which order, over which links or how often words come, and who has heard the same
   knows the same.
2. A broker that hears an outdated word of its own from an earlier run, which it does not remember, says the
   truth again with a later number.
3. Nothing is forgotten because a link is lost: what was known then is what healing goes by. A broker that
   nobody can dial costs an attempt now and then, and a few bytes.
4. A broker's uplink is the last one it was attached to. So a child of a lost root still knows its fellows and
   the brokers ancestor it, nearest first.
"""

from collections.abc import Iterable
from typing import Final

from attrs import define, evolve, field, frozen

BROKERS_MAX: Final = 10_000
"""More brokers than an overlay has. Words of further ones are not taken: a megabyte is kept at most."""

VERSION_MAX: Final = 2**62
"""No broker moves so often. A larger number is none of ours, and would leave no room for a later one."""


@frozen
class Location:
    """One broker's word. Of two words of one broker the one with the larger number counts.

    `address` is "" if nobody can dial it, `uplink` the name of the last broker it was attached to, or "".
    """

    name: str
    version: int
    address: str
    uplink: str


Locations = tuple[Location, ...]


@define(eq=False)
class Roster:
    """Everything `name` has heard. What a method returns is new and has to be told on."""

    name: str
    places: dict[str, Location] = field(factory=dict, init=False)

    @property
    def own(self) -> Location | None:
        """Our own word, if we have given one."""
        return self.places.get(self.name)

    # --- our own word ---

    def reached_at(self, address: str) -> Locations:
        """We can be dialled at this address; "" if we cannot be."""
        own = self.own
        if own is None:
            return self._set_own(Location(self.name, 1, address, ""))
        return self._set_own(evolve(own, address=address))

    def attached_to(self, uplink: str) -> Locations:
        """We are a child of that broker now."""
        own = self.own
        return () if own is None else self._set_own(evolve(own, uplink=uplink))

    def _set_own(self, location: Location) -> Locations:
        own = self.own
        if own is not None:
            if location == own:
                return ()
            location = evolve(location, version=own.version + 1)
        self.places[self.name] = location
        return (location,)

    # --- others' words ---

    def learn(self, places: Iterable[Location]) -> Locations:
        """Take what is later than what we know."""
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
        """Say the truth again if these hold a word of ours that would count more than our present one."""
        own = self.own
        if own is None:
            return ()
        outdated = [p.version for p in places if p.name == self.name and _rank(p) > _rank(own)]
        if not outdated or max(outdated) >= VERSION_MAX:
            return ()
        self.places[self.name] = location = evolve(own, version=max(outdated) + 1)
        return (location,)

    def everything(self) -> Locations:
        """All that we know, in the order in which we first heard of each broker."""
        return tuple(self.places.values())

    # --- looking at it ---

    def address_of(self, name: str) -> str:
        """Where to dial a broker, or "" if that is not known."""
        location = self.places.get(name)
        return "" if location is None else location.address

    def uplink_of(self, name: str) -> str:
        """The last uplink of a broker that we know of, or ""."""
        location = self.places.get(name)
        return "" if location is None else location.uplink

    def ancestors(self, name: str) -> list[str]:
        """The brokers ancestor one, nearest first, as far as we know them. What we know may be a ring."""
        found: dict[str, None] = {}
        ancestor = self.uplink_of(name)
        while ancestor and ancestor != name and ancestor not in found:
            found[ancestor] = None
            ancestor = self.uplink_of(ancestor)
        return list(found)

    def fellows(self, name: str) -> list[str]:
        """The other children of the broker's last uplink, smallest name first."""
        uplink = self.uplink_of(name)
        if not uplink:
            return []
        return sorted(p.name for p in self.places.values() if p.uplink == uplink and p.name != name)

    def __len__(self) -> int:
        return len(self.places)


def _rank(location: Location) -> tuple[int, str, str]:
    """Two words of the same number come from two runs: any rule will do that is the same everywhere."""
    return location.version, location.address, location.uplink
