"""Audits with one rule broken, for mutants."""

from collections.abc import Sequence

from ordering.interface import Emission, Hops, Note
from ordering.pairwise import Pairwise

_audit = Pairwise.audit
_questioned = Pairwise._questioned


def looks_at_nothing(
    self: Pairwise, uplink: Hops, links: Hops, hops: Hops
) -> tuple[bool, Sequence[Emission]]:
    """Take the state for right, whatever it is."""
    del self, uplink, links, hops
    return False, ()


def looks_at_no_item(self: Pairwise, links: Hops, hops: Hops) -> None:
    """Take all items, and the queue of those that await, for right."""


def asks_nothing(self: Pairwise, uplink: Hops, links: Hops, hops: Hops) -> tuple[bool, Sequence[Emission]]:
    """Make the state agree with itself, and not with the uplink's."""
    is_wrong, emissions = _audit(self, uplink, links, hops)
    self._since = None
    return is_wrong, [each for each in emissions if not isinstance(each.item, Note) or each.targets != uplink]


def answers_at_once(self: Pairwise, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
    """Answer a question past all acknowledgements that are pending."""
    if origin != self._uplink:
        return (Emission(Note(content), origin, 0),)
    return _questioned(self, origin, content)
