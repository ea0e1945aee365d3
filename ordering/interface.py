"""The interface of an ordering plugin: the calls that a broker makes and the emissions that they return.

A broker routes; a plugin decides when each item leaves. One instance serves one broker. It is synchronous
and deterministic: no clock, no randomness, no I/O, so that the same plugin runs in a server, in a
simulator, and over a journal.

Laws.

1. Every item that a broker sends goes through the plugin: publications by `publication`, control messages
   (messages about routes) by `control`, where they keep their position (R5). Messages that attach links are
   the broker's own.
2. Each call returns emissions. The broker carries them out in their order, before it calls the plugin again.
   An emission puts its item, with its mark, at the end of the sequence of every hop in `targets`.
3. A plugin keeps each item that it does not emit, and emits it from a later call. It never emits an item
   twice to one hop. Only a publication that arrives when a limit is reached may be dropped, and is counted as
   refused.
4. A link is FIFO, from one plugin's emission to its neighbour's call.
5. Hops are bits. A set of hops is a whole number with those bits; a bit is reused only after `hop_lost`.
   In that call a plugin forgets the bit, and every item that it kept for that hop alone.
6. A snapshot of a broker holds its plugin. So the whole state of a plugin is in its attributes, as plain
   values (numbers, texts, bytes, truth values, None), containers of them (tuples, lists, dicts, sets,
   deques), named tuples and objects of attrs classes of its own package, arguments of its calls, and `Note`s.
   Attributes that hold the context or a function are made by the factory, not written; so are those that the
   class names in a set `DERIVED`, which follow from options and tables. Objects inside have no such
   attributes. An object that is referred to twice is restored as one object, with another identity.

A plugin may have a method `run` (`TakesRuns`), so that what comes together costs one call, and a method
`audit` (`Audited`), so that its state becomes right again if memory changes it.

Marks are small numbers (0 to `MARK_LIMIT`) that a publication carries over one link, for the neighbour's
plugin only. Notes are messages between neighbouring plugins. The plugin alone defines their meaning. Data
that does not fit into a mark goes as a note right before the publication: by law 4 it arrives right before
it.

A third party ships a plugin as an entry point in the group `concord.ordering`, naming a factory. The factory
may have these attributes: `INTERFACE_VERSION`, the version of this interface that it was written for (1 if it
is absent); `NOTES_VERSION`, the version of its marks and notes, which neighbours must share (1 likewise);
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
    """The part of a publication that a plugin may read; its content is not among it."""

    @property
    def publisher(self) -> str:
        """The publisher's id, unique in the overlay."""
        ...

    @property
    def sequence(self) -> int:
        """The position among the publisher's publications, from 1."""
        ...

    @property
    def ordered(self) -> bool:
        """Return whether the publication takes part in pairwise and causal order."""
        ...


class Route(NamedTuple):
    """The hops of one publication by the routing tables, computed when the tables change.

    `targets` are the hops with a matching entry that is open for publications from the origin; never the
    origin itself. `exposed` are the targets below this broker on which a matching ordered subscription is
    exposed: publications from the uplink may match it too. `free` are the targets below that are not among
    those; None if nobody has worked it out.
    """

    targets: Hops
    exposed: Hops
    free: Hops | None = None


class Interest(Protocol):
    """A filter of an advertisement or a subscription. Two filters overlap if one event may match both."""

    def overlaps(self, other: Self, /) -> bool:
        """Return whether an event may match both; in doubt, True."""
        ...


class Advertisement(NamedTuple):
    """An advertisement as announced over a link."""

    id: str
    filter: Interest
    hop: Hops


class Subscription(NamedTuple):
    """A subscription as announced over one hop: a link, or the local subscription itself."""

    id: str
    filter: Interest
    ordered: bool
    hop: Hops


class Tables(Protocol):
    """The broker's routing tables, read-only. `Route` is cheaper, and enough for most plugins."""

    @property
    def version(self) -> int:
        """A number that changes whenever `advertisements` or `subscriptions` change."""
        ...

    def advertisements(self) -> Iterable[Advertisement]:
        """Return every advertisement announced over links, none of local publishers."""
        ...

    def subscriptions(self) -> Iterable[Subscription]:
        """Return every subscription, local ones included."""
        ...

    def matching(self, event: "Event", origin: Hops) -> Sequence[Subscription]:
        """Return the matching subscriptions at the targets of an event from this hop."""
        ...


@frozen
class NoTables:
    """The tables of a broker without neighbours and clients."""

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
    """The arguments of a plugin's factory: its broker's name and tables, and the operator's options."""

    broker: str = ""
    tables: Tables = field(factory=NoTables, repr=False)
    options: Mapping[str, str] = field(factory=dict)

    def allow(self, *known: str) -> None:
        """Refuse every option that is not known; a typing error must not be taken for a setting.

        Raises:
            OptionError: the operator set another option.
        """
        for name in self.options:
            if name not in known:
                raise OptionError(f"unknown option {name!r}; there are {', '.join(known) or 'none'}")

    def count(self, name: str, default: int) -> int:
        """Return an option that is a whole number of 1 or more.

        Raises:
            OptionError: the option has another value.
        """
        text = self.options.get(name, str(default))
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise OptionError(f"option {name}: expected a whole number of 1 or more, got {text!r}")
        return int(text)


ALONE: Final = Context()
"""The context of a broker without name, tables and options."""


@define
class Measures:
    """The cost of ordering, counted by every plugin in the same way; `waiting_count` counts pending items.

    `requests` counts copies of publications that request an acknowledgement from a neighbour,
    `acknowledgements` those that were sent; `deferred` counts publications that did not leave for all targets
    when they arrived; `refused` counts publications dropped because a limit was reached; `metadata_bytes` is
    the size of all that publications carried over links beyond their mark.
    """

    requests: int = 0
    acknowledgements: int = 0
    deferred: int = 0
    refused: int = 0
    metadata_bytes: int = 0


@frozen
class Note:
    """A message from a plugin to its neighbour; the plugin defines what the numbers mean."""

    content: tuple[int, ...]


class Emission(NamedTuple):
    """Send `item` to every hop in `targets` now: a publication or a tuple of them, a message, or a `Note`.

    Only publications have a `mark` other than 0.
    """

    item: object
    targets: Hops
    mark: int


class Blocked(NamedTuple):
    """A pending item, for `concord explain`: the item, its hops, and the reason why it is blocked."""

    item: object
    targets: Hops
    reason: str


class Ordering(Protocol):
    """One broker's ordering plugin."""

    @property
    def measures(self) -> Measures:
        """The cost of ordering so far."""
        ...

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Take a publication from the link `origin`, with its mark, or from a local publisher (origin 0)."""
        ...

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Take a note from the neighbour's plugin at the other end of the link `origin`.

        Raises `ForeignNoteError` if the note has no meaning; the broker then closes the link.
        """
        ...

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Take a message for one link, or for local subscriptions; for each it leaves behind what is pending.

        That is R5. Those for which nothing is pending do not wait for the others.
        """
        ...

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Attach a link: its other end runs the same plugin, and notes may be sent there from now on."""
        ...

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Make the link just attached the uplink; 0 means that the uplink is lost, so this is a root (R8)."""
        ...

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Forget a hop, whose bit may be reused: a link was lost, or a local subscription ended."""
        ...

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return one note that means the same as these two in a row, or None."""
        ...

    @property
    def waiting_count(self) -> int:
        """The number of pending items, in constant time: the broker withholds credit by it."""
        ...

    def blocked(self) -> Sequence[Blocked]:
        """Return the pending items, oldest first."""
        ...


class TakesRuns(Protocol):
    """A plugin that takes several publications at once."""

    def run(self, events: Sequence[Event], origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Do what `publication` does for each of these in turn, with one `ordered`, mark and route.

        There is at least one. Where it is an event for `publication`, the item of an emission may be a tuple
        of some of them: they leave one behind the other.
        """
        ...


class Audited(Protocol):
    """A plugin that looks at its own state, as often as leases are renewed, and never for an event."""

    def audit(self, uplink: Hops, links: Hops, hops: Hops) -> tuple[bool, Sequence[Emission]]:
        """Make the state agree with itself and with these hops; return whether it was wrong, and emissions.

        `uplink` is 0 for a root. Where nothing is wrong nothing changes, but for a question to a neighbour.
        """
        ...


class Lifting(Protocol):
    """A plugin that lets a child get another parent while events flow: the broker above, or its sibling.

    The three run this plugin. The child sends nothing up from the moment in which it holds. The switch is one
    call of the broker above (`adopt`) where the child goes up, of its parent (`redirect`) where it goes down.
    """

    @property
    def open_count(self) -> int:
        """The number of requests that the uplink has still to answer."""
        ...

    @property
    def awaited(self) -> Sequence[object]:
        """The items that these requests are about."""
        ...

    def order_above(self, child: Hops) -> None:
        """Let the uplink order all that this child gets, also what nobody else wants; 0 ends that."""
        ...

    @property
    def is_ordered_above(self) -> bool:
        """Whether nothing is pending, or to be acknowledged, that was when `order_above` was called."""
        ...

    def adopt(self, child: Hops, parent: Hops, wants: Callable[[object], bool]) -> None:
        """Give a child all that is pending for its parent, if it wants that."""
        ...

    def drop(self, hop: Hops, is_old: Callable[[object], bool]) -> Sequence[Emission]:
        """Take a hop out of pending messages that are old; emit to it what was behind them."""
        ...

    def let_go(self, child: Hops) -> Sequence[Emission]:
        """Take a child out of what the uplink has not ordered; emit to it all that is pending beside."""
        ...

    def keep_for(self, link: Hops) -> Sequence[Emission]:
        """Keep all that climbs for the link to a sibling, until the uplink has ordered it; 0 ends that."""
        ...

    def keep_wanted(self, child: Hops, wants: Callable[[object], bool]) -> None:
        """Take that link for a child's: it gets what is kept and wanted, and `order_above` is in force."""
        ...

    def acknowledge_with(self, child: Hops, sibling: Hops) -> None:
        """Give a child what comes from its sibling in one step with the acknowledgement of that; 0 ends it.

        `is_ordered_above` is about what was pending before this call, too.
        """
        ...

    def has_passed(self, child: Hops, sibling: Hops, wants: Callable[[object], bool]) -> bool:
        """Return whether something from the sibling is pending that the child wants, but not when it came."""
        ...

    def redirect(self, child: Hops, sibling: Hops) -> Sequence[Emission]:
        """Let the sibling pass on what is pending for a child, and to it alone."""
        ...


class ForeignNoteError(Exception):
    """A neighbour sent a note that means nothing to this plugin, or answers no request."""


class OptionError(Exception):
    """The operator set an option that this plugin does not have, or to a wrong value; the text names it."""


OrderingFactory = Callable[[Context], Ordering]
"""Returns one broker's plugin. Raises `OptionError`."""
