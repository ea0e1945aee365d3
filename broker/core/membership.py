"""R9 on one broker: which links are part of the tree, and the steps by which one becomes so.

A link that is open is *joining* until it is attached; `Joining` has the states. The child asks
(`broker.core.attachment` decides who may), both ends announce the ids of their routes, and when neither knows
a route that the other announces, the child attaches first and the other end follows when the child's
advertisements arrive. `Membership` decides; `go_on` yields the steps that the rest of the core has to take.

Laws.

1. An attachment is deferred while one side knows a route that the other side announces: it is stale on one of
   them, and about to be withdrawn there. So each end announces again when a route of it is gone.
2. Routes may have moved between this comparison and the attachment. So each end compares again with the
   advertisements with which the other end attaches, and takes nothing from the link while one of them is
   stale: messages of the link are deferred, in their order, up to a limit. No awaited message is among the
   deferred.
3. Each broker knows the identities of all brokers below it; changes climb to the root.
4. Joining links are checked when something that they wait for may have changed (`is_due`), and never else:
   a message of an attachment, the brokers below, or the routes of this broker.

Locations of brokers go over the same links (`Directory`).

5. A broker that dialled is sent all known locations before anything else, so that it knows them even if it is
   never attached, or loses the link in the same moment.
6. A broker that dialled sends nothing before it is attached: the names of a broker that is refused stay
   unknown. Then it sends all locations that it knows.
7. A new location goes at once to every broker that has been sent the others; it waits behind nothing, for it
   changes nothing that is ordered.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import ClassVar, Final

from attrs import Factory, define, frozen

from broker.core.attachment import GRANTED, Attachments, Send, name_of
from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.routing import RoutingState
from broker.healing import Location, Roster
from broker.messages import (
    AdvertisementWithdrawn,
    AttachAnswer,
    AttachDone,
    AttachRequest,
    BrokersChanged,
    Control,
    LinkMessage,
    Publication,
    RouteIds,
    Synchronise,
    Whereabouts,
)
from broker.page_limits import HELD_BYTES_MAX, HELD_COUNT_MAX
from broker.transitions import Transitions, follow

# --- where brokers are --------------------------------------------------------------------------------


@define(eq=False)
class Directory:
    """The roster of one broker, and the links over which new locations go."""

    roster: Roster
    _send_now: Callable[[Hop, Control], None]
    _informed: dict[Hop, None] = Factory(dict)

    def reached_at(self, address: str) -> None:
        """Announce the address at which this broker can be dialled."""
        self._send_news(self.roster.reached_at(address))

    def dialled(self, link: Hop) -> None:
        """Send all locations to a broker that dialled (law 5)."""
        self._send_everything(link)

    def attached(self, uplink: Hop) -> None:
        """Announce the new uplink, and send it all locations (law 6)."""
        self._send_news(self.roster.attached_to(uplink.name))
        self._send_everything(uplink)

    def root_of(self, identities: frozenset[str]) -> None:
        """Take it that these are all brokers of the tree whose root is this one."""
        if (own := self.roster.own) is not None and own.uplink:
            self._send_news(self.roster.root_of(frozenset(map(name_of, identities))))

    def learn(self, message: Whereabouts, link: Hop) -> None:
        """Forward the new locations of a neighbour's message, and correct wrong ones of this broker."""
        self._send_news(self.roster.learn(message.places), but=link)
        self._send_news(self.roster.contradict(message.places))

    def link_lost(self, link: Hop) -> None:
        """Send no more locations over this link."""
        self._informed.pop(link, None)

    def _send_everything(self, link: Hop) -> None:
        self._informed[link] = None
        everything = self.roster.everything()
        if everything:
            self._send_now(link, Whereabouts(everything))

    def _send_news(self, news: tuple[Location, ...], but: Hop | None = None) -> None:
        if news:
            for link in self._informed:
                if link is not but:
                    self._send_now(link, Whereabouts(news))


# --- joining ------------------------------------------------------------------------------------------


class Joining(Enum):
    """How far a link is on its way into the tree, as this end sees it."""

    OPEN = "nothing is granted, or a child's grant has brought no routes yet"
    ANNOUNCED = "a child has announced its routes and awaits the parent's"
    COMPARING = "the other end has announced its routes: none of them may be known here"
    READY = "this end agrees: a child is attached, a parent has announced its routes"
    HOLDING = "the other end is attached: none of its advertisements may be known here"
    ATTACHED = "the link is part of the tree"
    REFUSED = "the other tree refused: the link is to be closed"


TRANSITIONS: Final[Transitions[Joining]] = {
    Joining.OPEN: frozenset({Joining.ANNOUNCED, Joining.COMPARING, Joining.REFUSED}),
    Joining.ANNOUNCED: frozenset({Joining.COMPARING, Joining.OPEN}),
    Joining.COMPARING: frozenset({Joining.READY, Joining.OPEN}),
    Joining.READY: frozenset({Joining.HOLDING, Joining.OPEN}),
    Joining.HOLDING: frozenset({Joining.ATTACHED}),
    Joining.ATTACHED: frozenset(),
    Joining.REFUSED: frozenset(),
}


def _no_routes() -> RouteIds:
    return RouteIds(frozenset(), frozenset())


@define(eq=False)
class _Newcomer:
    """A link on its way into the tree: the routes both ends announced last, and deferred messages."""

    is_uplink: bool
    state: Joining = Joining.OPEN
    ours: RouteIds = Factory(_no_routes)
    theirs: RouteIds = Factory(_no_routes)
    deferred: list[LinkMessage] = Factory(list)
    deferred_bytes: int = 0
    publications_deferred: int = 0

    def enter(self, state: Joining) -> None:
        """Enter another state."""
        self.state = follow(TRANSITIONS, self.state, state)

    def begin_anew(self) -> None:
        """Return to the first state: the grant was given up, so what was announced for it is void."""
        if self.state is not Joining.OPEN:
            self.enter(Joining.OPEN)

    @property
    def has_announced(self) -> bool:
        """Return whether the other end still compares the routes that this end has announced."""
        if self.is_uplink:
            return self.state in {Joining.ANNOUNCED, Joining.COMPARING}
        return self.state is Joining.READY

    def compare(self, theirs: RouteIds) -> None:
        """Compare the routes of the other end; to a child without a grant they are void."""
        if self.state is Joining.ANNOUNCED or (self.state is Joining.OPEN and not self.is_uplink):
            self.enter(Joining.COMPARING)
        self.theirs = theirs

    def defer(self, message: LinkMessage) -> bool:
        """Defer a message of the link; return whether the limits allow it."""
        self.deferred.append(message)
        if isinstance(message, Publication):
            self.deferred_bytes += len(message.frame)
            self.publications_deferred += 1
        return (
            self.deferred_bytes <= HELD_BYTES_MAX
            and len(self.deferred) - self.publications_deferred <= HELD_COUNT_MAX
        )

    def deferred_advertisements(self) -> set[str]:
        """Return the ids that the other side has advertised over the link and not withdrawn since."""
        known: set[str] = set()
        for message in self.deferred:
            if isinstance(message, Synchronise):
                known.update(advertisement for advertisement, _ in message.advertisements)
            elif isinstance(message, AdvertisementWithdrawn):
                known.discard(message.id)
        return known


@frozen
class Attach:
    """A step: the link becomes part of the tree."""

    link: Hop
    is_uplink: bool


@frozen
class Take:
    """A step: the deferred messages of a link that has become part of the tree are received."""

    link: Hop
    messages: Sequence[LinkMessage]


@define(eq=False)
class Membership:
    """The links of one broker on their way into the tree, and the brokers below it."""

    DERIVED: ClassVar = frozenset({"_looked_at"})

    attachments: Attachments
    _routing: RoutingState
    _directory: Directory
    _send_now: Callable[[Hop, Control], None]
    _send: Callable[[Hop, Control], None]
    joining: dict[Hop, _Newcomer] = Factory(dict)
    _below: dict[Hop, frozenset[str]] = Factory(dict)
    _has_news: bool = False
    _looked_at: int = -1
    """The version of the routing tables at the last comparison."""

    # --- links ---

    def open(self, link: Hop, *, is_uplink: bool) -> None:
        """Add a joining link; ask to become a child there if it is to be the uplink."""
        assert link.name not in self._routing.links
        assert all(link.name != other.name for other in self.joining)
        self.joining[link] = _Newcomer(is_uplink)
        self._look_for_ended()
        if is_uplink:
            self._pass_on(self.attachments.want(link))

    def _look_for_ended(self) -> None:
        """Take note of advertisements that have ended on this side."""
        self.attachments.has_ended |= self._routing.has_ended
        self._routing.has_ended = False

    def link_lost(self, link: Hop) -> None:
        """End the requests of a lost link; as a new root, decide those that went to the old one."""
        self.joining.pop(link, None)
        self._pass_on(self.attachments.link_lost(link))

    def forget(self, link: Hop) -> None:
        """Remove the brokers that were below a lost link."""
        self._below.pop(link, None)
        self._brokers_changed()

    def _pass_on(self, sends: Iterable[Send]) -> None:
        for link, message in sends:
            keeps_order = self.attachments.names_brokers and self._routing.is_linked(link)
            (self._send if keeps_order else self._send_now)(link, message)

    # --- joining ---

    def receive(self, link: Hop, message: LinkMessage) -> str:
        """Take a message of a joining link (law 2); return the verdict if the other tree refuses."""
        newcomer = self.joining[link]
        self._has_news = True
        match message:
            case _ if newcomer.state is Joining.HOLDING:
                if not newcomer.defer(message):  # The other end is attached already.
                    raise ProtocolError(
                        f"{link.name} sent too much while its attachment was deferred: at most "
                        f"{HELD_COUNT_MAX} changes of routes and {HELD_BYTES_MAX} bytes of events are taken"
                    )
            case AttachRequest(asker=asker) if name_of(asker) == link.name and not newcomer.is_uplink:
                self._below[link] = message.brokers
                self._pass_on(self.attachments.requested(message, link))
            case AttachDone(asker=asker) if name_of(asker) == link.name and not newcomer.is_uplink:
                newcomer.begin_anew()
                self._pass_on(self.attachments.done(message, link))
            case AttachAnswer(asker=self.attachments.identity) if newcomer.is_uplink:
                return self._decided(message, link, newcomer)
            case RouteIds() if newcomer.is_uplink or self.attachments.granted_to(link):
                newcomer.compare(message)
            case Whereabouts() if newcomer.is_uplink:
                self.learn(message, link)
            case Synchronise() if newcomer.state is Joining.READY:
                newcomer.enter(Joining.HOLDING)
                newcomer.defer(message)
            case _:
                raise ProtocolError(f"{link.name} sent {type(message).__name__} before it was attached")
        return ""

    def _decided(self, answer: AttachAnswer, link: Hop, newcomer: _Newcomer) -> str:
        """Take the other tree's verdict on the request of this broker; return it if it is a refusal."""
        if not self.attachments.awaits(answer, link):
            return ""  # That request has been given up.
        if answer.verdict != GRANTED:
            newcomer.enter(Joining.REFUSED)
            self._pass_on(self.attachments.given_up())
            return answer.verdict
        self.attachments.granted()
        newcomer.enter(Joining.ANNOUNCED)
        self._announce(link, newcomer)
        return ""

    @property
    def is_due(self) -> bool:
        """Return whether anything that an attachment waits for may have changed since (law 4)."""
        return self._has_news or (bool(self.joining) and self._looked_at != self._routing.tables.version)

    def go_on(self) -> Iterator[Attach | Take]:
        """Take the next step on every joining link that nothing stale defers (laws 1 and 2).

        The caller carries out each step before it asks for the next.
        """
        self._has_news, self._looked_at = False, self._routing.tables.version
        self._look_for_ended()
        self._pass_on(self.attachments.look_again())
        for link, newcomer in list(self.joining.items()):
            # The deferred messages of another link may have come first and let this one continue.
            if self.joining.get(link) is newcomer:
                yield from self._next_steps(link, newcomer)

    def _next_steps(self, link: Hop, newcomer: _Newcomer) -> Iterator[Attach | Take]:
        if newcomer.state is Joining.HOLDING:
            if not self._known_advertisements() & newcomer.deferred_advertisements():
                yield from self._take_deferred(link, newcomer)
            return
        if newcomer.is_uplink and newcomer.has_announced and not self.attachments.is_granted(link):
            newcomer.begin_anew()
        if newcomer.has_announced:
            self._announce_again(link, newcomer)
        if newcomer.state is not Joining.COMPARING or self._is_stale(newcomer.theirs):
            return
        newcomer.enter(Joining.READY)
        if newcomer.is_uplink:
            yield Attach(link, is_uplink=True)
            self._attached_as_child()
        else:
            self._announce(link, newcomer)

    def _announce(self, link: Hop, newcomer: _Newcomer) -> None:
        newcomer.ours = self._route_ids()
        self._send_now(link, newcomer.ours)

    def _announce_again(self, link: Hop, newcomer: _Newcomer) -> None:
        """Announce the routes of this broker again if one of those announced is gone (law 1)."""
        before, now = newcomer.ours, self._route_ids()
        if before.advertisements - now.advertisements or before.subscriptions - now.subscriptions:
            self._announce(link, newcomer)

    def _known_advertisements(self) -> frozenset[str]:
        """Return the ids of advertisements, if these have the same id everywhere."""
        if not self._routing.strategies.advertisements.is_exact:
            return frozenset()
        return frozenset(self._routing.tables.advertisements_but(None))

    def _route_ids(self) -> RouteIds:
        is_exact = self._routing.strategies.subscriptions.is_exact
        subscriptions = self._routing.tables.subscription_ids() if is_exact else frozenset()
        return RouteIds(self._known_advertisements(), subscriptions)

    def _is_stale(self, announced: RouteIds) -> bool:
        ours = self._route_ids()
        return bool(
            ours.advertisements & announced.advertisements or ours.subscriptions & announced.subscriptions
        )

    def _take_deferred(self, link: Hop, newcomer: _Newcomer) -> Iterator[Attach | Take]:
        """Attach, since nothing is stale, and take the deferred messages, advertisements first."""
        if not newcomer.is_uplink:
            yield Attach(link, is_uplink=False)
            self._brokers_changed()
        newcomer.enter(Joining.ATTACHED)
        del self.joining[link]
        yield Take(link, newcomer.deferred)
        self._pass_on(self.attachments.child_attached(link))
        self._has_news = True

    def _attached_as_child(self) -> None:
        self._pass_on(self.attachments.attached())
        self._announce_brokers(self.attachments.announced)

    # --- requests that pass through ---

    def requested(self, message: AttachRequest, link: Hop) -> None:
        """Let a request climb."""
        if link is self.attachments.uplink:
            raise ProtocolError(f"the uplink {link.name} sent an attachment request down")
        self._has_news = True
        self._pass_on(self.attachments.requested(message, link))

    def answered(self, message: AttachAnswer, link: Hop) -> None:
        """Pass a verdict down: no request of this broker goes over an attached link."""
        del link
        self._pass_on(self.attachments.pass_verdict(message))

    def done(self, message: AttachDone, link: Hop) -> None:
        """End a request: the attachment happened or was given up."""
        self._has_news = True
        self._pass_on(self.attachments.done(message, link))

    # --- who is below (law 3) ---

    def is_below(self, name: str) -> bool:
        """Return whether the broker of that name is below this one."""
        return any(name_of(each) == name for each in self.attachments.brokers) and name != name_of(
            self.attachments.identity
        )

    @property
    def children(self) -> list[str]:
        """Return the names of the children."""
        return [link.name for link in self._routing.links.values() if link is not self.attachments.uplink]

    def is_behind(self, identity: str, link: Hop) -> bool:
        """Return whether that broker is behind this link to a child."""
        return identity in self._below.get(link, ())

    def hand_over(self, child: Hop) -> frozenset[str]:
        """Forget the brokers of a child that moves to the uplink, which knows them; return them."""
        gone = self._below.pop(child)
        self.attachments.brokers -= gone
        return gone

    def lower(self, child: Hop, sibling: Hop) -> frozenset[str]:
        """Let the brokers of a child be below another child; return them."""
        moved = self._below.pop(child)
        self._below[sibling] |= moved
        return moved

    def take_over(self, child: Hop, parent: Hop, brokers: frozenset[str]) -> None:
        """Let these brokers be below a child that was below another one."""
        self.joining.pop(child, None)
        self._below[parent] = self._below.get(parent, frozenset()) - brokers
        self._below[child] = brokers
        self.attachments.brokers |= brokers
        self._has_news = True

    def towards(self, name: str) -> Hop | None:
        """Return the link by which the broker of that name is reached: the uplink, if it is not below."""
        for link in self._routing.links.values():
            if any(name_of(each) == name for each in self._below.get(link, ())):
                return link
        return self.attachments.uplink

    def brokers_changed(self, message: BrokersChanged, link: Hop) -> None:
        """Add and remove brokers below a child."""
        if link is self.attachments.uplink:
            raise ProtocolError(f"the uplink {link.name} announced brokers below")
        self._below[link] = (self._below[link] | message.added) - message.removed
        self._brokers_changed()

    def _brokers_changed(self) -> None:
        """Work out anew who is below; one that is below two children for a moment stays (R9)."""
        self._has_news = True
        before = self.attachments.brokers
        children = (self._below.get(link, frozenset()) for link in self._routing.links.values())
        self.attachments.brokers = frozenset((self.attachments.identity,)).union(*children)
        self._announce_brokers(before)

    def _announce_brokers(self, before: frozenset[str]) -> None:
        """Announce to the uplink what has changed since these were below."""
        uplink, now = self.attachments.uplink, self.attachments.brokers
        if uplink is None:
            self._directory.root_of(now)
        elif now != before:
            self._send_now(uplink, BrokersChanged(now - before, before - now))

    def learn(self, message: Whereabouts, link: Hop) -> None:
        """Take locations; for a root, what was above its last uplink may turn out to be below it."""
        self._directory.learn(message, link)
        if self.attachments.uplink is None:
            self._directory.root_of(self.attachments.brokers)
