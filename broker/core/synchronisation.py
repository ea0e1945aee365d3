"""R9, after the verdict: both ends of a new link exchange advertisements and flood them through their trees.

Laws.

1. A link synchronises from the moment it is attached until the flood of what came across it is done; until
   then no subscription is sent across it.
2. A flood belongs to one attachment: when that link is lost the flood is forgotten, and what answers it
   later does nothing.
3. A flood goes to every other neighbour, those that synchronise themselves included.
4. A token is between two neighbours: who passes a flood on gives it a new one. So a flood may come back to
   the broker that began it, if that has moved meanwhile, and is one like any other there.
"""

from attrs import Factory, define

from broker.core.hops import Hop
from broker.core.routing import Announced, Routing, SendControl
from broker.messages import Flood, FloodDone, Synchronise


@define(eq=False)
class _Passing:
    """A flood that came over the link with a token, or that began here for the link (None)."""

    link: Hop
    token: str | None
    neighbours: set[Hop]


@define(eq=False)
class Synchronisation:
    """The floods that pass through one broker, its own among them."""

    _routing: Routing
    _send: SendControl
    _passing: dict[str, _Passing] = Factory(dict)
    _count: int = 0

    def begin(self, link: Hop) -> None:
        """The link is attached: tell the other end what is advertised on this side."""
        self._send(link, Synchronise(self._routing.advertising.everything(link)))

    def synchronise(self, message: Synchronise, link: Hop) -> None:
        """The other end told what is advertised on its side; our whole tree must know before we go on."""
        self._learn(message.advertisements, link)
        self._routing.found_apart(link)
        self._flood(None, message.advertisements, link)

    def flood(self, message: Flood, link: Hop) -> None:
        """Somebody else's new link: learn, forward what is wanted there, pass it on."""
        self._learn(message.advertisements, link)
        self._routing.offer_all(link)
        self._flood(message.token, message.advertisements, link)

    def done(self, message: FloodDone, neighbour: Hop) -> None:
        """Everybody behind the neighbour has seen the flood."""
        self._shrink(message.token, neighbour)

    def link_lost(self, link: Hop) -> None:
        """Forget what came across it (law 2); wait for its answers no longer."""
        for token in [token for token, passing in self._passing.items() if passing.link is link]:
            del self._passing[token]
        for token in list(self._passing):
            self._shrink(token, link)

    def _learn(self, advertisements: Announced, link: Hop) -> None:
        self._routing.losses.found(advertisements, link)
        for advertisement, content in advertisements:
            self._routing.tables.add_advertisement(link, advertisement, content)

    def _flood(self, token: str | None, advertisements: Announced, link: Hop) -> None:
        others = [other for other in self._routing.links.values() if other is not link]
        self._count += 1
        ours = str(self._count)
        self._passing[ours] = _Passing(link, token, set(others))
        for other in others:
            self._routing.flood(other, advertisements, ours)
        self._routing.answer_when_known(advertisements, link)
        self._shrink(ours, None)

    def _shrink(self, ours: str, neighbour: Hop | None) -> None:
        passing = self._passing.get(ours)
        if passing is None:
            return
        if neighbour is not None:
            passing.neighbours.discard(neighbour)
        if passing.neighbours:
            return
        del self._passing[ours]
        if not self._routing.is_linked(passing.link):
            return
        if passing.token is None:
            self._routing.synchronised(passing.link)
        else:
            self._send(passing.link, FloodDone(passing.token))

    def __len__(self) -> int:
        return len(self._passing)
