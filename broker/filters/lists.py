"""Constraints on lists: how long they are, and what their elements satisfy.

Theory of operation: a condition on an element is a disjunction of conjunctions, as a filter is one on an
event. Its paths lead into the element; the path `SELF` is the element. Some elements satisfy one condition
each, every element satisfies others, no element satisfies the rest.

Laws:

* Conditions are compared one alternative at a time: what several cover only together counts as not covered,
  and what only several conditions contradict together as satisfiable. That is the safe side (`covers` false,
  `overlaps` true).
* A condition that follows from another one is not listed, nor is a length that follows from the conditions.
* An element that is a map has no value of its own: it satisfies `SELF` only where anything but null does,
  or what a constraint type demands of maps.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, ClassVar, Final

from attrs import frozen

from broker.filters.conjunctions import (
    EVERYTHING,
    conjunction,
    conjunction_covers,
    covers,
    intersection,
    overlaps,
)
from broker.filters.limits import Steps
from broker.filters.numbers import NumberSet
from broker.filters.presence import AnyValue, NotNull
from broker.filters.texts import TextSet
from broker.filters.values import MISSING, SELF, element_attributes, flattened

if TYPE_CHECKING:
    from broker.filters.constraints import Box, Conjunction, Constraint
    from broker.filters.values import Value

Alternatives = tuple["Conjunction", ...]
"""A condition on an element."""

ALWAYS: Final[Alternatives] = (EVERYTHING,)
NEVER: Final[Alternatives] = ()

REFINED_LIMIT: Final = 16
"""Alternatives of a condition, up to which it is narrowed by what every element satisfies."""

CONDITION_STEPS: Final = 8
"""Two constraints on elements compared, on the way to their conditions."""

LENGTH: Final = "len({})"


@frozen
class ListPattern:
    """The attribute is a list of `low` to `high` elements that satisfy these conditions."""

    width: ClassVar[int] = 0

    low: int = 0
    high: int | None = None
    some: frozenset[Alternatives] = frozenset()
    every: frozenset[Alternatives] = frozenset()
    none: frozenset[Alternatives] = frozenset()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.low, self.high, self.some, self.every, self.none))

    @cached_property
    def weight(self) -> int:
        """Return the steps that going through its conditions takes."""
        return sum(map(_weight, (*self.some, *self.every, *self.none)))

    @property
    def trying(self) -> int:
        """Return the steps that comparing one of another's conditions with all of these takes."""
        return CONDITION_STEPS * self.parts

    @property
    def shaping(self) -> int:
        """Return the steps that comparing its conditions with each other takes; texts are not compared."""
        return (self.weight + CONDITION_STEPS * self.parts) * (1 + self._compared)

    @cached_property
    def _compared(self) -> int:
        """Return how many conditions are compared with all others."""
        return sum(not is_one_text(each) for each in (*self.some, *self.every, *self.none))

    @cached_property
    def parts(self) -> int:
        """Return how many conditions on elements it names, those inside others included."""
        conditions = (*self.some, *self.every, *self.none)
        return sum(1 + constraint.parts for each in conditions for one in each for _, constraint in one)

    @cached_property
    def selective(self) -> tuple[Alternatives, ...]:
        """Return the conditions on some element that can be looked up, those that demand equality first."""
        visible = [each for each in self.some if all(map(_is_visible, each))]
        return tuple(sorted(visible, key=lambda each: (not demands_equality(each), _written(each))))

    @cached_property
    def fewest(self) -> int:
        """Return how many elements there surely are: conditions that exclude each other need one each."""
        return max(self.low, _apart(self.some))

    @property
    def has_complement(self) -> bool:
        """Return whether `complement` is exact: what not every element satisfies cannot be written."""
        return not self.every

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        if not isinstance(value, list) or len(value) < self.low:
            return False
        if self.high is not None and len(value) > self.high:
            return False
        return (
            all(any(satisfies(element, each) for element in value) for each in self.some)
            and all(satisfies(element, each) for each in self.every for element in value)
            and not any(satisfies(element, each) for each in self.none for element in value)
        )

    def intersect(self, other: object) -> "ListPattern | None":
        """Return what satisfies both, or None."""
        if not isinstance(other, ListPattern):
            return None
        highs = [each.high for each in (self, other) if each.high is not None]
        return list_pattern(
            ListPattern(
                max(self.low, other.low),
                min(highs, default=None),
                self.some | other.some,
                self.every | other.every,
                self.none | other.none,
            )
        )

    def covers(self, other: object) -> bool:
        """Return whether all that satisfies the other satisfies this; false if only several show it."""
        if not isinstance(other, ListPattern):
            return False
        if other.high == 0:
            return self.accepts([])
        if self.low > other.fewest or not _ends_by(other.high, self.high):
            return False
        present = other.present()
        return (
            all(any(alternatives_cover(one, known) for known in present) for one in self.some)
            and all(any(alternatives_cover(one, known) for known in other.every) for one in self.every)
            and all(_is_lacking(one, other) for one in self.none)
        )

    def present(self) -> list[Alternatives]:
        """Return conditions of each of which some element satisfies one."""
        found = [_refined(one, self.every) for one in self.some]
        return [*found, _refined(ALWAYS, self.every), *self.every] if self.fewest else found

    def wanted(self) -> Iterator[Alternatives]:
        """Yield conditions that the elements of a short list satisfy, one each."""
        for one in sorted(self.some, key=_written):
            yield _refined(one, self.every)
        yield from repeat(_refined(ALWAYS, self.every), max(0, self.low - len(self.some)))

    def overlaps(self, other: object) -> bool:
        """Return whether some list satisfies both; true if conditions exclude it together."""
        return self.intersect(other) is not None

    def complement(self) -> "tuple[ListPattern, ...]":
        """Return the lists that do not satisfy it, what every element satisfies left out."""
        found = [ListPattern(none=frozenset((each,))) for each in self.some]
        found += [ListPattern(some=frozenset((each,))) for each in self.none]
        if self.low:
            found.append(ListPattern(high=self.low - 1))
        if self.high is not None:
            found.append(ListPattern(low=self.high + 1))
        return tuple(each for each in map(list_pattern, found) if each is not None)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        parts = [] if self._is_long_anyway() else [_printed_length(self.low, self.high, name)]
        variable = "j" if name.partition(".")[0] == "i" else "i"
        parts += _printed_some(self.some, name, variable)
        parts += sorted(
            f"all({printed_condition(each, variable)} for {variable} in {name})" for each in self.every
        )
        parts += sorted(f"not {name} & {{{', '.join(literals(each) or ())}}}" for each in self.none)
        return " and ".join(parts)

    def _is_long_anyway(self) -> bool:
        return not self.low and self.high is None and bool(self.some or self.every or self.none)

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (6, float(self.low))


def list_pattern(raw: ListPattern) -> ListPattern | None:
    """Bring a constraint into canonical form, or return None where it is seen that nothing satisfies it."""
    if NEVER in raw.some:
        return None
    low, high = max(raw.low, int(ALWAYS in raw.some)), raw.high
    some, every, none = raw.some - {ALWAYS}, _minimal(raw.every - {ALWAYS}), _maximal(raw.none - {NEVER})
    if _nothing_is_left(every, none):
        high = 0
    if high == 0:
        return None if low or some else ListPattern(high=0)
    some = _minimal(some)
    if any(_excludes(every, none, each) for each in some):
        return None
    needed = _apart(some) if low > 1 or high is not None else min(1, len(some))
    if high is not None and max(low, needed) > high:
        return None
    return ListPattern(0 if low <= needed else low, high, some, every, none)


def has_element(condition: Alternatives) -> ListPattern:
    """Return the lists of which some element satisfies the condition, which can be satisfied."""
    return ListPattern(low=1) if condition == ALWAYS else ListPattern(some=frozenset((condition,)))


def lacks_element(condition: Alternatives) -> ListPattern | None:
    """Return the lists of which no element satisfies the condition."""
    return list_pattern(ListPattern(none=frozenset((condition,))))


def element_set(sets: "Iterable[Constraint]") -> Alternatives:
    """Return the condition that an element satisfies one of these constraints, of a type each."""
    return tuple(((SELF, each),) for each in sets)


def demands_equality(condition: Alternatives) -> bool:
    """Return whether every alternative of the condition demands one of some numbers or texts."""
    return all(any(isinstance(each, TextSet | NumberSet) for _, each in one) for one in condition)


def _is_visible(one: "Conjunction") -> bool:
    """Return whether an element has to have some value or path: a map has no value that is not null."""
    return bool(one) and not (one[0][0] == SELF and _may_be_map(one[0][1]))


def _may_be_map(constraint: "Constraint") -> bool:
    """Return whether a map may satisfy what is not only that something is there."""
    return isinstance(constraint, NotNull) or getattr(constraint, "kind", None) == "map"


def satisfies(element: "Value", condition: Alternatives) -> bool:
    """Return whether an element satisfies a condition."""
    values = flattened(element_attributes(element))
    return any(
        all(
            constraint.accepts(element if name == SELF else values.get(name, MISSING))
            for name, constraint in one
        )
        for one in condition
    )


def without_existence(one: "Conjunction") -> "Conjunction":
    """Leave out that the element exists."""
    return one[1:] if one and one[0][0] == SELF and isinstance(one[0][1], AnyValue) else one


def is_possible(one: "Conjunction") -> bool:
    """Return whether an element may satisfy it: a map has no value of its own, all else no paths."""
    return len(one) < 2 or one[0][0] != SELF or _may_be_map(one[0][1])  # noqa: PLR2004 - one side fits itself


def alternatives_cover(one: Alternatives, other: Alternatives) -> bool:
    """Return whether each alternative of the other is covered by one of the first."""
    match one, other:
        case (((name, wide),),), (((path, narrow),),):
            return covers(wide, narrow) if name == path else name == SELF and isinstance(wide, NotNull)
    return all(any(conjunction_covers(mine, _sides(theirs)) for mine in one) for theirs in other)


def _sides(one: "Conjunction") -> "Box":
    """Return what an element satisfies that satisfies the conjunction: if it has paths, it is not null."""
    sides = dict(one)
    if sides:
        sides.setdefault(SELF, NotNull())
    return sides


def alternatives_overlap(one: Alternatives, other: Alternatives) -> bool:
    """Return whether some element satisfies both conditions."""
    match one, other:
        case (((name, mine),),), (((path, theirs),),) if name == path:
            return overlaps(mine, theirs)
    return any(_overlap(mine, theirs) for mine in one for theirs in other)


def _overlap(one: "Conjunction", other: "Conjunction") -> bool:
    sides = dict(one)
    if not all(name not in sides or overlaps(sides[name], constraint) for name, constraint in other):
        return False
    return is_possible(conjunction({**sides, **dict(other)}))


def _is_lacking(condition: Alternatives, pattern: ListPattern) -> bool:
    """Return whether no element of such lists satisfies the condition."""
    return any(alternatives_cover(each, condition) for each in pattern.none) or any(
        not alternatives_overlap(each, condition) for each in pattern.every
    )


def _excludes(every: Iterable[Alternatives], none: Iterable[Alternatives], condition: Alternatives) -> bool:
    """Return whether no element can satisfy the condition beside the others."""
    return any(not alternatives_overlap(each, condition) for each in every) or any(
        alternatives_cover(each, condition) for each in none
    )


def _nothing_is_left(every: frozenset[Alternatives], none: frozenset[Alternatives]) -> bool:
    """Return whether no element can satisfy what every element has to."""
    return NEVER in every or ALWAYS in none or any(_excludes(every, none, each) for each in every)


def _apart(conditions: Iterable[Alternatives]) -> int:
    """Return how many conditions there are, at least, of which no element satisfies two."""
    found: list[Alternatives] = []
    for each in sorted(conditions, key=_written):
        if not any(alternatives_overlap(each, other) for other in found):
            found.append(each)
    return len(found)


def _minimal(conditions: Collection[Alternatives]) -> frozenset[Alternatives]:
    """Leave out the conditions that follow from others; of two that are equal the first stays."""
    return _unrelated(conditions, alternatives_cover)


def _maximal(conditions: Collection[Alternatives]) -> frozenset[Alternatives]:
    """Leave out the conditions from which others follow."""
    return _unrelated(conditions, lambda one, other: alternatives_cover(other, one))


def _unrelated(
    conditions: Collection[Alternatives], is_implied: Callable[[Alternatives, Alternatives], bool]
) -> frozenset[Alternatives]:
    """Leave out the conditions that others make superfluous; two texts are never compared."""
    if len(conditions) < 2:  # noqa: PLR2004 - there is no other
        return frozenset(conditions)
    kept = [each for each in conditions if is_one_text(each)]
    for each in sorted(conditions, key=_written) if len(kept) < len(conditions) else ():
        if not is_one_text(each) and not any(is_implied(each, other) for other in kept):
            kept = [other for other in kept if not is_implied(other, each)]
            kept.append(each)
    return frozenset(kept)


def is_one_text(condition: Alternatives) -> bool:
    """Return whether the condition is that the element is a certain text."""
    match condition:
        case (((name, TextSet(values)),),) if name == SELF and len(values) == 1:
            return True
        case _:
            return False


def _refined(condition: Alternatives, every: Iterable[Alternatives]) -> Alternatives:
    """Narrow a condition on some element by what every element satisfies, where that has no alternatives."""
    if len(condition) > REFINED_LIMIT:
        return condition
    boxes = [dict(one) for one in condition]
    for each in sorted(every, key=_written):
        if len(each) == 1:
            narrower = [intersection(box, dict(each[0]), Steps()) for box in boxes]
            boxes = [box for box in narrower if box is not None]
    return tuple(map(conjunction, boxes))


def _weight(condition: Alternatives) -> int:
    return sum(1 + constraint.weight for one in condition for _, constraint in one)


def _ends_by(one: int | None, other: int | None) -> bool:
    return other is None or (one is not None and one <= other)


def _written(condition: Alternatives) -> str:
    return printed_condition(condition, "i")


def printed_condition(condition: Alternatives, variable: str) -> str:
    """Write a condition on the element that has this name."""
    return " or ".join(_printed_alternative(one, variable) for one in condition) or "False"


def _printed_alternative(one: "Conjunction", variable: str) -> str:
    parts = [constraint.printed(f"{variable}.{name}" if name else variable) for name, constraint in one]
    return " and ".join(parts) or "True"


def _printed_some(conditions: Iterable[Alternatives], name: str, variable: str) -> list[str]:
    """Write the conditions on some element: constants that are all there as one set."""
    alone: list[str] = []
    parts: list[str] = []
    for each in conditions:
        constants = literals(each)
        if constants is None:
            parts.append(f"any({printed_condition(each, variable)} for {variable} in {name})")
        elif len(constants) == 1:
            alone += constants
        else:
            parts.append(f"{name} & {{{', '.join(constants)}}}")
    if alone:
        written = ", ".join(sorted(alone))
        parts.append(f"{{{written}}} <= {name}" if len(alone) > 1 else f"{name} & {{{written}}}")
    return sorted(parts)


def literals(condition: Alternatives) -> list[str] | None:
    """Return the constants that an element is one of, as they are written; None for another condition."""
    found: list[str] = []
    for one in condition:
        values = getattr(one[0][1], "values", None) if len(one) == 1 and one[0][0] == SELF else None
        if values is None:
            return None
        found += [repr(each) for each in sorted(values)]
    return found


def _printed_length(low: int, high: int | None, name: str) -> str:
    length = LENGTH.format(name)
    if high is None:
        return f"{length} >= {low}"
    if low == high:
        return f"{length} == {low}"
    return f"{low} <= {length} <= {high}" if low else f"{length} <= {high}"
