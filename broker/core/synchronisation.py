"""R9, after the verdict: both ends of a new link exchange advertisements and flood them through their trees.

Laws.

1. A link synchronises from the moment it is attached until the flood of the advertisements that came across
   it is done; until then no subscription is sent across it.
2. A flood belongs to one attachment: when that link is lost the flood is forgotten, and a later answer to it
   has no effect.
3. A flood goes to every other neighbour, those that synchronise themselves included.
4. A token is between two neighbours: a broker that passes a flood on gives it a new one. So a flood may
   return to the broker that began it, if that has moved meanwhile, and is one like any other there.
5. A neighbour that is to learn more than one page holds gets one flood a page, each with a token of its own.
   A flood is done when every page that it became here has been answered.
6. Nor is it done while subscriptions cross, in parts, the link that it came by: for the other end, what has
   not come before the answer has begun after it.
7. When all subscriptions have crossed a new link, one more flood, of nothing, follows the gap that says so. A
   neighbour that has answered it, and everybody behind that, has had this gap (`broker.core.replays`, law 7).
"""

from functools import partial

from attrs import Factory, define

from broker.core.hops import Hop
from broker.core.routing import Announced, RoutingState, SendControl
from broker.messages import Flood, FloodDone, Synchronise


@define(eq=False)
class _Passing:
    """A flood that came over the link with a token, or that began here for the link (None).

    `unanswered` are the tokens of the pages that it was passed on in, and the neighbour each was sent to. The
    link that it came by has one too while subscriptions cross it. It `is_notice` if it is that of law 7.
    """

    link: Hop
    token: str | None
    is_notice: bool = False
    unanswered: dict[str, Hop] = Factory(dict)


@define(eq=False)
class Synchronisation:
    """The floods that pass through one broker, its own among them, by the tokens that are unanswered."""

    _routing: RoutingState
    _send: SendControl
    _passing: dict[str, _Passing] = Factory(dict)
    _count: int = 0

    def begin(self, link: Hop) -> None:
        """Announce to the other end of an attached link the advertisements of this side."""
        self._send(link, Synchronise(self._routing.advertising.everything(link)))

    def synchronise(self, message: Synchronise, link: Hop) -> None:
        """Take in the other side's advertisements, and flood them through the whole tree."""
        self._learn(message.advertisements, link)
        self._routing.found_apart(link)
        self._flood(None, message.advertisements, link)

    def flood(self, message: Flood, link: Hop) -> None:
        """Take in a flood from another new link, offer what it overlaps, and pass it on."""
        self._learn(message.advertisements, link)
        self._routing.offer_overlapping(link, message.advertisements)
        self._flood(message.token, message.advertisements, link)

    def done(self, message: FloodDone, neighbour: Hop) -> None:
        """Record that every broker behind the neighbour has seen the flood."""
        self._answered(message.token, neighbour)

    def continue_crossing(self) -> None:
        """Let subscriptions go on to cross a link; finish the floods that waited for that (law 6)."""
        self._routing.continue_crossing()
        for token, passing in list(self._passing.items()):
            link = passing.unanswered[token]
            if link is passing.link and not self._routing.is_crossing(link):
                self._answered(token, link)

    def announce_crossed(self) -> None:
        """Let everybody on this side know that all has crossed a new link, behind the gap (law 7)."""
        crossed, self._routing.crossed = self._routing.crossed, []
        for link in filter(self._routing.is_linked, crossed):
            passing = _Passing(link, None, is_notice=True)
            self._pass_on(passing, ())
            self._routing.subscribing.neighbours[link].unaware = set(passing.unanswered.values())

    def link_lost(self, link: Hop) -> None:
        """Forget the floods that came across a lost link (law 2); wait for its answers no longer."""
        for token in [token for token, passing in self._passing.items() if passing.link is link]:
            del self._passing[token]
        for token in list(self._passing):
            self._answered(token, link)

    def _learn(self, advertisements: Announced, link: Hop) -> None:
        self._routing.losses.found(advertisements, link)
        for advertisement, content in advertisements:
            self._routing.tables.add_advertisement(link, advertisement, content)

    def _flood(self, token: str | None, advertisements: Announced, link: Hop) -> None:
        passing = _Passing(link, token)
        self._pass_on(passing, advertisements)
        self._routing.answer_when_known(advertisements, link)
        if token is not None and self._routing.is_crossing(link):
            self._next_token(passing, link)
        self._finish(passing)

    def _pass_on(self, passing: _Passing, advertisements: Announced) -> None:
        for other in [other for other in self._routing.links.values() if other is not passing.link]:
            self._routing.flood(other, advertisements, partial(self._next_token, passing, other))

    def _next_token(self, passing: _Passing, neighbour: Hop) -> str:
        """Return the token of one more page of a flood for this neighbour."""
        self._count += 1
        ours = str(self._count)
        passing.unanswered[ours] = neighbour
        self._passing[ours] = passing
        return ours

    def _answered(self, ours: str, neighbour: Hop) -> None:
        passing = self._passing.get(ours)
        if passing is not None and passing.unanswered[ours] is neighbour:
            del self._passing[ours], passing.unanswered[ours]
            if passing.is_notice:
                self._routing.subscribing.neighbours[passing.link].unaware.discard(neighbour)
            else:
                self._finish(passing)

    def _finish(self, passing: _Passing) -> None:
        if passing.unanswered or not self._routing.is_linked(passing.link):
            return
        if passing.token is None:
            self._routing.synchronised(passing.link)
        else:
            self._send(passing.link, FloodDone(passing.token))

    def __len__(self) -> int:
        return len(self._passing)
