"""A node: entries looked up by one attribute each, the most selective they have left.

Laws:

* Which attribute and which structure an entry goes to depends on the entry and the node's path alone, so
  that removal finds what addition did.
* An entry with no attribute left to look up is in `rest` and tried each time.
"""

from typing import Generic

from attrs import define, field

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
)
from broker.matching.affixes import Prefixes, Suffixes, prefix_of, suffix_of
from broker.matching.bucket import Filing, Probe, Structure
from broker.matching.entry import Entry, Item, Key, Path
from broker.matching.equality import Equality
from broker.matching.presence import Presence
from broker.matching.ranges import Grids, fits_grid
from broker.matching.rays import Rays, is_ray

Kind = type[Equality[Key] | Prefixes[Key] | Grids[Key] | Suffixes[Key] | Rays[Key] | Presence[Key]]

# Lookups that leave nothing of their attribute to test.
_EXACT = (Equality, Rays)


@define(eq=False)
class TreeNode(Generic[Key]):
    """A bucket with structure."""

    _path: Path
    probes: dict[str, tuple[Probe[Key], ...]] = field(factory=dict)
    rest: dict[Entry[Key], Item[Key]] = field(factory=dict)
    _structures: dict[str, dict[str, Structure[Key]]] = field(factory=dict)

    def add(self, entry: Entry[Key]) -> None:
        """Put an entry into it."""
        choice = _choose(entry, self._path)
        if choice is None:
            self.rest[entry] = entry.item(self._path)
            return
        name, constraint, kind = choice
        structures = self._structures.setdefault(name, {})
        structure = structures.get(kind.__name__)
        if structure is None:
            structure = structures[kind.__name__] = self._make(name, kind)
            self._list_probes(name)
        structure.add(entry, constraint)

    def remove(self, entry: Entry[Key]) -> None:
        """Take an entry out of it."""
        choice = _choose(entry, self._path)
        if choice is None:
            del self.rest[entry]
            return
        name, constraint, kind = choice
        structures = self._structures[name]
        structure = structures[kind.__name__]
        structure.remove(entry, constraint)
        if not structure:
            del structures[kind.__name__]
            self._list_probes(name)

    def __bool__(self) -> bool:
        return bool(self.rest or self._structures)

    def _make(self, name: str, kind: Kind[Key]) -> Structure[Key]:
        return kind(Filing(self._path.after(name, exact=kind in _EXACT), TreeNode))

    def _list_probes(self, name: str) -> None:
        structures = self._structures[name]
        if structures:
            self.probes[name] = tuple(structure.probe for structure in structures.values())
        else:
            del self._structures[name]
            del self.probes[name]


def _choose(entry: Entry[Key], path: Path) -> tuple[str, Constraint, Kind[Key]] | None:
    """The attribute to look the entry up by, if one is left, and the structure for it."""
    best: tuple[int, str, Constraint, Kind[Key]] | None = None
    for name, constraint in entry.conjunction:
        if name not in path.used:
            rank: int
            kind: Kind[Key]
            rank, kind = _classify(constraint)
            if best is None or rank < best[0]:
                best = (rank, name, constraint, kind)
    return None if best is None else best[1:]


def _classify(constraint: Constraint) -> tuple[int, Kind[Key]]:  # noqa: PLR0911 - a table, one row for each structure
    """How selective a lookup is likely to be (less is better), and the structure for it."""
    match constraint:
        case TextSet() | NumberSet():
            return 0, Equality
        case TextPattern() if prefix_of(constraint):
            return 1, Prefixes
        case NumberRange() if fits_grid(constraint):
            return 2, Grids
        case TextPattern() if suffix_of(constraint):
            return 3, Suffixes
        case Truths():
            return 4, Equality
        case NumberRange() if is_ray(constraint):
            return 5, Rays
        case NumberRange() | TextPattern() | AnyValue():
            return 6, Presence
