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
   the brokers above it, nearest first.
"""

from collections.abc import Iterable
from typing import Final

from attrs import define, evolve, field, frozen

BROKERS_MAX: Final = 10_000
"""More brokers than an overlay has. Words of further ones are not taken: a megabyte is kept at most."""

VERSION_MAX: Final = 2**62
"""No broker moves so often. A larger number is none of ours, and would leave no room for a later one."""


@frozen
class Place:
    """One broker's word. Of two words of one broker the one with the larger number counts.

    `address` is "" if nobody can dial it, `uplink` the name of the last broker it was attached to, or "".
    """

    name: str
    version: int
    address: str
    uplink: str


Places = tuple[Place, ...]


@define(eq=False)
class Roster:
    """Everything `name` has heard. What a method returns is new and has to be told on."""

    name: str
    places: dict[str, Place] = field(factory=dict, init=False)

    @property
    def own(self) -> Place | None:
        """Our own word, if we have given one."""
        return self.places.get(self.name)

    # --- our own word ---

    def reached_at(self, address: str) -> Places:
        """We can be dialled at this address; "" if we cannot be."""
        own = self.own
        if own is None:
            return self._say(Place(self.name, 1, address, ""))
        return self._say(evolve(own, address=address))

    def attached_to(self, uplink: str) -> Places:
        """We are a child of that broker now."""
        own = self.own
        return () if own is None else self._say(evolve(own, uplink=uplink))

    def _say(self, place: Place) -> Places:
        own = self.own
        if own is not None:
            if place == own:
                return ()
            place = evolve(place, version=own.version + 1)
        self.places[self.name] = place
        return (place,)

    # --- others' words ---

    def learn(self, places: Iterable[Place]) -> Places:
        """Take what is later than what we know."""
        return tuple(place for place in places if self._is_news(place))

    def _is_news(self, place: Place) -> bool:
        if place.name == self.name or place.version > VERSION_MAX:
            return False
        known = self.places.get(place.name)
        if known is None and len(self.places) >= BROKERS_MAX:
            return False
        if known is not None and _rank(place) <= _rank(known):
            return False
        self.places[place.name] = place
        return True

    def contradict(self, places: Iterable[Place]) -> Places:
        """Say the truth again if these hold a word of ours that would count more than our present one."""
        own = self.own
        if own is None:
            return ()
        outdated = [p.version for p in places if p.name == self.name and _rank(p) > _rank(own)]
        if not outdated or max(outdated) >= VERSION_MAX:
            return ()
        self.places[self.name] = place = evolve(own, version=max(outdated) + 1)
        return (place,)

    def everything(self) -> Places:
        """All that we know, in the order in which we first heard of each broker."""
        return tuple(self.places.values())

    # --- looking at it ---

    def address_of(self, name: str) -> str:
        """Where to dial a broker, or "" if that is not known."""
        place = self.places.get(name)
        return "" if place is None else place.address

    def uplink_of(self, name: str) -> str:
        """The last uplink of a broker that we know of, or ""."""
        place = self.places.get(name)
        return "" if place is None else place.uplink

    def ancestors(self, name: str) -> list[str]:
        """The brokers above one, nearest first, as far as we know them. What we know may be a ring."""
        found: dict[str, None] = {}
        above = self.uplink_of(name)
        while above and above != name and above not in found:
            found[above] = None
            above = self.uplink_of(above)
        return list(found)

    def fellows(self, name: str) -> list[str]:
        """The other children of the broker's last uplink, smallest name first."""
        uplink = self.uplink_of(name)
        if not uplink:
            return []
        return sorted(p.name for p in self.places.values() if p.uplink == uplink and p.name != name)

    def __len__(self) -> int:
        return len(self.places)


def _rank(place: Place) -> tuple[int, str, str]:
    """Two words of the same number come from two runs: any rule will do that is the same everywhere."""
    return place.version, place.address, place.uplink
