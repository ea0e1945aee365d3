"""What a routing strategy must do to be legal, watched from outside while brokers run.

G. Mühl's criterion (definition 3.4): whatever `administer` does, publications reach everybody if after every
step of a broker B, caused by S,

1. the step ends;
2. (a) if S is a client, B sends it exactly what it wants; (b) if S is a neighbour, B sends it at least what S
   needed when it sent what B has taken in; (c) what B has for others does not change;
3. every other neighbour H that does not send B as much as S wants is told so.

Here (b) and (3) are one question: what B needs of H is noted, and how many messages it has sent to H by then.
As soon as H has taken in so many, it must send B at least that. The witness says whether B told too little,
or nothing at all.

Acknowledgements are no part of the criterion. What has been withdrawn may serve on until what serves in its
place is open (`broker.core.gates`), so (c) allows entries for others to go if enough is left.

Ordering may keep control messages back. So this is watched under `fifo`, which keeps nothing.
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
    """What a broker needs of a neighbour that it has told so in these messages, or in none.

    After a step in which several messages came, nobody knows what it needed between them.
    """

    kinds: Kinds
    first: int
    last: int
    is_one_step: bool = True

    @property
    def is_silent(self) -> bool:
        """Whether the neighbour was not told."""
        return self.first == self.last


@define(eq=False)
class _WatchedLink:
    """One direction of a link: what its sender has needed of its receiver, and how far that has read."""

    needs: deque[_Need] = Factory(deque)
    sent: int = 0
    taken: int = 0


@define(eq=False)
class LegalityWatch:
    """Looks at every step of a world that does not change its tree any more."""

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
        """A broker has taken in so many messages, or its client did something."""
        if port is not None:
            self._links[port].taken += count
        for hop in site.core.neighbours.values():
            self._note_needs(site, hop, is_one_step=count <= 1)
        self.wrong += inexact(self._world, site)
        self.wrong += self._lacking(site)
        self.wrong += self._touched(site, port)

    def rest(self) -> None:
        """Everything has arrived."""
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
        """What this broker does not send to neighbours that need it (2b, 3)."""
        for hop in site.core.neighbours.values():
            back = site.outgoing[hop].back
            link = self._links[back]
            while len(link.needs) > 1 and link.needs[1].last <= link.taken:
                link.needs.popleft()
            need = link.needs[0]
            missing = need.kinds - nu(site, hop)
            if (
                len(link.needs) > 1 and link.needs[1].first < link.taken
            ):  # It has read some of these messages.
                following = link.needs[1]
                missing = missing & following.kinds if following.is_one_step else frozenset()
            if missing:
                is_silent = need.is_silent
                why = f"{hop.name} said nothing (3)" if is_silent else "it has taken in what it was told (2b)"
                yield f"{site.name} does not send {''.join(sorted(missing))} to {hop.name}, and {why}"

    def _touched(self, site: Site, port: Port | None) -> Iterator[str]:
        """Entries for others than the neighbour that said something (2c)."""
        before, after = self._entries[site], _entries(site)
        self._entries[site] = after
        for hop in site.core.neighbours.values():
            new = after[hop] - before[hop]
            if new and (port is None or port.hop is not hop):
                yield f"{site.name} has {sorted(new)} for {hop.name}, which said nothing (2c)"


def _entries(site: Site) -> dict[Hop, frozenset[str]]:
    tables = site.core.tables
    return {hop: frozenset(tables.entries_of(hop)) for hop in site.core.neighbours.values()}
