"""Past publications: cached at their publisher's broker, found again, and put in order. No I/O.

`Cache` keeps, `Excerpt` finds, `Merge` joins what several brokers found, and `Playback` is the subscription
that gets it before what is live. Questions are passed on by `broker.core.replays`.
"""

from broker.replay.bounds import COLLECTED_BYTES_MAX, QUESTIONS_MAX, REPLAYS_MAX, Bounds, Item, ReplayWindow
from broker.replay.cache import Cache
from broker.replay.excerpt import Excerpt
from broker.replay.merging import Merge
from broker.replay.playback import Playback
from broker.replay.positions import CachePosition, Positions

__all__ = [
    "COLLECTED_BYTES_MAX",
    "QUESTIONS_MAX",
    "REPLAYS_MAX",
    "Bounds",
    "Cache",
    "CachePosition",
    "Excerpt",
    "Item",
    "Merge",
    "Playback",
    "Positions",
    "ReplayWindow",
]
