"""Replays: a subscription that asks for the past gets it from the caches of all brokers, then what is live.

Theory. When all gates of the subscription are open (R7), its broker asks all its neighbours, and these ask
on: publications behind the question come live, earlier ones are in the caches, so none falls between. A
broker that is asked makes its excerpt at once. It reports that it is ready when all neighbours that it asked
have reported so, behind what is pending for the asker (R5): so every publication before the question that
comes live has come when the asker's broker is ready. Then the past is pulled, part by part: every broker on
the way merges its neighbours' parts with its own, and asks them only when it was asked. So a replay of any
length has one part per link waiting, and is as fast as its reader.

Laws.

1. A question is known by the subscription that asks, and by the link it came through. Every broker in the
   tree is asked, also where nothing is advertised any more: the past of publishers that have left is there.
2. An answer goes back to the asker alone, hop by hop, and touches no table and no other subscription.
3. A neighbour that is lost, or that the question came through, is asked for nothing more. If it still had
   publications, the replay is not whole, and the subscription is notified.
4. A message that answers nothing that is open is dropped: it crossed the end of its question.
5. One input looks at a limited number of publications, however many questions are open.
6. Of one link no more than `QUESTIONS_MAX` questions are open at a time. One beyond that is answered at once:
   nothing comes, and it is not whole. So nothing of it has to be remembered here.
7. A question crosses no new link before subscriptions have (R9), and none by a link behind which not
   everybody has had the gap of that: it may have been asked before. A broker that joins may have been asked
   before, too, and what it has published since may be the effect of a publication that is live for the asker.
8. The time to find a question does not grow with their number.
9. Whatever is cached anywhere from the moment on in which the subscription was made is asked for, by marks
   and by no clock (`broker.replay.positions`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import define, evolve, field

from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.routing import RoutingState
from broker.filters import Filter
from broker.messages import Control, LinkMessage, Publication
from broker.replay import (
    COLLECTED_BYTES_MAX,
    QUESTIONS_MAX,
    REPLAYS_MAX,
    Bounds,
    Cache,
    CachePosition,
    Excerpt,
    Item,
    Merge,
    Playback,
    Positions,
    ReplayWindow,
)
from broker.replay_messages import (
    CacheMarked,
    ReplayAsked,
    ReplayMark,
    ReplayMore,
    ReplayOver,
    ReplayPart,
    ReplayReady,
)
from broker.wire import DEFAULT_LIMITS, WireError, read_publications

Outgoing = list[tuple[Hop, list[LinkMessage]]]


@define(eq=False)
class ReplayQuestion:
    """One question at one broker. `asker` is the link it came through, None for a local subscription."""

    id: str
    asker: Hop | None
    merge: Merge[Hop]
    unready: set[Hop]
    is_wanted: bool = False


@define(eq=False)
class Questions:
    """One broker's questions; one that came through several links is a question of each."""

    _named: dict[str, dict[Hop | None, ReplayQuestion]] = field(factory=dict)
    _counts: Counter[Hop | None] = field(factory=Counter)

    def __len__(self) -> int:
        return self._counts.total()

    def __iter__(self) -> Iterator[ReplayQuestion]:
        for askers in self._named.values():
            yield from askers.values()

    def asked_by(self, asker: Hop | None) -> int:
        """Return how many questions came through that link."""
        return self._counts[asker]

    def add(self, question: ReplayQuestion) -> None:
        """Add a question that is not open."""
        askers = self._named.setdefault(question.id, {})
        assert question.asker not in askers, "a question is ended before it is asked again"
        askers[question.asker] = question
        self._counts[question.asker] += 1

    def named(self, name: str) -> list[ReplayQuestion]:
        """Return the questions of that name, one of each asker."""
        return list(self._named.get(name, {}).values())

    def get(self, name: str, asker: Hop | None) -> ReplayQuestion | None:
        """Return a question, if it is open."""
        return self._named.get(name, {}).get(asker)

    def pop(self, name: str, asker: Hop | None) -> ReplayQuestion | None:
        """Remove a question; return it if it was open."""
        question = self._named.get(name, {}).pop(asker, None)
        if question is not None:
            self._counts[asker] -= 1
            if not self._counts[asker]:
                del self._counts[asker]
            if not self._named[name]:
                del self._named[name]
        return question


@define(eq=False)
class _LateReplay:
    """The publications that may still come for a subscription after its replay, and are to be dropped.

    `played` has, for each publisher, the number up to which its publications were played; `is_mark_due` is
    whether the last mark is still to come.
    """

    played: dict[str, int]
    is_mark_due: bool


@define(eq=False)
class Replays:
    """The questions that are open at one broker, and its subscriptions that wait for their past.

    `waiting` names those to which more can be delivered; `asked_count` and `played_count` are for metrics.
    While there are `playbacks`, or hops for which publications may still come `late`, deliveries pass by
    `hold`.
    """

    _routing: RoutingState
    _send: Callable[[Hop, Control | ReplayMark], None]
    _send_now: Callable[[Hop, Control], None]
    positions: Positions
    cache: Cache = field(factory=Cache)
    bounds: Bounds = field(default=Bounds(), init=False)
    waiting: list[str] = field(factory=list, init=False)
    asked_count: int = field(default=0, init=False)
    played_count: int = field(default=0, init=False)
    _questions: Questions = field(factory=Questions, init=False)
    playbacks: dict[Hop, Playback] = field(factory=dict, init=False)
    _has_played: bool = field(default=False, init=False)
    late: dict[Hop, _LateReplay] = field(factory=dict, init=False)

    def bound(self, bounds: Bounds) -> None:
        """Set the size of the cache, and how much is done at a time."""
        self.bounds = bounds
        self.cache.bound(bounds.size_bytes, bounds.count)

    # --- local subscriptions ---

    @property
    def playing_count(self) -> int:
        """Return how many local subscriptions have their past played now."""
        return len(self.playbacks)

    @property
    def can_replay(self) -> bool:
        """Return whether another local subscription may ask for its past now."""
        return len(self.playbacks) < REPLAYS_MAX

    def subscribe(self, subscription: str, hop: Hop, window: ReplayWindow) -> None:
        """Defer the deliveries of this subscription until its past has been played."""
        self.playbacks[hop] = Playback(subscription, window, self.positions.present(self.cache))

    def unsubscribe(self, subscription: str, hop: Hop) -> None:
        """End the replay of a subscription that has ended."""
        self.late.pop(hop, None)
        if self.playbacks.pop(hop, None) is not None:
            self._close(subscription, None)

    def opened(self, subscriptions: list[str]) -> list[str]:
        """Begin the replays of subscriptions whose gates are open; return those that have none."""
        if not self.playbacks:
            return subscriptions
        return [each for each in subscriptions if not self._has_begun(each)]

    def _has_begun(self, subscription: str) -> bool:
        for entry in self._routing.tables.named(subscription):
            playback = self.playbacks.get(entry.hop)
            if playback is not None:
                self._begin(playback, entry.hop, entry.filter)
                return True
        return False

    def _begin(self, playback: Playback, hop: Hop, content: Filter) -> None:
        self.asked_count += 1
        self._send(hop, ReplayMark(is_last=False))
        since_ns, newest_first = playback.window.since_ns, playback.newest_first
        asked = ReplayAsked(playback.subscription, content, since_ns, newest_first, "")
        self._ask(asked, None, self._settled_links(), playback.position)

    def go_on(self, subscription: str, hop: Hop, size_bytes: int) -> None:
        """Deliver more of its past to a subscription that has room for so much."""
        playback = self.playbacks.get(hop)
        if playback is None or not playback.is_marked:
            return
        playback.want(size_bytes)
        question = self._questions.get(subscription, None)
        if question is not None:
            question.is_wanted = True
            self._advance(question, self.bounds.step_count)
        else:
            self._play_collected(playback)

    def hold(self, outgoing: Outgoing, live: list[str]) -> Outgoing:
        """Defer or drop deliveries, and add replayed ones; append the newly live subscriptions to `live`."""
        passed: Outgoing = []
        for hop, messages in outgoing:
            playback = self.playbacks.get(hop)
            if playback is not None:
                self._hold(playback, messages, live)
            elif hop in self.late:
                if left := self._without_played(hop, messages):
                    passed.append((hop, left))
            else:
                passed.append((hop, messages))
        if self._has_played:
            self._has_played = False
            for hop, playback in list(self.playbacks.items()):
                if playback.is_over:
                    self._end(playback, hop)
                if played := playback.take():
                    passed.append((hop, played))
        return passed

    def _hold(self, playback: Playback, messages: Sequence[LinkMessage], live: list[str]) -> None:
        was_live = playback.is_live
        if playback.hold(messages):
            self.waiting.append(playback.subscription)
        if playback.is_live and not was_live:
            live.append(playback.subscription)
        if playback.is_overfull and not playback.is_over:
            question = self._questions.get(playback.subscription, None)
            playback.is_mark_due = question is not None and not question.unready and not playback.is_marked
            self._close(playback.subscription, None)
            playback.end(is_whole=False)
            self._has_played = True

    def _end(self, playback: Playback, hop: Hop) -> None:
        del self.playbacks[hop]
        self.played_count += playback.played_count
        if playback.played or playback.is_mark_due:
            self.late[hop] = _LateReplay(playback.played, playback.is_mark_due)

    def _without_played(self, hop: Hop, messages: list[LinkMessage]) -> list[LinkMessage]:
        """Drop publications that were played: with some plugins they may come live much later."""
        late = self.late[hop]
        played = late.played
        left: list[LinkMessage] = []
        for message in messages:
            if isinstance(message, ReplayMark):
                late.is_mark_due = False
                continue
            if isinstance(message, Publication):
                last = played.get(message.publisher, 0)
                if message.sequence <= last:
                    continue
                if last:
                    del played[message.publisher]
            left.append(message)
        if not played and not late.is_mark_due:
            del self.late[hop]
        return left

    # --- positions ---

    @property
    def is_mark_due(self) -> bool:
        """Return whether a neighbour is to get a mark."""
        return bool(self.positions.due(self.cache, self._routing.links))

    def mark(self) -> None:
        """Send the present position, as a mark, to the neighbours to which it is news."""
        for name in self.positions.mark(self.cache, list(self._routing.links)):
            self._send_now(self._routing.links[name], CacheMarked(self.positions.last))

    def marked(self, message: CacheMarked, link: Hop) -> None:
        """Take a neighbour's mark."""
        self.positions.take(message.position, link.name)

    def link_attached(self, link: Hop) -> None:
        """Send a new neighbour the last mark: without one, replays from there have all that is cached."""
        if self.positions.last:
            self._send_now(link, CacheMarked(self.positions.last))

    # --- questions ---

    def asked(self, message: ReplayAsked, link: Hop) -> None:
        """Take a neighbour's question; ask the others."""
        if self._questions.asked_by(link) >= QUESTIONS_MAX:
            self._send(link, ReplayReady(message.question))
            return
        if self._questions.named(message.question):
            # It has come round another way, because a broker moves: what is cached here is sent once.
            others = []
        else:
            others = [other for other in self._settled_links(link) if other is not link]
        self._ask(message, link, others, self.positions.at(message.position))

    def _settled_links(self, asker: Hop | None = None) -> list[Hop]:
        """Return the links to ask: a joining broker may have seen what is live for the asker (law 7)."""
        return [link for link in self._routing.links.values() if not self._routing.is_joining(link, asker)]

    def _ask(
        self, message: ReplayAsked, asker: Hop | None, others: list[Hop], position: CachePosition
    ) -> None:
        self._close(message.question, asker)
        excerpt = Excerpt.of(
            self.cache,
            message.filter,
            message.since_ns,
            newest_first=message.newest_first,
            first=position.number,
            low_ns=self.positions.low_ns(position, self.cache),
        )
        question = ReplayQuestion(message.question, asker, Merge[Hop].of(excerpt, others), set(others))
        self._questions.add(question)
        for other in others:
            self._send_now(other, evolve(message, position=position.marks.get(other.name, "")))
        self._look_ready(question)

    def ready(self, message: ReplayReady, link: Hop) -> None:
        """Record that every broker behind the neighbour has made its excerpt."""
        for question in self._questions.named(message.question):
            if link in question.unready:
                question.unready.discard(link)
                self._look_ready(question)

    def _look_ready(self, question: ReplayQuestion) -> None:
        if question.unready:
            return
        if question.asker is not None:
            self._send(question.asker, ReplayReady(question.id))
            return
        for entry in self._routing.tables.named(question.id):
            if entry.hop in self.playbacks:
                self._send(entry.hop, ReplayMark(is_last=True))

    def more(self, message: ReplayMore, link: Hop) -> None:
        """Answer an asker that has room for a part."""
        question = self._questions.get(message.question, link)
        if question is None:
            # It was one too many (law 6); an asker whose question has ended drops this part.
            self._send_now(link, ReplayPart(message.question, (), (), is_over=True, is_whole=False))
            return
        question.is_wanted = True
        self._advance(question, self.bounds.step_count)

    def part(self, message: ReplayPart, link: Hop) -> None:
        """Take a part from a neighbour, which may be its last."""
        items = _items(message, link)
        step_count = self.bounds.step_count
        for question in self._questions.named(message.question):
            if question.merge.awaits(link):
                question.merge.put(link, items, is_over=message.is_over, is_whole=message.is_whole)
                self._advance(question, step_count)
                step_count = 0

    def over(self, message: ReplayOver, link: Hop) -> None:
        """End a question that its asker has ended."""
        self._close(message.question, link)

    def link_lost(self, link: Hop) -> None:
        """End the questions of a lost link; publications that it still had are missing (law 3)."""
        for question in [each for each in self._questions if each.asker is link]:
            self._close(question.id, link)
        for question in list(self._questions):
            if question.merge.comes_from(link):
                question.merge.lose(link)
                if link in question.unready:
                    question.unready.discard(link)
                    self._look_ready(question)
                # There may be many of them (law 5). Each is asked for more, and looks then.
                self._advance(question, 0)

    def _close(self, name: str, asker: Hop | None) -> None:
        """End a question here and at the neighbours that have more."""
        question = self._questions.pop(name, asker)
        if question is None:
            return
        question.merge.close()
        for link in question.merge.open_origins():
            if self._routing.is_linked(link):
                self._send_now(link, ReplayOver(question.id))

    # --- parts ---

    def _advance(self, question: ReplayQuestion, step_count: int) -> None:
        """Answer the asker as far as a step finds publications here; ask neighbours for the others."""
        if not question.is_wanted or question.unready:
            return
        merge = question.merge
        playback = self._playback_of(question)
        part_bytes = self.bounds.part_bytes
        size_bytes = part_bytes if playback is None else min(part_bytes, playback.room_bytes)
        items = merge.take(size_bytes, step_count)
        if not items and not merge.is_over:
            for link in merge.ask():
                self._send_now(link, ReplayMore(question.id))
            if not merge.is_searching:
                return
        question.is_wanted = False
        if playback is not None:
            self._play(question, playback, items)
        elif question.asker is not None:
            self._answer(question, question.asker, items)

    def _playback_of(self, question: ReplayQuestion) -> Playback | None:
        if question.asker is not None:
            return None
        hops = [entry.hop for entry in self._routing.tables.named(question.id)]
        return next((self.playbacks[hop] for hop in hops if hop in self.playbacks), None)

    def _answer(self, question: ReplayQuestion, asker: Hop, items: Sequence[Item]) -> None:
        times = tuple(item[0] for item in items)
        frames = tuple(item[3] for item in items)
        merge = question.merge
        is_over = merge.is_over
        if is_over:
            self._close(question.id, asker)
        self._send_now(asker, ReplayPart(question.id, times, frames, is_over, merge.is_whole))

    def _play(self, question: ReplayQuestion, playback: Playback, items: Sequence[Item]) -> None:
        playback.play(items)
        self._has_played = True
        if playback.newest_first and self._collected_bytes() > COLLECTED_BYTES_MAX:
            playback.cut()
        merge = question.merge
        if not merge.is_over and not playback.is_collected:
            self.waiting.append(playback.subscription)
            return
        is_whole = merge.is_whole or playback.is_collected
        self._close(question.id, None)
        if playback.newest_first:
            playback.is_collected, playback.is_whole = True, is_whole
            self._play_collected(playback)
        else:
            playback.end(is_whole=is_whole)

    def _collected_bytes(self) -> int:
        return sum(each.collected_bytes for each in self.playbacks.values())

    def _play_collected(self, playback: Playback) -> None:
        if not playback.is_collected or playback.is_over:
            return
        playback.play_collected()
        self._has_played = True
        if not playback.is_over:
            self.waiting.append(playback.subscription)

    def is_asked(self, hop: Hop) -> bool:
        """Return whether the past of this subscription has been asked for, and is still to be played."""
        playback = self.playbacks.get(hop)
        return playback is not None and (
            playback.is_live or self._questions.get(playback.subscription, None) is not None
        )

    def is_replaying(self, hop: Hop) -> bool:
        """Return whether the past of this subscription is still to be played."""
        return hop in self.playbacks

    def __len__(self) -> int:
        return len(self._questions) + len(self.playbacks)


def _items(message: ReplayPart, link: Hop) -> list[Item]:
    if len(message.times) != len(message.frames):
        text = f"{len(message.frames)} publications with {len(message.times)} times"
        raise ProtocolError(f"{link.name} sent a part of a replay that has {text}")
    try:
        found = read_publications(list(message.frames), DEFAULT_LIMITS)
    except WireError as error:
        raise ProtocolError(f"{link.name} sent a part of a replay that cannot be read: {error}") from error
    return [
        (at_ns, each.publisher, each.sequence, frame)
        for at_ns, each, frame in zip(message.times, found, message.frames, strict=True)
    ]
