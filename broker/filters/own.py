"""Constraints of constraint types: what calls like `in_network(ip, '10.0.0.0/8')` demand of an attribute.

Theory of operation: a constraint has a part for each constraint type that is asked, and, beside them, what
the language itself demands of the same attribute. A part is all of some contents and none of others; those
that the type can write as one content become one.

Laws:

* What satisfies it is a value of the type, so of one kind, and so is what stands beside: without a demand
  that is any text, any number, any list, or anything but null where the type reads maps.
* Contents are compared in pairs. What only several show together is not seen, except where the type itself
  joins them to one: `covers` is false then, and `overlaps` true.
* A content that follows from another is not listed, nor is an unwanted one that meets no wanted one.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from attrs import evolve, field, frozen

from broker.filters.conjunctions import CALLS_WIDTH, covers, intersect
from broker.filters.constraint_types import Kind
from broker.filters.installed import AnyConstraintType, InstalledType
from broker.filters.lists import ListPattern
from broker.filters.numbers import NumberRange, NumberSet, number_set
from broker.filters.presence import NotNull
from broker.filters.texts import TextPattern, TextSet, text_set

if TYPE_CHECKING:
    from broker.filters.constraints import Constraint
    from broker.filters.values import Value

Contents = frozenset[Hashable]
Joinable = TypeVar("Joinable")

NONE: Final[Contents] = frozenset()

UNITED_LIMIT: Final = 32
"""Constraints on one attribute that are united in pairs; more are left as they are."""

PAIR: Final = 2
"""Contents of two parts that may be one: one each."""

TRYING_STEPS: Final = 20
"""A content compared with another, or tried on a value: the type's own code runs."""

BASES: "Final[dict[Kind, Constraint]]" = {
    "text": TextPattern(),
    "number": NumberRange(),
    "list": ListPattern(),
    "map": NotNull(),
}
"""What is beside a part while the filter demands nothing else."""


@frozen
class OwnPart:
    """What one constraint type demands: a value that satisfies all wanted contents and no unwanted one."""

    type: InstalledType
    wanted: Contents
    unwanted: Contents = NONE

    @property
    def own(self) -> AnyConstraintType:
        """Return the type's operations."""
        return self.type.own

    @cached_property
    def count(self) -> int:
        """Return how many contents there are."""
        return len(self.wanted) + len(self.unwanted)

    def accepts(self, value: object) -> bool:
        """Return whether a value of the kind satisfies the part."""
        own = self.type.own
        subject = own.read(value)  # type: ignore[arg-type]  # values of events are nothing else
        if subject is None:
            return False
        return all(own.match(each, subject) for each in self.wanted) and not any(
            own.match(each, subject) for each in self.unwanted
        )

    def covers(self, other: "OwnPart") -> bool:
        """Return whether all that satisfies the other satisfies this, as far as pairs of contents show."""
        return all(_is_demanded(each, other) for each in self.wanted) and all(
            _is_excluded(each, other) for each in self.unwanted
        )

    def complement(self) -> "list[OwnPart]":
        """Return the values of the type that do not satisfy it."""
        own = self.type.own
        parts = [own_part(self.type, (own.everything,), (each,)) for each in self.in_order(self.wanted)]
        parts += [own_part(self.type, (each,), ()) for each in self.in_order(self.unwanted)]
        return [each for each in parts if each is not None]

    def printed(self, name: str) -> list[str]:
        """Write the calls."""
        own = self.type.own
        left_out = {own.everything} if self.unwanted else NONE
        wanted = [_written(own, each, name) for each in self.wanted if each not in left_out]
        unwanted = [f"not {_written(own, each, name)}" for each in self.unwanted]
        return [*sorted(wanted), *sorted(unwanted)]

    def in_order(self, contents: Iterable[Hashable]) -> list[Hashable]:
        """Sort contents by how they are written."""
        return _sorted(self.type.own, contents)


@frozen
class OwnPattern:
    """The attribute satisfies a part of each of these types, and what is beside them."""

    width: ClassVar[int] = CALLS_WIDTH

    beside: "Constraint"
    parts_by_type: tuple[OwnPart, ...] = field()

    @cached_property
    def kind(self) -> Kind:
        """Return what values have to be."""
        return self.parts_by_type[0].own.kind

    @cached_property
    def contents_count(self) -> int:
        """Return how many contents there are; they are compared in pairs."""
        return sum(each.count for each in self.parts_by_type)

    @property
    def parts(self) -> int:
        """Return how many things it names that are compared in pairs."""
        return self.contents_count + self.beside.parts

    @cached_property
    def weight(self) -> int:
        """Return the steps that going through all that it names takes."""
        listed = sum(
            part.own.weight(each) for part in self.parts_by_type for each in (*part.wanted, *part.unwanted)
        )
        return listed + self.beside.weight

    @property
    def trying(self) -> int:
        """Return the steps that trying one value takes."""
        return TRYING_STEPS * self.contents_count + self.beside.trying

    @property
    def shaping(self) -> int:
        """Return the steps that bringing an intersection with another into canonical form takes."""
        return TRYING_STEPS * self.contents_count**2 + self.beside.shaping

    @cached_property
    def is_bare(self) -> bool:
        """Return whether nothing is demanded beside the parts."""
        return self.beside == BASES[self.kind]

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        if not (is_of_kind(value, self.kind) and (self.is_bare or self.beside.accepts(value))):
            return False
        for part in self.parts_by_type:  # noqa: SIM110 - a generator costs more than the loop
            if not part.accepts(value):
                return False
        return True

    def intersect(self, other: "Constraint") -> "Constraint | None":
        """Return what satisfies both, or None."""
        theirs = other.parts_by_type if isinstance(other, OwnPattern) else ()
        beside = intersect(self.beside, other.beside if isinstance(other, OwnPattern) else other)
        return None if beside is None else own_pattern(beside, (*self.parts_by_type, *theirs))

    def covers(self, other: object) -> bool:
        """Return whether all that satisfies the other satisfies this; false if only several show it."""
        if isinstance(other, TextSet | NumberSet):
            return all(map(self.accepts, other.values))
        if not isinstance(other, OwnPattern) or not covers(self.beside, other.beside):
            return False
        theirs = {each.type.name: each for each in other.parts_by_type}
        return all(
            (other_part := theirs.get(part.type.name)) is not None and part.covers(other_part)
            for part in self.parts_by_type
        )

    def overlaps(self, other: "Constraint") -> bool:
        """Return whether some value satisfies both; true if only several contents exclude it together."""
        return self.intersect(other) is not None

    def complement(self) -> "tuple[Constraint, ...]":
        """Return the values of these types that do not satisfy it."""
        base = BASES[self.kind]
        parts = [OwnPattern(base, (each,)) for part in self.parts_by_type for each in part.complement()]
        return (*parts, *self.beside.complement())

    def examples(self) -> "Iterator[Value]":
        """Yield values that may satisfy it."""
        for part in self.parts_by_type:
            for each in part.in_order(part.wanted):
                yield from part.own.examples(each)

    def has_types_of(self, other: "OwnPattern") -> bool:
        """Return whether all that satisfies this is of the types of the other."""
        names = {each.type.name for each in self.parts_by_type}
        return all(each.type.name in names for each in other.parts_by_type)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        calls = [call for part in self.parts_by_type for call in part.printed(name)]
        return " and ".join(calls if self.is_bare else [*calls, self.beside.printed(name)])

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (7, 0.0)


def own_pattern(beside: "Constraint", parts: Iterable[OwnPart]) -> "Constraint | None":
    """Bring a constraint into canonical form, or return None where it is seen that nothing satisfies it."""
    gathered: dict[str, OwnPart] = {}
    for each in parts:
        known = gathered.get(each.type.name, OwnPart(each.type, NONE))
        wanted, unwanted = each.wanted | known.wanted, each.unwanted | known.unwanted
        gathered[each.type.name] = OwnPart(each.type, wanted, unwanted)
    if not all(_fits(beside, each.own.kind) for each in gathered.values()):
        return None
    reduced = [own_part(each.type, each.wanted, each.unwanted) for _, each in sorted(gathered.items())]
    found = tuple(each for each in reduced if each is not None)
    if len(found) < len(reduced):
        return None
    if isinstance(beside, TextSet):
        return text_set(text for text in beside.values if all(each.accepts(text) for each in found))
    if isinstance(beside, NumberSet):
        return number_set(number for number in beside.values if all(each.accepts(number) for each in found))
    return OwnPattern(beside, found)


def call_pattern(asked: InstalledType, content: Hashable, *, negated: bool) -> "Constraint | None":
    """Return the constraint of one call."""
    part = own_part(asked, (asked.own.everything,) if negated else (content,), (content,) if negated else ())
    return None if part is None else OwnPattern(BASES[asked.own.kind], (part,))


def own_part(
    asked: InstalledType, wanted: Iterable[Hashable], unwanted: Iterable[Hashable]
) -> OwnPart | None:
    """Bring a part into canonical form, or return None where it is seen that nothing satisfies it."""
    own = asked.own
    narrowed = _joined(own, wanted, _narrower)
    if any(not own.overlaps(one, other) for one, other in combinations(narrowed, 2)):
        return None
    excluded = _joined(own, unwanted, _wider)
    if any(own.covers(each, one) for each in excluded for one in narrowed):
        return None
    meeting = [each for each in excluded if all(own.overlaps(each, one) for one in narrowed)]
    for each in meeting if len(narrowed) == 1 else ():
        rest = own.subtract(narrowed[0], each)
        if rest is not None:
            return own_part(asked, (rest,), (other for other in meeting if other != each))
    return OwnPart(asked, frozenset(narrowed), frozenset(meeting))


Join = Callable[[AnyConstraintType, Hashable, Hashable], Hashable | None]


def _joined(own: AnyConstraintType, contents: Iterable[Hashable], join: Join) -> list[Hashable]:
    """Join contents in pairs until no two can be joined."""
    return _joined_in_pairs(_sorted(own, contents), partial(join, own))


def _joined_in_pairs(
    pending: list[Joinable], join: Callable[[Joinable, Joinable], Joinable | None]
) -> list[Joinable]:
    """Join things in pairs, the last ones first, until no two can be joined."""
    kept: list[Joinable] = []
    while pending:
        one = pending.pop()
        for other in kept:
            joined = join(one, other)
            if joined is not None:
                kept.remove(other)
                pending.append(joined)
                break
        else:
            kept.append(one)
    return kept


def _narrower(own: AnyConstraintType, one: Hashable, other: Hashable) -> Hashable | None:
    """Return the content that both say together."""
    if own.covers(other, one):
        return one
    if own.covers(one, other):
        return other
    return own.intersect(one, other) if own.overlaps(one, other) else None


def _wider(own: AnyConstraintType, one: Hashable, other: Hashable) -> Hashable | None:
    """Return the content that one of both is satisfied."""
    if own.covers(one, other):
        return one
    return other if own.covers(other, one) else own.merge(one, other)


def _is_demanded(content: Hashable, part: OwnPart) -> bool:
    """Return whether all that satisfies the part satisfies the content."""
    own = part.own
    if any(own.covers(content, each) for each in part.wanted):
        return True
    wider = [both for each in part.unwanted if (both := own.merge(content, each)) is not None]
    return any(own.covers(both, each) for both in wider for each in part.wanted)


def _is_excluded(content: Hashable, part: OwnPart) -> bool:
    """Return whether nothing that satisfies the part satisfies the content."""
    own = part.own
    if any(not own.overlaps(content, each) for each in part.wanted):
        return True
    meeting = [content, *(own.intersect(content, each) for each in part.wanted)]
    return any(own.covers(each, both) for each in part.unwanted for both in meeting if both is not None)


def unite(constraints: Sequence[object]) -> list[OwnPattern]:
    """Return the union of constraints of constraint types, joined where that is one constraint exactly."""
    found = {each: each.printed("") for each in constraints if isinstance(each, OwnPattern)}
    pending = sorted(found, key=found.__getitem__)
    if len(pending) > UNITED_LIMIT:
        return pending
    return _joined_in_pairs(pending, _united)


def _united(one: OwnPattern, other: OwnPattern) -> OwnPattern | None:
    covering = [each for each, rest in ((one, other), (other, one)) if each.covers(rest)]
    if covering:
        return min(covering, key=lambda each: each.printed(""))
    pairs = list(zip(one.parts_by_type, other.parts_by_type, strict=False))
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    if (
        one.beside != other.beside
        or len(one.parts_by_type) != len(other.parts_by_type)
        or len(differing) != 1
    ):
        return None
    mine, theirs = differing[0]
    part = _united_part(mine, theirs)
    if part is None:
        return None
    return evolve(one, parts_by_type=tuple(part if each is mine else each for each in one.parts_by_type))


def _united_part(one: OwnPart, other: OwnPart) -> OwnPart | None:
    if (
        one.type != other.type
        or one.unwanted != other.unwanted
        or len(one.wanted) + len(other.wanted) != PAIR
    ):
        return None
    (first,), (second,) = one.wanted, other.wanted
    both = one.own.merge(first, second)
    return None if both is None else own_part(one.type, (both,), one.unwanted)


def _fits(beside: "Constraint", kind: Kind) -> bool:
    """Return whether what is beside a part speaks of values of the kind."""
    match kind:
        case "text":
            return isinstance(beside, TextPattern | TextSet)
        case "number":
            return isinstance(beside, NumberRange | NumberSet)
        case "list":
            return isinstance(beside, ListPattern)
        case "map":
            return isinstance(beside, NotNull)


def is_of_kind(value: object, kind: Kind) -> bool:
    """Return whether a constraint type that reads values of the kind may be asked about the value."""
    match kind:
        case "text":
            return isinstance(value, str)
        case "number":
            return BASES["number"].accepts(value)
        case "list":
            return isinstance(value, list)
        case "map":
            return isinstance(value, dict)


def _written(own: AnyConstraintType, content: Hashable, name: str) -> str:
    predicate, arguments = own.printed(content)
    return f"{predicate}({', '.join([name, *map(repr, arguments)])})"


def _sorted(own: AnyConstraintType, contents: Iterable[Hashable]) -> list[Hashable]:
    return sorted(set(contents), key=lambda each: _written(own, each, ""))
