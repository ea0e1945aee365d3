"""R9, which broker may attach: requests that climb, verdicts that return, and why no cycle forms.

Only the root of a tree attaches. Its request climbs to the root of the tree it asks, and that root decides.

Laws.

1. A root that granted a request asks nothing itself until the grant is over: the attachment happened, or was
   given up, or the link the request came by is lost. So when it asks, it names all brokers that are to be
   below it, and law 4 finds their duplicates.
2. A root that is asking itself lets a request with a larger name wait, and gives up its own for one with a
   smaller name. So in any ring of requests one root gives way, and two roots never both go through.
3. A broker that loses its uplink becomes the root and inherits the grants that went down through it.
4. A request from the root's own tree is a cycle. Another broker of a name that is in the tree already is a
   duplicate; the same broker named by both sides has just moved, and the notice of it is on its way.
5. When the tree changes above a broker, a request may return from below, where its old way led. The broker
   that was asked directly knows it already and ignores it; it ends only over the link it came from.
6. Where routes cover one another, no broker can see whether one is stale, and nowhere whether something is on
   the old way of a tree whose publisher has ended since. There a request waits while it names a broker that
   is in this tree already, or in one that has been granted: the news that this has left comes behind all that
   it had sent. The asker sends it anew when a broker that it named has gone, and when a publisher has.

No cycle forms by law 2 alone: a root grants only while it does not ask, so every request of its own is later
than the requests it granted, and the same is true of every later root of that tree, for a new root by loss
does not ask and a new root by attachment granted in its turn. If a broker were attached below itself, it
would have asked later than itself.
"""

from enum import Enum
from typing import Final

from attrs import Factory, define, evolve, frozen

from broker.core.hops import Hop
from broker.messages import AttachAnswer, AttachDone, AttachRequest
from broker.transitions import Transitions, follow

GRANTED = "granted"
CYCLE = "cycle"
DUPLICATE = "duplicate"

Send = tuple[Hop, AttachRequest | AttachAnswer | AttachDone]
_Key = tuple[str, int]


class AttachmentState(Enum):
    """The state of a broker: root of its tree, on its way below another broker, or below it."""

    ROOT = "root of its tree, with nobody to ask"
    WAITING = "root that is to ask, and has a grant of its own open"
    ASKING = "root that has asked"
    GRANTED = "root that may attach"
    CHILD = "child of its uplink"


TRANSITIONS: Final[Transitions[AttachmentState]] = {
    AttachmentState.ROOT: frozenset({AttachmentState.WAITING}),
    AttachmentState.WAITING: frozenset({AttachmentState.ASKING, AttachmentState.ROOT}),
    AttachmentState.ASKING: frozenset(
        {AttachmentState.GRANTED, AttachmentState.WAITING, AttachmentState.ROOT}
    ),
    AttachmentState.GRANTED: frozenset(
        {AttachmentState.CHILD, AttachmentState.WAITING, AttachmentState.ROOT}
    ),
    AttachmentState.CHILD: frozenset({AttachmentState.ROOT}),
}


@frozen
class _Relayed:
    request: AttachRequest
    came_by: Hop
    is_granted: bool


@define(eq=False)
class Attachments:
    """What one broker knows of attachments under way.

    An identity is a broker's name and incarnation. `brokers` are the identities of this broker and of all
    below it; `announced` are those that its last request named. `link` is the uplink, or the link through
    which it is to ask. The brokers named by the requests that it has granted are in `_granted` (law 6).
    `names_brokers`: routes do not have the same id everywhere, so law 6 is needed. It also is if an
    advertisement of this tree `has_ended` since it was attached. `_says_ended`: the last request says so.
    """

    identity: str
    names_brokers: bool = False
    has_ended: bool = False
    state: AttachmentState = AttachmentState.ROOT
    link: Hop | None = None
    _number: int = 0
    _says_ended: bool = False
    brokers: frozenset[str] = frozenset()
    announced: frozenset[str] = frozenset()
    _grants: dict[_Key, Hop] = Factory(dict)
    _granted: dict[_Key, frozenset[str]] = Factory(dict)
    _relayed: dict[_Key, _Relayed] = Factory(dict)
    _queued: list[tuple[AttachRequest, Hop]] = Factory(list)

    def _enter(self, state: AttachmentState) -> None:
        self.state = follow(TRANSITIONS, self.state, state)
        if state is AttachmentState.ROOT:
            self.link = None

    @property
    def uplink(self) -> Hop | None:
        """Return the link to the parent, if this broker is a child."""
        return self.link if self.state is AttachmentState.CHILD else None

    # --- asking ---

    def want(self, link: Hop) -> list[Send]:
        """Ask to become a child through this link, as soon as no grant of this broker is open (law 1)."""
        self._enter(AttachmentState.WAITING)
        self.link = link
        return self._ask()

    def _ask(self) -> list[Send]:
        if self.state is not AttachmentState.WAITING or self._grants:
            return []
        assert self.link is not None
        self._enter(AttachmentState.ASKING)
        self._number += 1
        self.announced, self._says_ended = self.brokers, self.has_ended
        request = AttachRequest(self.identity, self._number, self.brokers, has_ended=self.has_ended)
        return [(self.link, request)]

    def _give_way(self) -> list[Send]:
        """Give up the request or the grant of this broker; it asks again later."""
        assert self.link is not None
        self._enter(AttachmentState.WAITING)
        return [(self.link, AttachDone(self.identity, self._number))]

    @property
    def _has_asked(self) -> bool:
        return self.state in {AttachmentState.ASKING, AttachmentState.GRANTED}

    def awaits(self, answer: AttachAnswer, link: Hop) -> bool:
        """Return whether this is the verdict on the present request."""
        is_ours = answer.asker == self.identity and answer.number == self._number
        return is_ours and self.state is AttachmentState.ASKING and link is self.link

    def granted(self) -> None:
        """Record the verdict that this broker may attach."""
        self._enter(AttachmentState.GRANTED)

    def is_granted(self, link: Hop) -> bool:
        """Return whether this broker may attach through this link."""
        return self.state is AttachmentState.GRANTED and link is self.link

    def pass_verdict(self, answer: AttachAnswer) -> list[Send]:
        """Pass a verdict down to the broker whose request climbed through this one."""
        key = (answer.asker, answer.number)
        relayed = self._relayed.get(key)
        if relayed is None:
            return []
        if answer.verdict == GRANTED:
            self._relayed[key] = evolve(relayed, is_granted=True)
        else:
            del self._relayed[key]
        return [(relayed.came_by, answer)]

    def attached(self) -> list[Send]:
        """Become a child; pass the requests that waited for that on to the new root."""
        self._enter(AttachmentState.CHILD)
        self.has_ended = False
        queued, self._queued = self._queued, []
        return [send for request, came_by in queued for send in self.requested(request, came_by)]

    def given_up(self) -> list[Send]:
        """Stay the root, since the link is lost or refused, and decide the requests that waited."""
        self._enter(AttachmentState.ROOT)
        queued, self._queued = self._queued, []
        return [send for request, came_by in queued for send in self._decide(request, came_by)]

    # --- being asked ---

    def requested(self, request: AttachRequest, came_by: Hop) -> list[Send]:
        """Pass on a request from below or from a new neighbour, or decide it as the root."""
        if self._is_echo((request.asker, request.number), came_by) or self._is_outdated(request):
            return []
        if (uplink := self.uplink) is not None:
            self._relayed[request.asker, request.number] = _Relayed(request, came_by, is_granted=False)
            return [(uplink, request)]
        return self._decide(request, came_by)

    def _decide(self, request: AttachRequest, came_by: Hop) -> list[Send]:
        if request.asker == self.identity:
            return [(came_by, AttachAnswer(request.asker, request.number, CYCLE))]
        if self._has_namesake(request.brokers):
            return [(came_by, AttachAnswer(request.asker, request.number, DUPLICATE))]
        sends: list[Send] = []
        if (self.names_brokers or request.has_ended) and self._is_named_elsewhere(request):
            self._queued.append((request, came_by))
            return []
        if self._has_asked:
            if self.identity < request.asker:
                self._queued.append((request, came_by))
                return []
            sends += self._give_way()
        self._grants[request.asker, request.number] = came_by
        self._granted[request.asker, request.number] = request.brokers
        return [*sends, (came_by, AttachAnswer(request.asker, request.number, GRANTED))]

    def granted_to(self, link: Hop) -> bool:
        """Return whether a request that came by this link has been granted and is not over."""
        relayed = any(request.came_by is link and request.is_granted for request in self._relayed.values())
        return relayed or link in self._grants.values()

    def _has_namesake(self, others: frozenset[str]) -> bool:
        ours = {name_of(identity): identity for identity in self.brokers}
        return any(ours.get(name_of(other), other) != other for other in others)

    def _is_named_elsewhere(self, request: AttachRequest) -> bool:
        return any(request.brokers & named for named in (self.brokers, *self._granted.values()))

    def look_again(self) -> list[Send]:
        """Decide again what may have changed, and ask anew if what was named has gone (law 6)."""
        sends: list[Send] = []
        is_waiting = self.state is AttachmentState.ASKING and (self.names_brokers or self._says_ended)
        is_late = self._has_asked and self.has_ended and not self._says_ended
        if is_late or (is_waiting and self.announced - self.brokers):
            sends += self._give_way()
            sends += self._ask()
        if self.state is not AttachmentState.CHILD and self._queued:
            queued, self._queued = self._queued, []
            sends += [send for request, came_by in queued for send in self._decide(request, came_by)]
        return sends

    def _is_echo(self, key: _Key, came_by: Hop) -> bool:
        """Return whether a request that came from the asker itself returns from below (law 5)."""
        relayed = self._relayed.get(key)
        known = relayed.came_by if relayed is not None else self._grants.get(key)
        return known is not None and known is not came_by and known.name == name_of(key[0])

    def _is_outdated(self, request: AttachRequest) -> bool:
        """Return whether this is a request of this broker that it has given up: no verdict is awaited."""
        return request.asker == self.identity and not (self._has_asked and request.number == self._number)

    def done(self, message: AttachDone, came_by: Hop) -> list[Send]:
        """End a request that happened or was given up; the root that granted it must know (law 1)."""
        key = (message.asker, message.number)
        self._queued = [q for q in self._queued if (q[0].asker, q[0].number) != key or q[1] is not came_by]
        if self._grants.get(key) is came_by:
            del self._grants[key]
            self._granted.pop(key, None)
        relayed = self._relayed.get(key)
        if relayed is not None and relayed.came_by is came_by:
            del self._relayed[key]
            if (uplink := self.uplink) is not None:
                return [(uplink, message)]
        return self._ask()

    def child_attached(self, link: Hop) -> list[Send]:
        """End the requests of the broker at the other end of this link: it is a child now."""
        keys = [key for key in self._came_by(link) if name_of(key[0]) == link.name]
        return [send for key in keys for send in self.done(AttachDone(*key), link)]

    def link_lost(self, link: Hop) -> list[Send]:
        """Forget what came by this link; as the new root, inherit what went down through it (law 3)."""
        sends: list[Send] = []
        for key in self._came_by(link):
            sends.extend(self.done(AttachDone(*key), link))
        if link is self.uplink:
            self._enter(AttachmentState.ROOT)
            sends.extend(self._inherit())
        elif link is self.link:
            sends.extend(self.given_up())
        return [*sends, *self._ask()]

    def _inherit(self) -> list[Send]:
        inherited, self._relayed = self._relayed, {}
        granted = {key: relayed for key, relayed in inherited.items() if relayed.is_granted}
        self._grants.update({key: relayed.came_by for key, relayed in granted.items()})
        self._granted.update({key: relayed.request.brokers for key, relayed in granted.items()})
        undecided = [r for r in inherited.values() if not r.is_granted]
        return [send for r in undecided for send in self._decide(r.request, r.came_by)]

    def _came_by(self, link: Hop) -> list[_Key]:
        grants = [key for key, hop in self._grants.items() if hop is link]
        relayed = [key for key, request in self._relayed.items() if request.came_by is link]
        queued = [(request.asker, request.number) for request, hop in self._queued if hop is link]
        return [*grants, *relayed, *queued]

    def __len__(self) -> int:
        """Return how many attachments are under way that this broker takes part in."""
        is_ours = self.state not in {AttachmentState.ROOT, AttachmentState.CHILD}
        return len(self._grants) + len(self._relayed) + len(self._queued) + is_ours


def identity_of(name: str, incarnation: str) -> str:
    """Return an identity that differs from every other broker's, and from earlier runs of the same one."""
    return f"{name}.{incarnation}"


def name_of(identity: str) -> str:
    """Return the name of the broker with this identity; incarnations have no dots."""
    return identity.rpartition(".")[0]
