"""What a routing strategy must do to be legal, checked from outside while brokers run.

G. Mühl's criterion (definition 3.4): whatever `administer` does, publications reach every subscriber if after
every step of a broker B, caused by S,

1. the step ends;
2. (a) if S is a client, B sends it exactly what it wants; (b) if S is a neighbour, B sends it at least what S
   needed when it sent the messages that B has received; (c) B's entries for others do not change;
3. B announces to every other neighbour H that does not send B as much as S wants.

Here (b) and (3) are one question: the check notes what B needs of H, and how many messages B has sent to H by
then. As soon as H has received so many, it must send B at least that. The witness says whether B announced
too little, or nothing.

Acknowledgements are no part of the criterion. A withdrawn entry may serve until its replacement is open
(`broker.core.gates`), so (c) allows entries for others to go if enough is left.

Ordering may delay control messages. So this is checked under `fifo`, which delays none.
"""

from collections import deque
from collections.abc import Iterator

from attrs import Factory, define, frozen

from broker.core import Hop
from harness.explorer.configurations import Kinds, inexact, needed, nu
from harness.simulator.network import Port, Site
from harness.simulator.world import World


@frozen
class _Need:
    """What a broker needs of a neighbour, and the messages by which it has announced that, if any.

    After a step that received several messages, the needs between them are unknown.
    """

    kinds: Kinds
    first: int
    last: int
    is_one_step: bool = True

    @property
    def is_silent(self) -> bool:
        """Return whether nothing was announced to the neighbour."""
        return self.first == self.last


@define(eq=False)
class _WatchedLink:
    """One direction of a link: the needs of its sender, and how many messages its receiver has taken."""

    needs: deque[_Need] = Factory(deque)
    sent: int = 0
    taken: int = 0


@define(eq=False)
class LegalityWatch:
    """Checks every step of a world whose tree does not change any more."""

    _world: World
    wrong: list[str] = Factory(list)
    _links: dict[Port, _WatchedLink] = Factory(dict)
    _entries: dict[Site, dict[Hop, frozenset[str]]] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        for site in self._world.sites.values():
            self._entries[site] = _entries(site)
            for hop in site.core.neighbours.values():
                link = self._links[site.outgoing[hop]] = _WatchedLink(sent=len(site.outgoing[hop].queue))
                link.needs.append(_Need(needed(site, hop), 0, link.sent))

    def step(self, site: Site, port: Port | None, count: int) -> None:
        """Check a step: a broker has received so many messages, or its client did something."""
        if port is not None:
            self._links[port].taken += count
        for hop in site.core.neighbours.values():
            self._note_needs(site, hop, is_one_step=count <= 1)
        self.wrong += inexact(self._world, site)
        self.wrong += self._lacking(site)
        self.wrong += self._touched(site, port)

    def rest(self) -> None:
        """Check once more when everything has arrived."""
        for site in self._world.sites.values():
            self.wrong += self._lacking(site)

    def _note_needs(self, site: Site, hop: Hop, *, is_one_step: bool) -> None:
        port = site.outgoing[hop]
        link = self._links[port]
        sent = link.taken + len(port.queue)
        kinds = needed(site, hop)
        if kinds != link.needs[-1].kinds or (sent > link.sent and not is_one_step):
            link.needs.append(_Need(kinds, link.sent, sent, is_one_step))
        link.sent = sent

    def _lacking(self, site: Site) -> Iterator[str]:
        """Yield what this broker does not send to neighbours that need it (2b, 3)."""
        for hop in site.core.neighbours.values():
            back = site.outgoing[hop].back
            link = self._links[back]
            while len(link.needs) > 1 and link.needs[1].last <= link.taken:
                link.needs.popleft()
            need = link.needs[0]
            missing = need.kinds - nu(site, hop)
            if len(link.needs) > 1 and link.needs[1].first < link.taken:  # Some of these have arrived.
                following = link.needs[1]
                missing = missing & following.kinds if following.is_one_step else frozenset()
            if missing:
                why = (
                    f"{hop.name} announced nothing (3)" if need.is_silent else "it has received the need (2b)"
                )
                yield f"{site.name} does not send {''.join(sorted(missing))} to {hop.name}, and {why}"

    def _touched(self, site: Site, port: Port | None) -> Iterator[str]:
        """Yield new entries for neighbours that have sent nothing (2c)."""
        before, after = self._entries[site], _entries(site)
        self._entries[site] = after
        for hop in site.core.neighbours.values():
            new = after[hop] - before[hop]
            if new and (port is None or port.hop is not hop):
                yield f"{site.name} has {sorted(new)} for {hop.name}, which announced nothing (2c)"


def _entries(site: Site) -> dict[Hop, frozenset[str]]:
    tables = site.core.tables
    return {hop: frozenset(tables.entries_of(hop)) for hop in site.core.neighbours.values()}
