"""Replays with one rule broken, for mutants."""

from collections.abc import Sequence

from broker.core.hops import Hop
from broker.core.replays import Replays
from broker.messages import LinkMessage, Publication
from broker.replay import Item, Playback
from broker.replay_messages import ReplayAsked

_hold = Playback.hold


def asks_nobody_else(self: Replays, message: ReplayAsked, link: Hop) -> None:
    """Answer for this broker alone, without asking the brokers behind it."""
    self._ask(message, link, [])


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
