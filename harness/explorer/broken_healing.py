"""One law of healing broken per function: each leaves survivors apart, or loses events."""

from collections.abc import Collection, Iterator, Sequence

from broker.core.hops import Hop
from broker.core.membership import Directory
from broker.healing import Candidate, Roster, Search
from broker.healing.roster import Locations
from broker.messages import Whereabouts
from ordering.interface import Emission, Hops
from ordering.pairwise import Pairwise

_uplink_changed = Pairwise.uplink_changed


def dials_the_smallest(self: Search, roster: Roster, below: frozenset[str]) -> Candidate | None:
    """Dial the smallest known name, be it dead, below this broker, or its own."""
    del self, below
    name = min(roster.places)
    return Candidate(roster.address_of(name), name, "smallest name")


def tries_nobody_twice(self: Search) -> None:
    """Begin a round without the candidates of earlier ones."""
    self.round += 1


def goes_up_only(self: Search, roster: Roster) -> Iterator[tuple[str, str]]:
    """Try only the brokers above the lost uplink: the children of a lost root stay apart."""
    yield from ((name, "above the lost uplink") for name in roster.ancestors(self.name))


def knows_its_fellows_only(self: Search, roster: Roster) -> Iterator[tuple[str, str]]:
    """Try only brokers above and siblings: the children of several lost brokers stay apart."""
    yield from ((name, "above the lost uplink") for name in roster.ancestors(self.name))
    yield from ((name, "child of the same uplink") for name in self._smaller(roster.fellows(self.name)))


def waits_for_larger_names(self: Search, roster: Roster) -> Iterator[tuple[str, str]]:
    """Never try a larger name, even if that broker does not know of this one."""
    yield from ((name, "above the lost uplink") for name in roster.ancestors(self.name))
    yield from ((name, "smaller name") for name in self._smaller(sorted(roster.places)))


def believes_itself_below(self: Search, roster: Roster, below: frozenset[str]) -> list[Candidate]:
    """Leave out the brokers that were above, as if they were below."""
    above = roster.ancestors(self.name)
    return [each for each in self._all(roster) if each.name not in {*below, *above, self.name}]


def passes_nothing_on(self: Directory, message: Whereabouts, link: Hop) -> None:
    """Learn the news of a neighbour without passing them on."""
    del link
    self.roster.learn(message.places)


def says_nothing_when_attached(self: Directory, uplink: Hop) -> None:
    """Attach without sending where this broker and those below it are."""
    self._send_news(self.roster.attached_to(uplink.name))
    self._informed[uplink] = None


def forgets_with_the_link(self: Directory, link: Hop) -> None:
    """Forget all other brokers when a link is lost."""
    self._informed.pop(link, None)
    own = self.roster.own
    self.roster.places = {} if own is None else {own.name: own}


def remains_below(self: Roster, below: Collection[str]) -> Locations:
    """Announce, as a root, the uplink that it had, even if that has come below it."""
    del self, below
    return ()


def drops_what_waits(self: Pairwise, uplink: Hops) -> Sequence[Emission]:
    """Drop what is pending for a lost uplink instead of emitting it (R8)."""
    if not uplink:
        self._pending.clear()
        self._awaiting.clear()
        self._open_requests = self.waiting_count = 0
    return _uplink_changed(self, uplink)
