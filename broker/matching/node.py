"""A node: entries looked up by one attribute each, or as boxes.

Laws:

* Every entry is in one place: a structure of the attribute that `choose` names, a set of boxes, or `rest`.
* The choice depends on the entry and the path alone, so that removal finds what addition did.
* Ranges on several attributes are boxes unless one of them is narrow. That depends on the other boxes; so
  whether an entry is one is not worked out again when it goes, but looked up.
* An entry with no attribute left to look up is in `rest` and tried each time.
"""

from collections.abc import Callable
from typing import Final, Generic

from attrs import define, field

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    Null,
    Number,
    NumberRange,
    NumberSet,
    OwnPattern,
    TextPattern,
    TextSet,
    Truths,
)
from broker.filters.lists import demands_equality
from broker.filters.numbers import EXACT_LIMIT
from broker.matching.affixes import is_bare_prefix, prefix_of, prefixes, suffix_of, suffixes
from broker.matching.boxes import Boxes
from broker.matching.bucket import (
    Filing,
    IndexEntry,
    Item,
    Key,
    MakeIndex,
    Path,
    Probe,
    Structure,
    lookups_of,
)
from broker.matching.called import Called
from broker.matching.elements import Containers, Elements
from broker.matching.equality import Equality, Presence
from broker.matching.pairs import PAIR, TextPairs, is_pair
from broker.matching.ranges import Grids, Rays

Kind = Callable[[Filing[Key]], Structure[Key]]


_BEST: Final = frozenset({TextSet, NumberSet})
"""Nothing is more selective: no other choice has to be looked at."""


@define(eq=False)
class SplitChoice(Generic[Key]):
    """One attribute, what the entry demands of it, and the structure for that.

    The lowest rank is best. After an exact lookup nothing of the attribute is left to test. A lookup in
    a list takes one of its conditions, or two.
    """

    rank: float
    name: str
    constraint: Constraint
    kind: Kind[Key]
    exact: bool = False
    taken: int = 1


def choose(entry: IndexEntry[Key], path: Path) -> SplitChoice[Key] | None:
    """The best choice among the attributes that were not looked up yet; None if there are none left."""
    for name, constraint in entry.conjunction:
        if type(constraint) in _BEST and name not in path.used:
            return SplitChoice(0, name, constraint, Equality, exact=True)
    best: SplitChoice[Key] | None = None
    for name, constraint in entry.conjunction:
        turn = path.lookups.count(name)
        if turn < lookups_of(constraint):
            choice: SplitChoice[Key] = _classify(name, constraint, turn)
            if best is None or choice.rank < best.rank:
                best = choice
    return best


def _classify(name: str, constraint: Constraint, turn: int) -> SplitChoice[Key]:  # noqa: C901, PLR0911, PLR0912 - a table, a row each
    """Return how selective a lookup is likely to be, and the structure for it."""
    match constraint:
        case TextSet() | NumberSet():
            return SplitChoice(0, name, constraint, Equality, exact=True)
        case TextPattern() if prefix_of(constraint):
            return SplitChoice(1, name, constraint, prefixes, exact=is_bare_prefix(constraint))
        case NumberRange(low, _, high) if (
            low is not None and high is not None and -EXACT_LIMIT <= low <= high <= EXACT_LIMIT
        ):
            return SplitChoice(2 + _breadth(low, high), name, constraint, Grids)
        case TextPattern() if suffix_of(constraint):
            return SplitChoice(4, name, constraint, suffixes)
        case Truths() | Null():
            return SplitChoice(5, name, constraint, Equality, exact=True)
        case ListPattern(some=some) if constraint.selective:
            conditions = constraint.selective
            rank = 0.5 if demands_equality(conditions[turn]) else 3.5
            pair = conditions[turn : turn + PAIR]
            kind, taken = (TextPairs, PAIR) if is_pair(pair) else (Elements, 1)
            is_last = turn + taken == len(conditions)
            exact = is_last and constraint == ListPattern(some=some) and len(some) == len(conditions)
            return SplitChoice(rank, name, constraint, kind, exact=exact, taken=taken)
        case Containing() if constraint.present:
            return SplitChoice(5.5, name, constraint, Containers, exact=constraint.parts == 1)
        case NumberRange(low, _, high) if (
            (low is None) != (high is None) and not constraint.excluded and constraint.closed is not None
        ):
            return SplitChoice(6, name, constraint, Rays, exact=True)
        case NumberRange() | TextPattern() | ListPattern() | Containing():
            return SplitChoice(7, name, constraint, Presence)
        case OwnPattern(TextPattern() as beside) if prefix_of(beside):
            return SplitChoice(1, name, beside, prefixes)
        case OwnPattern():
            return SplitChoice(5, name, constraint, Called)
        case NotNull():
            return SplitChoice(8, name, constraint, Presence)
        case AnyValue():
            return SplitChoice(8, name, constraint, Presence, exact=True)


def _breadth(low: Number, high: Number) -> float:
    """The width of a range beside its bounds, from 0 to 2: what is narrow on its own scale comes first."""
    largest = max(abs(low), abs(high))
    return (high - low) / largest if largest else 0.0


@define(eq=False)
class TreeNode(Generic[Key]):
    """A bucket with structure."""

    _path: Path
    _index: MakeIndex
    probes: dict[str, tuple[Probe[Key], ...]] = field(factory=dict)
    rest: dict[IndexEntry[Key], Item[Key]] = field(factory=dict)
    _structures: dict[tuple[str, str, bool], Structure[Key]] = field(factory=dict)
    _boxes: dict[tuple[str, ...], Boxes[Key]] = field(factory=dict)

    def add(self, entry: IndexEntry[Key]) -> None:
        """Put an entry into it."""
        choice = choose(entry, self._path)
        if choice is None:
            self.rest[entry] = entry.item(self._path)
        elif (names := self._box_names(entry, choice)) and self._suits_boxes(entry, names):
            self._add_box(entry, names, choice)
        else:
            self._add_to_structure(entry, choice)

    def remove(self, entry: IndexEntry[Key]) -> None:
        """Take an entry out of it."""
        choice = choose(entry, self._path)
        if choice is None:
            del self.rest[entry]
            return
        names = self._box_names(entry, choice)
        if names in self._boxes and entry in self._boxes[names]:
            self._boxes[names].remove(entry, choice.constraint)
            if not self._boxes[names]:
                del self._boxes[names]
                self._list_probes(names[0])
        else:
            self._remove_from_structure(entry, choice)

    def __bool__(self) -> bool:
        return bool(self.rest or self._structures or self._boxes)

    def _box_names(self, entry: IndexEntry[Key], choice: SplitChoice[Key]) -> tuple[str, ...]:
        """The attributes on which the entry may be a box; none if it is better looked up otherwise."""
        names: tuple[str, ...] = ()
        if choice.kind in (Grids, Rays):
            for name, constraint in entry.conjunction:
                if name not in self._path.used and isinstance(constraint, NumberRange):
                    names += (name,) if constraint.closed is not None and not constraint.excluded else ()
        return names if len(names) > 1 else ()

    def _suits_boxes(self, entry: IndexEntry[Key], names: tuple[str, ...]) -> bool:
        return names not in self._boxes or self._boxes[names].suits(entry)

    def _add_box(self, entry: IndexEntry[Key], names: tuple[str, ...], choice: SplitChoice[Key]) -> None:
        if names not in self._boxes:
            self._boxes[names] = Boxes(names, self._path.proven.union(names))
            self._list_probes(names[0])
        self._boxes[names].add(entry, choice.constraint)

    def _add_to_structure(self, entry: IndexEntry[Key], choice: SplitChoice[Key]) -> None:
        label = (choice.name, choice.kind.__name__, choice.exact)
        structure = self._structures.get(label)
        if structure is None:
            path = self._path.after(choice.name, exact=choice.exact, taken=choice.taken)
            structure = self._structures[label] = choice.kind(Filing(path, TreeNode, self._index))
            self._list_probes(choice.name)
        structure.add(entry, choice.constraint)

    def _remove_from_structure(self, entry: IndexEntry[Key], choice: SplitChoice[Key]) -> None:
        label = (choice.name, choice.kind.__name__, choice.exact)
        structure = self._structures[label]
        structure.remove(entry, choice.constraint)
        if not structure:
            del self._structures[label]
            self._list_probes(choice.name)

    def _list_probes(self, name: str) -> None:
        """List what to ask when an event has this attribute; boxes are found by their first one."""
        probes = [structure.probe for label, structure in self._structures.items() if label[0] == name]
        probes += [boxes.probe for names, boxes in self._boxes.items() if names[0] == name]
        if probes:
            self.probes[name] = tuple(probes)
        else:
            self.probes.pop(name, None)
