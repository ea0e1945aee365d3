"""The interface of an ordering plugin: what a broker tells it and what it may answer.

A broker routes; a plugin decides when each thing leaves. One instance serves one broker. It is synchronous
and deterministic: no clock, no randomness, no I/O, so that the same plugin runs in a server, in a
simulator, and over a journal.

Laws.

1. Everything a broker wants to send goes through the plugin: publications by `publication`, messages about
   routes by `control`, where they keep their place (R5). What attaches links is the broker's own.
2. Each call returns emissions. The broker carries them out in their order, before it feeds the plugin again.
   An emission puts its item, with its mark, at the end of the sequence of every hop in `targets`.
3. What a plugin does not emit it keeps, and emits from a later call. It never emits an item twice to one hop.
   Only a publication that comes when a bound is reached may be dropped, and is counted as refused.
4. A link is FIFO, from one plugin's emission to its neighbour's call.
5. Hops are bits. A set of hops is a whole number with those bits; a bit is reused only after `hop_lost`.
   A plugin forgets the bit there, and what it kept for that hop alone.
6. A snapshot of a broker holds its plugin. So all that a plugin remembers is in its attributes, as plain
   values (numbers, texts, bytes, truth values, None), containers of them (tuples, lists, dicts, sets,
   deques), named tuples and objects of attrs classes of its own package, what a call handed in, and `Note`s.
   Attributes that hold the context or a function are made by the factory, not written; so are those that the
   class names in a set `DERIVED`: what follows from options and tables. Objects inside have no such
   attributes. What was one object is one object again, but not one of the same identity.

Marks are small numbers (0 to `MARK_LIMIT`) that a publication carries over one link, for the neighbour's
plugin only. Notes are messages between neighbouring plugins. Both are the plugin's private language. What
does not fit into a mark goes as a note right before the publication: by law 4 it arrives there.

A third party ships a plugin as an entry point in the group `concord.ordering`, naming a factory. The factory
may have these attributes: `INTERFACE_VERSION`, the version of this interface that it was written for (1 if it
does not say); `NOTES_VERSION`, the version of its marks and notes, which neighbours must share (1 likewise);
`CAUTION`, a text that a broker logs when it starts; `ROUTING`, the routing strategies that it needs where the
operator chooses none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, Self

from attrs import define, field, frozen

INTERFACE_VERSION: Final = 1
"""The version of this interface. It changes when a plugin that worked before would not work any more."""

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


class Interest(Protocol):
    """A filter: what is advertised or subscribed to. Two of them overlap if one event may match both."""

    def overlaps(self, other: Self, /) -> bool:
        """Whether an event may match both; errs on the side of yes."""
        ...


class Advertisement(NamedTuple):
    """A publisher as known through a link."""

    id: str
    filter: Interest
    hop: Hops


class Subscription(NamedTuple):
    """A subscription as known through one hop: a link, or the local subscription itself."""

    id: str
    filter: Interest
    ordered: bool
    hop: Hops


class Tables(Protocol):
    """The broker's routing tables, to look at. `Route` is cheaper, and enough for most plugins."""

    @property
    def version(self) -> int:
        """Changes whenever `advertisements` or `subscriptions` do."""
        ...

    def advertisements(self) -> Iterable[Advertisement]:
        """Return every advertisement known through links, not those of local publishers."""
        ...

    def subscriptions(self) -> Iterable[Subscription]:
        """Return every subscription known."""
        ...

    def matching(self, event: "Event", origin: Hops) -> Sequence[Subscription]:
        """Return the subscriptions behind the targets of an event from this hop."""
        ...


@frozen
class NoTables:
    """Tables of a broker that knows nobody."""

    version: int = 0

    def advertisements(self) -> Iterable[Advertisement]:
        """Return nothing."""
        return ()

    def subscriptions(self) -> Iterable[Subscription]:
        """Return nothing."""
        return ()

    def matching(self, event: "Event", origin: Hops) -> Sequence[Subscription]:
        """Return nothing."""
        del event, origin
        return ()


@frozen
class Context:
    """What a plugin is made with: its broker's name and tables, and what the operator configured."""

    broker: str = ""
    tables: Tables = field(factory=NoTables, repr=False)
    options: Mapping[str, str] = field(factory=dict)

    def allow(self, *known: str) -> None:
        """Refuse options that the plugin does not know; a typing error must not be taken for a setting.

        Raises:
            OptionError: there is another one.
        """
        for name in self.options:
            if name not in known:
                raise OptionError(f"unknown option {name!r}; there are {', '.join(known) or 'none'}")

    def count(self, name: str, default: int) -> int:
        """Return an option that is a whole number of 1 or more.

        Raises:
            OptionError: it is something else.
        """
        text = self.options.get(name, str(default))
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise OptionError(f"option {name}: expected a whole number of 1 or more, got {text!r}")
        return int(text)


ALONE: Final = Context()
"""A broker without name, tables and options: enough for a plugin that asks for none of them."""


@define
class Measures:
    """What ordering costs, counted by every plugin in the same way. How much waits is `waiting_count`.

    `requests` are copies of publications that ask the neighbour for an answer, `acknowledgements` the answers
    given; `deferred` are publications that could not leave for all targets when they came; `refused` are
    those that were dropped because a bound was reached; `metadata_bytes` is what publications carried over
    links beyond their mark.
    """

    requests: int = 0
    acknowledgements: int = 0
    deferred: int = 0
    refused: int = 0
    metadata_bytes: int = 0


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

    @property
    def measures(self) -> Measures:
        """What it has cost so far."""
        ...

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """A publication came: over the link `origin` with this mark, or from a local publisher (origin 0)."""
        ...

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """The neighbour's plugin at the other end of the link `origin` said something.

        Raises `ForeignNoteError` if it makes no sense; the broker then closes the link.
        """
        ...

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """A message about routes is to go to one link; it keeps its place (R5)."""
        ...

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """A link is part of the tree, its other end runs the same plugin: notes may go there from now on."""
        ...

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """The link that has just been attached is the uplink; or it is lost (0), this is a top now (R8)."""
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


class OptionError(Exception):
    """The operator configured what this plugin does not have; the text names it."""


OrderingFactory = Callable[[Context], Ordering]
"""Makes one broker's plugin. Raises `OptionError`."""
