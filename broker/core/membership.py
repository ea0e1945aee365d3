"""R9 on one broker: which links are part of the tree, and the steps by which one becomes so.

A link that is open is *joining* until it is attached. The child asks (`broker.core.attachment` says who may),
both ends tell each other the ids of their routes, and when neither knows a route that the other announces,
the child attaches first and the other end follows when the child's advertisements arrive.

Laws.

1. An attachment is deferred while one side knows a route that the other side announces: it is stale on one of
   them, and about to be withdrawn there. So each end says again what it announces when a route of it is gone.
2. Routes may have moved between this look and the attachment. So each end looks again at the advertisements
   with which the other end attaches, and takes nothing from the link while one of them is stale: what comes
   over the link is held, in its order, up to a bound. Nothing that is waited for depends on what is held.
3. Each broker knows the identities of all brokers below it; changes climb to the top.
"""

from collections.abc import Callable, Iterable, Sequence

from attrs import Factory, define

from broker.core.attachment import GRANTED, Attachments, Send, name_of
from broker.core.hops import Hop
from broker.core.protocol import ProtocolError
from broker.core.routing import Routing
from broker.core.synchronisation import Synchronisation
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


@define(eq=False)
class _Joining:
    """A link on its way into the tree: what this side and the other announced, and what is held.

    This side is ready when it has answered the child, or is attached as the child.
    """

    is_uplink: bool
    said: RouteIds | None = None
    announced: RouteIds | None = None
    is_ready: bool = False
    held: list[LinkMessage] = Factory(list)
    held_bytes: int = 0
    publications_held: int = 0

    def hold(self, message: LinkMessage) -> bool:
        """Hold what came over the link; say whether it is not more than may be held."""
        self.held.append(message)
        if isinstance(message, Publication):
            self.held_bytes += len(message.frame)
            self.publications_held += 1
        return self.held_bytes <= HELD_BYTES_MAX and len(self.held) - self.publications_held <= HELD_COUNT_MAX

    def held_advertisements(self) -> set[str]:
        """What the other side has advertised over the link and not withdrawn since."""
        known: set[str] = set()
        for message in self.held:
            if isinstance(message, Synchronise):
                known.update(advertisement for advertisement, _ in message.advertisements)
            elif isinstance(message, AdvertisementWithdrawn):
                known.discard(message.id)
        return known


@define(eq=False)
class Membership:
    """The links of one broker on their way into the tree, and who is below it."""

    attachments: Attachments
    _routing: Routing
    _synchronisation: Synchronisation
    _send_now: Callable[[Hop, Control], None]
    _send: Callable[[Hop, Control], None]
    _become_child: Callable[[Hop], None]
    _link_attached: Callable[[Hop], None]
    _learn: Callable[[Whereabouts, Hop], None]
    _receive: Callable[[Hop, Sequence[LinkMessage]], None]
    joining: dict[Hop, _Joining] = Factory(dict)
    attached: list[Hop] = Factory(list)
    rejected: list[tuple[Hop, str]] = Factory(list)
    _uplink: Hop | None = None
    _below: dict[Hop, frozenset[str]] = Factory(dict)

    # --- links ---

    def open(self, link: Hop, *, is_uplink: bool) -> None:
        """A neighbour greeted us; ask to become its child if it is to be our uplink."""
        assert link.name not in self._routing.links
        assert all(link.name != other.name for other in self.joining)
        self.joining[link] = _Joining(is_uplink)
        if is_uplink:
            assert self._uplink is None, "only the top of a tree attaches"
            self._pass_on(self.attachments.want(link))

    def link_lost(self, link: Hop) -> None:
        """Say so to whom it concerns; as a new top, decide what went through us to the old one."""
        self.joining.pop(link, None)
        if link is self._uplink:
            self._uplink = None
        self._pass_on(self.attachments.link_lost(link))

    def forget(self, link: Hop) -> None:
        """Whoever was below a lost link is below us no more."""
        gone = self._below.pop(link, frozenset())
        self._tell_brokers(frozenset(), gone)

    def _pass_on(self, sends: Iterable[Send]) -> None:
        for link, message in sends:
            keeps_place = self.attachments.names_brokers and self._routing.is_linked(link)
            (self._send if keeps_place else self._send_now)(link, message)

    # --- joining ---

    def receive(self, link: Hop, message: LinkMessage) -> None:
        """Take what came over a joining link (law 2)."""
        joining = self.joining[link]
        match message:
            case _ if joining.held:
                if not joining.hold(message):  # The other end is attached already.
                    raise ProtocolError(
                        f"{link.name} sent too much while its attachment was deferred: at most "
                        f"{HELD_COUNT_MAX} changes of routes and {HELD_BYTES_MAX} bytes of events are taken"
                    )
            case AttachRequest(asker=asker) if name_of(asker) == link.name and not joining.is_uplink:
                self._below[link] = message.brokers
                self._pass_on(self.attachments.requested(message, link))
            case AttachDone(asker=asker) if name_of(asker) == link.name and not joining.is_uplink:
                self.joining[link] = _Joining(is_uplink=False)
                self._pass_on(self.attachments.done(message, link))
            case AttachAnswer(asker=self.attachments.identity) if joining.is_uplink:
                self.answered(message, link)
            case RouteIds() if joining.is_uplink or self.attachments.granted_to(link):
                joining.announced = message
            case Whereabouts() if joining.is_uplink:
                self._learn(message, link)
            case Synchronise() if joining.is_ready:
                joining.held.append(message)
            case _:
                raise ProtocolError(f"{link.name} sent {type(message).__name__} before it was attached")

    def go_on(self) -> None:
        """Take the next step on every joining link that nothing stale defers (laws 1 and 2)."""
        self._pass_on(self.attachments.look_again())
        for link, joining in list(self.joining.items()):
            if self.joining.get(link) is not joining:
                continue  # What was held for another link came first and let this one go on.
            if joining.held:
                if not self._known_advertisements() & joining.held_advertisements():
                    self._take_held(link, joining)
                continue
            self._say_again(link, joining)
            if joining.announced is None or joining.is_ready or self._is_stale(joining.announced):
                continue
            if not joining.is_uplink:
                joining.is_ready = True
                self._say(link, joining)
            elif link is self.attachments.wish and self.attachments.is_granted:
                joining.said, joining.is_ready = None, True
                self._attach_as_child(link)

    def _say(self, link: Hop, joining: _Joining) -> None:
        joining.said = self._route_ids()
        self._send_now(link, joining.said)

    def _say_again(self, link: Hop, joining: _Joining) -> None:
        """Announce our routes again if one that we announced is gone (law 1)."""
        if joining.is_uplink and not self.attachments.is_granted:
            joining.said = None  # The grant was given up: what was said with it is void.
        said = joining.said
        if said is None:
            return
        ours = self._route_ids()
        if said.advertisements - ours.advertisements or said.subscriptions - ours.subscriptions:
            self._say(link, joining)

    def _known_advertisements(self) -> frozenset[str]:
        """Those that are known under the same id everywhere."""
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

    def _take_held(self, link: Hop, joining: _Joining) -> None:
        """Nothing is stale: take what was held, first of all the other side's advertisements."""
        if not joining.is_uplink:
            self._attach(link)
            self._tell_brokers(self._below[link], frozenset())
        del self.joining[link]
        self._receive(link, joining.held)
        self._pass_on(self.attachments.child_attached(link))

    def _attach_as_child(self, link: Hop) -> None:
        self._attach(link)
        self._uplink = link
        self._become_child(link)
        self._pass_on(self.attachments.attached())
        asked, now = self.attachments.announced, self.attachments.brokers
        self._tell_brokers(now - asked, asked - now)

    def _attach(self, link: Hop) -> None:
        self._routing.add_link(link)
        self.attached.append(link)
        self._synchronisation.begin(link)
        self._link_attached(link)

    # --- requests that pass through ---

    def requested(self, message: AttachRequest, link: Hop) -> None:
        """A request climbs."""
        if link is self._uplink:
            raise ProtocolError(f"the uplink {link.name} sent an attachment request down")
        self._pass_on(self.attachments.requested(message, link))

    def answered(self, message: AttachAnswer, link: Hop) -> None:
        """A verdict comes down: ours, or one to be passed on."""
        is_refusal = self.attachments.is_refusal(message)
        self._pass_on(self.attachments.answered(message))
        if is_refusal:
            self.rejected.append((link, message.verdict))
            self._pass_on(self.attachments.given_up())
        elif self._is_our_grant(message):
            self.joining[link].announced = None
            self._say(link, self.joining[link])

    def _is_our_grant(self, message: AttachAnswer) -> bool:
        is_ours = message.asker == self.attachments.identity and message.verdict == GRANTED
        return is_ours and self.attachments.is_granted

    def done(self, message: AttachDone, link: Hop) -> None:
        """An attachment happened or was given up."""
        self._pass_on(self.attachments.done(message, link))

    # --- who is below (law 3) ---

    def brokers_changed(self, message: BrokersChanged, link: Hop) -> None:
        """Brokers came to a child's side or left it."""
        if link is self._uplink:
            raise ProtocolError(f"the uplink {link.name} told of brokers below")
        self._below[link] = (self._below[link] | message.added) - message.removed
        self._tell_brokers(message.added, message.removed)

    def _tell_brokers(self, added: frozenset[str], removed: frozenset[str]) -> None:
        children = (self._below.get(link, frozenset()) for link in self._routing.links.values())
        self.attachments.brokers = frozenset((self.attachments.identity,)).union(*children)
        if self._uplink is not None and (added or removed):
            self._send_now(self._uplink, BrokersChanged(added, removed))
