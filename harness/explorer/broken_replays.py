"""Replays with one rule broken, for mutants."""

from collections.abc import Sequence

from broker.core.hops import Hop
from broker.core.replays import Replays
from broker.filters import Filter
from broker.messages import LinkMessage, Publication
from broker.replay import CachePosition, Item, Playback, Positions
from broker.replay.kept import CachedRun
from broker.replay.retention import Cursor
from broker.replay_messages import ReplayAsked

_hold = Playback.hold
_begin = Replays._begin
_at = Positions.at


def asks_nobody_else(self: Replays, message: ReplayAsked, link: Hop) -> None:
    """Answer for this broker alone, without asking the brokers behind it."""
    self._ask(message, link, [], self.positions.at(message.position))


def asks_by_the_clock(self: Cursor, at_ns: int, run: CachedRun) -> bool:
    """Replay what its time says is from then on, and nothing else."""
    return self.is_about(run) and at_ns >= self.asked_ns


def asks_from_the_opening(self: Replays, playback: Playback, hop: Hop, content: Filter) -> None:
    """Ask for what is published from the moment on in which all gates are open."""
    playback.position = self.positions.present(self.cache)
    _begin(self, playback, hop, content)


def mixes_positions(self: Positions, mark: str) -> CachePosition:
    """Ask brokers further on by their newest marks, and not by those that were kept with the mark."""
    return CachePosition(_at(self, mark).number, dict(self._marks))


def holds_nothing_back(self: Playback, messages: Sequence[LinkMessage]) -> bool:
    """Deliver live events at once, before the past."""
    is_marked = _hold(self, messages)
    self._out += [each for each in self._held if isinstance(each, Publication)]
    self._held.clear()
    return is_marked


def plays_everything(self: Playback, item: Item) -> bool:
    """Replay events that were delivered live, too."""
    del self, item
    return True
