"""Which broker a broker without an uplink dials next.

A broker without an uplink is the root of its tree, meant to be or not, and goes through its candidates again
and again, in rounds. It begins anew when it has lost an uplink.

Laws.

1. In every round first the configured uplinks, in order of preference: a broker that restarts is found by
   those that belong below it.
2. A broker that has lost its uplink then tries the ancestors of that one, nearest first; then the other
   children of the lost uplink with a smaller name than its own, the smallest first; then all others with a
   smaller name. So brokers that lost their root agree: the one with the smallest name finds none and stays
   the root, the others attach to it, or to the next if it is gone too.
3. Every `FAR_EVERY`th round goes to all known brokers, those with a larger name too: one may not know of this
   broker. Only such rounds go beyond the configured uplinks once a broker has searched for so many, or if it
   never had an uplink: others that have lost theirs come to it, and it does not run after them.
4. No broker dials itself or a broker below it. That no cycle forms does not depend on it (R9), it saves
   tries.
5. A broker that is attached dials none, a preferred uplink that restarts included: moving costs a flood of
   routes, and a broker that comes and goes would make its neighbours move each time.

Why all survivors end in one tree: as long as there are two, some root has a candidate alive that is not below
it, at the latest in a far round. Its request climbs to another root, which grants it unless both ask in a
ring, and then one of the ring is granted (R9). Each attachment leaves one tree less, and no tree ever falls
apart by itself.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define, field, frozen

from broker.healing.roster import Roster
from broker.lines import json_line

FAR_EVERY: Final = 8
"""Rounds until all known brokers are tried. With the shell's waits between rounds that is longer than it
takes all children of a lost root to notice the loss, so that the smallest of them does not ask too early."""

CANDIDATES_DESCRIBED: Final = 32
"""The first of those that would be dialled: no person reads more, and they have to fit into one line."""


@frozen
class Candidate:
    """A broker to dial. `name` is "" if only its address is known; `why` is for people."""

    address: str
    name: str
    why: str


@define(eq=False)
class Search:
    """The rounds of one broker. `configured` are the addresses of its uplinks in order of preference.

    `moves` counts how often it was attached.
    """

    name: str
    configured: tuple[str, ...] = ()
    round: int = field(default=1, init=False)
    moves: int = field(default=0, init=False)
    present: Candidate | None = field(default=None, init=False)
    _tried: set[str] = field(factory=set, init=False)

    def next(self, roster: Roster, below: frozenset[str]) -> Candidate | None:
        """Return the candidate to dial now; None if the round is over."""
        for candidate in self._worth_a_try(roster, below):
            self._tried.add(candidate.address)
            return candidate
        return None

    def candidates(self, roster: Roster, below: frozenset[str]) -> list[Candidate]:
        """Return all candidates of the present round, those tried already included; `below` are names."""
        return [each for each in self._all(roster) if each.name not in below and each.name != self.name]

    def begin_round(self) -> None:
        """Begin another round, since no candidate took this broker."""
        self._tried.clear()
        self.round += 1

    def attached(self, candidate: Candidate) -> None:
        """Record the uplink; if it is lost too, the search begins anew."""
        self.present = candidate
        self.moves += 1
        self._tried.clear()
        self.round = 1

    def lost(self) -> None:
        """Record that the uplink is lost."""
        self.present = None

    @property
    def is_first_round(self) -> bool:
        """Return whether no candidate has been tried twice since the last loss."""
        return self.round == 1

    # --- candidates, in order ---

    def _worth_a_try(self, roster: Roster, below: frozenset[str]) -> list[Candidate]:
        return [each for each in self.candidates(roster, below) if each.address not in self._tried]

    def _all(self, roster: Roster) -> Iterator[Candidate]:
        known: set[str] = set()
        for address in self.configured:
            if address not in known:
                known.add(address)
                yield Candidate(address, self._name_at(address, roster), "configured uplink")
        for name, why in self._beyond_configured(roster):
            address = roster.address_of(name)
            if address and address not in known:
                known.add(address)
                yield Candidate(address, name, why)

    def _name_at(self, address: str, roster: Roster) -> str:
        """Return the broker at this address, if that is sure: an address may lead to another one."""
        names = [location.name for location in roster.everything() if location.address == address]
        return names[0] if len(names) == 1 and names[0] != self.name else ""

    def _beyond_configured(self, roster: Roster) -> Iterator[tuple[str, str]]:
        is_far = self.round % FAR_EVERY == 0
        had_uplink = self.moves > 0 or bool(roster.uplink_of(self.name))
        is_searching = self.round < FAR_EVERY and had_uplink
        if is_far or is_searching:
            yield from ((name, "above the lost uplink") for name in roster.ancestors(self.name))
            yield from (
                (name, "child of the same uplink") for name in self._smaller(roster.fellows(self.name))
            )
            yield from ((name, "smaller name") for name in self._smaller(sorted(roster.places)))
        if is_far:
            yield from ((name, "anybody known") for name in sorted(roster.places))

    def _smaller(self, names: list[str]) -> list[str]:
        return [name for name in names if name < self.name]


def describe_search(search: Search, roster: Roster, uplink: str | None, below: frozenset[str]) -> str:
    """Return the present uplink, how often it moved, and the candidates if it had none, as JSON."""
    own = roster.own
    candidates = search.candidates(roster, below)
    return json_line(
        {
            "broker": search.name,
            "address": own.address if own is not None else "",
            "uplink": uplink,
            "uplink_address": roster.address_of(uplink) if uplink is not None else None,
            "moves": search.moves,
            "round": search.round,
            "known": len(roster),
            "candidates": [
                {"address": each.address, "name": each.name, "why": each.why}
                for each in candidates[:CANDIDATES_DESCRIBED]
            ],
            "more_candidates": max(len(candidates) - CANDIDATES_DESCRIBED, 0),
        }
    )
