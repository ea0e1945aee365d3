"""Replays: a subscription that asks for the past gets it from the caches of all brokers, then what is live.

Theory. When all gates of the subscription are open (R7), its broker asks all its neighbours, and these ask
on: what is published behind the question comes live, what was published before it is in the caches, so
nothing falls between. A broker that is asked makes its excerpt at once. It says that it is ready when all
whom it asked have said so, in that message's place behind what is pending for the asker (R5): so whatever
was published before the question and comes live has come when the asker's broker is ready. Then the past is
pulled, part by part: every broker on the way merges what its neighbours have with its own, and asks them
only when it was asked. So a replay of any length keeps one part per link waiting, and is as fast as its
reader.

Laws.

1. A question is known by the subscription that asks, and by the link it came through. Everybody in the tree
   is asked, also where nothing is advertised any more: the past of publishers that have left is there.
2. What answers goes back to the asker alone, hop by hop, and touches no table and no other subscription.
3. A neighbour that is lost, or that the question came through, is asked for nothing more. If it still had
   something, the replay is not whole, and the subscription is told so.
4. A message that answers nothing that is open is dropped: it crossed the end of its question.
5. What one input causes looks at a bounded number of publications, however many questions are open.
6. Of one link no more than `QUESTIONS_MAX` questions are open at a time. One beyond that is answered at once:
   nothing comes, and it is not whole. So nothing of it has to be remembered here.
7. A question does not cross a link that is still synchronising (R9). Who joins by it may have been asked
   before, and what it has published since may be the effect of something that is live for the asker.
8. Finding a question takes no longer the more of them are open.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field

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
    Excerpt,
    Item,
    Merge,
    Playback,
    ReplayWindow,
)
from broker.replay_messages import ReplayAsked, ReplayMark, ReplayMore, ReplayOver, ReplayPart, ReplayReady
from broker.wire import DEFAULT_LIMITS, WireError, read_publications

Outgoing = list[tuple[Hop, list[LinkMessage]]]


@define(eq=False)
class ReplayQuestion:
    """One question at one broker. `asker` is the link it came through, None if it was asked here."""

    id: str
    asker: Hop | None
    merge: Merge[Hop]
    unready: set[Hop]
    is_wanted: bool = False


@define(eq=False)
class Questions:
    """One broker's questions; what came through several links is a question of each."""

    _named: dict[str, dict[Hop | None, ReplayQuestion]] = field(factory=dict)
    _counts: Counter[Hop | None] = field(factory=Counter)

    def __len__(self) -> int:
        return self._counts.total()

    def __iter__(self) -> Iterator[ReplayQuestion]:
        for askers in self._named.values():
            yield from askers.values()

    def asked_by(self, asker: Hop | None) -> int:
        """Return how many came through that link."""
        return self._counts[asker]

    def add(self, question: ReplayQuestion) -> None:
        """Put a question beside the others; the same one is not there."""
        askers = self._named.setdefault(question.id, {})
        assert question.asker not in askers, "who asks again has ended the first"
        askers[question.asker] = question
        self._counts[question.asker] += 1

    def named(self, name: str) -> list[ReplayQuestion]:
        """Return the question of that name, as often as it was asked."""
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
    """What may still come for a subscription whose past has been played, and is to be dropped then.

    Of each publisher, up to which number its publications were played; and the last mark.
    """

    played: dict[str, int]
    is_mark_due: bool


@define(eq=False)
class Replays:
    """The questions that are open at one broker, and its subscriptions that wait for their past.

    `waiting` names those that can be given more; `asked_count` and `played_count` are for those who watch.
    While there are `playbacks`, or hops for which something may still come `late`, deliveries pass by `hold`.
    """

    _routing: RoutingState
    _send: Callable[[Hop, Control | ReplayMark], None]
    _send_now: Callable[[Hop, Control], None]
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
        """From now on keep so much, and do so much at a time."""
        self.bounds = bounds
        self.cache.bound(bounds.size_bytes, bounds.count)

    # --- local subscriptions ---

    @property
    def playing_count(self) -> int:
        """How many local subscriptions have their past played now."""
        return len(self.playbacks)

    @property
    def can_replay(self) -> bool:
        """Whether another local subscription may ask for its past now."""
        return len(self.playbacks) < REPLAYS_MAX

    def subscribe(self, subscription: str, hop: Hop, window: ReplayWindow) -> None:
        """Hold back what comes for this subscription until its past has been played."""
        self.playbacks[hop] = Playback(subscription, window)

    def unsubscribe(self, subscription: str, hop: Hop) -> None:
        """It has ended."""
        self.late.pop(hop, None)
        if self.playbacks.pop(hop, None) is not None:
            self._close(subscription, None)

    def opened(self, subscriptions: list[str]) -> list[str]:
        """All gates of these are open; return those that ask for nothing: the others wait to be live."""
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
        asked = ReplayAsked(playback.subscription, content, playback.window.since_ns, playback.newest_first)
        self._ask(asked, None, self._settled_links())

    def go_on(self, subscription: str, hop: Hop, size_bytes: int) -> None:
        """The subscription has room for so much of its past."""
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
        """Hold back what is not to be delivered yet, and add what is; name those that are live now."""
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
        """Drop what was played: with some plugins it may come live much later."""
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

    # --- questions ---

    def asked(self, message: ReplayAsked, link: Hop) -> None:
        """A neighbour asks for the past; ask on."""
        if self._questions.asked_by(link) >= QUESTIONS_MAX:
            self._send(link, ReplayReady(message.question))
            return
        if self._questions.named(message.question):
            # It has come round another way, because a broker moves: what is here is told once.
            self._ask(message, link, [])
            return
        self._ask(message, link, [other for other in self._settled_links() if other is not link])

    def _settled_links(self) -> list[Hop]:
        """Who is asked: a broker that is about to join may have seen what is live for the asker (law 7)."""
        synchronising = self._routing.tables.synchronising
        return [link for link in self._routing.links.values() if link not in synchronising]

    def _ask(self, message: ReplayAsked, asker: Hop | None, others: list[Hop]) -> None:
        self._close(message.question, asker)
        excerpt = Excerpt.of(self.cache, message.filter, message.since_ns, newest_first=message.newest_first)
        question = ReplayQuestion(message.question, asker, Merge[Hop].of(excerpt, others), set(others))
        self._questions.add(question)
        for other in others:
            self._send_now(other, message)
        self._look_ready(question)

    def ready(self, message: ReplayReady, link: Hop) -> None:
        """Everybody behind the neighbour has made its excerpt."""
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
        """The asker has room for a part."""
        question = self._questions.get(message.question, link)
        if question is None:
            # It was one too many (law 6): who asks for what is over does not wait for this, and drops it.
            self._send_now(link, ReplayPart(message.question, (), (), is_over=True, is_whole=False))
            return
        question.is_wanted = True
        self._advance(question, self.bounds.step_count)

    def part(self, message: ReplayPart, link: Hop) -> None:
        """A neighbour has found something, or has nothing left."""
        items = _items(message, link)
        step_count = self.bounds.step_count
        for question in self._questions.named(message.question):
            if question.merge.awaits(link):
                question.merge.put(link, items, is_over=message.is_over, is_whole=message.is_whole)
                self._advance(question, step_count)
                step_count = 0

    def over(self, message: ReplayOver, link: Hop) -> None:
        """The asker wants no more."""
        self._close(message.question, link)

    def link_lost(self, link: Hop) -> None:
        """Who asked through it hears nothing any more; what it still had is missing (law 3)."""
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
        """End a question; tell the neighbours that have more."""
        question = self._questions.pop(name, asker)
        if question is None:
            return
        question.merge.close()
        for link in question.merge.open_origins():
            if self._routing.is_linked(link):
                self._send_now(link, ReplayOver(question.id))

    # --- parts ---

    def _advance(self, question: ReplayQuestion, step_count: int) -> None:
        """Give the asker what it wants, as far as a step finds it here; ask for what is not."""
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

    def is_replaying(self, hop: Hop) -> bool:
        """Whether the past of this subscription is still to be played."""
        return hop in self.playbacks

    def __len__(self) -> int:
        return len(self._questions) + len(self.playbacks)


def _items(message: ReplayPart, link: Hop) -> list[Item]:
    if len(message.times) != len(message.frames):
        text = f"{len(message.frames)} publications with {len(message.times)} times"
        raise ProtocolError(f"{link.name} sent a part of a replay that has {text}")
    try:
        found = read_publications(message.frames, DEFAULT_LIMITS)
    except WireError as error:
        raise ProtocolError(f"{link.name} sent a part of a replay that cannot be read: {error}") from error
    return [
        (at_ns, each.publisher, each.sequence, frame)
        for at_ns, each, frame in zip(message.times, found, message.frames, strict=True)
    ]
