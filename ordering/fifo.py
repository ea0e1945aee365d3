"""`fifo`: no ordering. Every publication and every control message leaves at once, in arrival order.

The promises are those of FIFO links: a subscriber delivers the publications of one publisher in their order,
and a cause before its effect if the publisher of the effect received the cause from the same broker.
Subscribers at different brokers may deliver publications of different publishers in different orders.
"""

from collections.abc import Sequence

from attrs import define, field

from ordering.interface import (
    ALONE,
    Blocked,
    Context,
    Emission,
    Event,
    ForeignNoteError,
    Hops,
    Measures,
    Route,
)


@define
class Fifo:
    """A plugin without state, marks, notes and cost."""

    _context: Context = field(default=ALONE, repr=False)
    measures: Measures = field(factory=Measures, init=False)

    def __attrs_post_init__(self) -> None:
        self._context.allow()

    @property
    def waiting_count(self) -> int:
        """Return 0: no item is ever pending."""
        return 0

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Emit the publication to every target at once."""
        del origin, mark
        return (Emission(event, route.targets, 0),)

    def run(self, events: Sequence[Event], origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """Emit the publications to every target at once."""
        del origin, mark
        return (Emission(tuple(events), route.targets, 0),)

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Emit the message at once: no item is pending that it could overtake."""
        return (Emission(item, target, 0),)

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """Raise `ForeignNoteError`: a neighbour that runs `fifo` sends no notes."""
        raise ForeignNoteError(f"fifo has no notes, yet hop {origin:#x} sent {content}")

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Emit nothing: a new link needs no notes."""
        del link
        return ()

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Emit nothing: the uplink is a link like any other."""
        del uplink
        return ()

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Emit nothing: no item is pending for the hop."""
        del hop
        return ()

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return None: there are no notes to combine."""
        del earlier, later
        return None

    def blocked(self) -> Sequence[Blocked]:
        """Return no items: none is ever pending."""
        return ()
