"""`fifo`: the plugin switched off. Everything leaves at once, in arrival order.

It keeps what FIFO links give: one publisher's publications arrive in their order, and nobody delivers an
effect before its cause, if who published the effect had the cause from the same broker. Subscribers at
different brokers may disagree about publications of different publishers.
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
    """Keeps nothing, marks nothing, says nothing, costs nothing."""

    _context: Context = field(default=ALONE, repr=False)
    measures: Measures = field(factory=Measures, init=False)

    def __attrs_post_init__(self) -> None:
        self._context.allow()

    @property
    def waiting_count(self) -> int:
        """Nothing ever waits."""
        return 0

    def publication(self, event: Event, origin: Hops, mark: int, route: Route) -> Sequence[Emission]:
        """To every target, at once."""
        del origin, mark
        return (Emission(event, route.targets, 0),)

    def control(self, item: object, target: Hops) -> Sequence[Emission]:
        """Nothing is pending that it could overtake."""
        return (Emission(item, target, 0),)

    def note(self, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
        """No neighbour that runs `fifo` says anything."""
        raise ForeignNoteError(f"fifo has no notes, yet hop {origin:#x} sent {content}")

    def link_attached(self, link: Hops) -> Sequence[Emission]:
        """Nothing needs to be said."""
        del link
        return ()

    def uplink_changed(self, uplink: Hops) -> Sequence[Emission]:
        """Makes no difference."""
        del uplink
        return ()

    def hop_lost(self, hop: Hops) -> Sequence[Emission]:
        """Nothing was kept for it."""
        del hop
        return ()

    def combine(self, earlier: tuple[int, ...], later: tuple[int, ...]) -> tuple[int, ...] | None:
        """There are no notes to combine."""
        del earlier, later
        return None

    def blocked(self) -> Sequence[Blocked]:
        """Nothing ever is."""
        return ()
