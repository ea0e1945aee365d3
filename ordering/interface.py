"""The interface of an ordering plugin: what a broker tells it and what it may answer.

A broker routes; a plugin decides when each thing leaves. One instance serves one broker. It is synchronous
and deterministic: no clock, no randomness, no I/O, so that the same plugin runs in a server, in a
simulator, and over a journal.

Laws.

1. Everything a broker wants to send to a lower hop goes through the plugin: publications by `publication`,
   messages about routes by `control` (R5). Nothing about routes leaves for a lower hop any other way.
2. Each call returns emissions. The broker carries them out in their order, before it feeds the plugin again.
   An emission puts its item, with its mark, at the end of the sequence of every hop in `targets`.
3. What a plugin does not emit it keeps, and emits from a later call. It never emits an item twice to one hop.
4. A link is FIFO, from one plugin's emission to its neighbour's call.
5. Hops are bits. A set of hops is a whole number with those bits; a bit is reused only after `hop_lost`.
   A plugin forgets the bit there, and what it kept for that hop alone.

Marks are small numbers (0 to `MARK_LIMIT`) that a publication carries over one link, for the neighbour's
plugin only. Notes are messages between neighbouring plugins. Both are the plugin's private language.

A third party ships a plugin as an entry point in the group `concord.ordering`, naming a factory.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from attrs import frozen

Hops = int
"""A set of hops, one bit each; 0 is the empty set."""

MARK_LIMIT = 15
"""Marks have four bits in the fixed header of a frame."""


class Event(Protocol):
    """What a plugin may know of a publication. Its content is none of the plugin's business."""

    @property
    def publisher(self) -> str:
        """The publisher's id, unique in the overlay."""
        ...

    @property
    def sequence(self) -> int:
        """Its place among the publisher's publications, from 1."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether it takes part in pairwise and causal order."""
        ...


class Route(NamedTuple):
    """What the routing tables say about one publication, worked out when the tables change.

    `targets` are the hops with a matching entry that is open for publications from the origin; never the
    origin itself. `exposed` are those of them below this broker on which a matching ordered subscription is
    exposed: publications may come down to it from the uplink.
    """

    targets: Hops
    exposed: Hops


@frozen
class Note:
    """A message from a plugin to its neighbour; the numbers mean what the plugin says."""

    content: tuple[int, ...]


class Emission(NamedTuple):
    """Send `item` (a publication, a control message or a `Note`) to every hop in `targets`, now.

    `mark` is for publications only.
    """

    item: object
    targets: Hops
    mark: int


class Blocked(NamedTuple):
    """Something that waits, for those who ask why: the item, the hops it is for, and what it waits for."""

    item: object
    targets: Hops
    reason: str


class Ordering(Protocol):
    """One broker's ordering plugin."""

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """A publication came: over the link `origin` with this mark, or from a local publisher (origin 0)."""
        ...

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """The neighbour's plugin at the other end of the link `origin` said something.

        Raises `ForeignNoteError` if it makes no sense; the broker then closes the link.
        """
        ...

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """A message about routes is to go to one lower hop; it keeps its place (R5)."""
        ...

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """The broker attached itself through this hop, or lost its uplink (0) and is a top now (R8)."""
        ...

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """The hop is gone and its bit may be reused: a link was lost, or a local subscription ended."""
        ...

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """One note that says the same as these two, sent in a row, or None."""
        ...

    @property
    def waiting_count(self) -> int:
        """How many items are kept, in constant time: the broker withholds credit by it."""
        ...

    def blocked(self) -> Sequence[Blocked]:
        """What waits, oldest first."""
        ...


class ForeignNoteError(Exception):
    """A neighbour's note that this plugin cannot have asked for."""


OrderingFactory = Callable[[], Ordering]
