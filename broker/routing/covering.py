"""Covering routing: an item that an announced item covers is not announced.

Theory of operation: every item is either announced, or *covered*: assigned to one announced item that covers
it. An item that comes is compared with the announced items, never with the covered ones: if one covers it, it
is assigned to that one; else it is announced, and the items that it covers are assigned to it. When an
announced item ends, only the items assigned to it are assigned anew. To which of several an item is assigned
does not show: an item is announced iff no announced item covers it. `Filter.covers` is false in doubt, so it
is not quite transitive. Therefore the items assigned to an item that becomes covered may have to be assigned
anew, and an item that moves again and again within one change stays (`RETURNS_LIMIT`).

How it is looked up: a *witness* of a filter is one event that it matches. A filter that covers another
matches the other's witness; so a matching index of the announced filters finds, by the witness, all that have
to be compared with a filter, and few others. An item that is covered has a witness that the covering one
matches; so it is found among the witnesses (see `points`). Either way few are found, and `covers_item`
decides. Values of a witness are tried at the ends of what a constraint accepts, where few other filters
reach; an attribute that only has to exist is not-a-number, which no other constraint accepts.

Laws:

* An item covers another iff its filter covers the other's, and it is ordered or the other is not.
* A witness depends on the filter's form alone. There is none for a filter that matches nothing; and none may
  be found where suffixes, substrings and holes of a text leave little room (see `broker.filters.texts`).
* Where no witness of a filter is known, it is covered by an equal one alone. That makes looking for others
  unnecessary.
* Where two items cover each other, although their filters differ in form, the one of lower `rank` supersedes
  the other. So `supersedes` is a strict order, as far as `Filter.covers` decides.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from math import inf, nan, nextafter
from typing import Final

from attrs import Factory, define

from broker.filters import Conjunction, Filter
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
    Value,
    position,
)
from broker.filters.lists import Alternatives
from broker.filters.values import MISSING, SELF
from broker.matching import MatchingIndex
from broker.routing.grouped import GroupedStrategy, Moves
from broker.routing.points import Points, Witness
from broker.routing.strategy import Item

JOINERS: Final = ("", "\0", " ", "~", "x", "\U0010ffff")
"""Texts put between the parts of a text, and after the last: a pattern would have to forbid each of them."""

ELEMENTS_LIMIT: Final = 64
"""Elements of a list in a witness: filters that want longer ones are few."""

WITNESSES_CACHED = 4096
"""Witnesses in memory: more than the links of a broker ask for within one change."""


@lru_cache(maxsize=WITNESSES_CACHED)
def witness(filter: Filter) -> Witness | None:  # noqa: A002 - it is a filter
    """Return the attributes of an event that the filter matches, or None if none was found."""
    for conjunction in filter.conjunctions:
        attributes = _satisfying(conjunction)
        if attributes is not None:
            return attributes
    return None


def _satisfying(conjunction: Conjunction) -> Witness | None:
    attributes: dict[str, Value] = {}
    for name, constraint in conjunction:
        value = _value(constraint)
        if value is MISSING:
            return None
        attributes[name] = value
    return attributes


def _value(constraint: Constraint) -> Value:
    """Return a value that the constraint accepts, or `MISSING` if none was found."""
    values: Iterable[Value]
    match constraint:
        case AnyValue() | NotNull():
            values = (nan,)
        case Null():
            values = (None,)
        case NumberSet(found) | TextSet(found) | Truths(found):
            values = (min(found),)
        case NumberRange():
            values = _numbers(constraint)
        case TextPattern():
            values = _texts(constraint)
        case Containing():
            values = _texts(constraint.as_text)
        case ListPattern():
            values = (_list(constraint),)
        case OwnPattern():
            values = constraint.examples()
    return next(filter(constraint.accepts, values), MISSING)


def _list(pattern: ListPattern) -> list[Value]:
    """Return a list with an element for each condition; one that has to be long is shorter."""
    return [_element(each) for each in islice(pattern.wanted(), ELEMENTS_LIMIT)]


def _element(condition: Alternatives) -> Value:
    """Return an element that may satisfy the condition."""
    for one in condition:
        found = _satisfying(one)
        if found is not None:
            return found.get(SELF, nan) if set(found) <= {SELF} else found
    return nan


def _numbers(constraint: NumberRange) -> Iterator[Number]:
    """Yield the ends of a range, their neighbours, and more numbers inside than the range can leave out."""
    low, high = constraint.low, constraint.high
    steps = range(1, len(constraint.excluded) + 2)
    if low is not None:
        yield low
        yield nextafter(low, inf)
        yield int(low) + 1
    if high is not None:
        yield high
        yield nextafter(high, -inf)
    if low is None or high is None:
        yield -inf if high is not None else inf
        yield from ((low or high or 0) + (step if high is None else -step) for step in steps)
    else:
        yield from (low + (high - low) * (step / (len(steps) + 1)) for step in steps)


def _texts(pattern: TextPattern) -> Iterator[str]:
    """Yield texts with all parts that the pattern demands, in several spellings."""
    start, _ = pattern.interval
    stems = dict.fromkeys((start, pattern.prefix, pattern.low or ""))
    parts = sorted(pattern.contains)
    for joiner, stem in product(JOINERS, stems):
        middle = joiner.join((stem, *parts))
        yield middle + joiner + pattern.suffix
        yield middle + pattern.suffix
        yield stem + "".join(parts) + joiner + pattern.suffix


def covers_item(announced: Item, wanted: Item) -> bool:
    """Return whether announcing the first makes announcing the second unnecessary."""
    if wanted.ordered and not announced.ordered:
        return False
    if announced.filter == wanted.filter:
        return True
    return announced.filter.covers(wanted.filter) and witness(wanted.filter) is not None


def supersedes(one: Item, other: Item) -> bool:
    """Return whether the first is announced rather than the second."""
    return covers_item(one, other) and wins(one, other)


def wins(one: Item, other: Item) -> bool:
    """Return whether the first is announced, given that it covers the second."""
    return not covers_item(other, one) or rank(one) < rank(other)


def equal(item: Item) -> tuple[Item, Item]:
    """Return the item, and the other one with the same filter."""
    return item, Item(item.filter, not item.ordered)


def rank(item: Item) -> tuple[object, ...]:
    """Return a sort key that orders all items by how they are written."""
    return (*(position(each) for each in item.filter.conjunctions), ()), item.ordered


def narrowness(item: Item) -> tuple[int, float]:
    """Return a key that sorts likely covers first: few constraints, and long ranges."""
    constraints = [each for one in item.filter.conjunctions for _, each in one]
    ranges = [each for each in constraints if isinstance(each, NumberRange)]
    lengths = [each.high - each.low for each in ranges if each.low is not None and each.high is not None]
    return len(constraints), -sum(lengths)


def covers_transitively(one: Filter) -> bool:
    """Return whether the filter certainly covers all that the filters it covers are seen to cover.

    That is so where everything is decided one constraint at a time, and each constraint is compared exactly.
    """
    if len(one.conjunctions) != 1:
        return False
    return all(
        not isinstance(each, OwnPattern) and (not isinstance(each, TextPattern) or each.is_bare_prefix())
        for _, each in one.conjunctions[0]
    )


def maximal(items: Iterable[Item]) -> list[Item]:
    """Return the items to announce: none supersedes another, and each other item is superseded by one.

    Where `covers` decides everything, one round of comparing each with each is enough. Else an item may be
    superseded by one that is not announced itself, and by no other; the next round announces it.
    """
    kept: list[Item] = []
    left = list(items)
    while left:
        maximal_now = [one for one in left if not any(supersedes(other, one) for other in left)]
        kept += maximal_now or [min(left, key=rank)]
        left = [one for one in left if one not in kept and not any(supersedes(other, one) for other in kept)]
    return kept


@define(eq=False)
class CoverIndex:
    """Items of which none covers another."""

    _filters: MatchingIndex[Item] = Factory(MatchingIndex)
    _witnesses: Points[Item] = Factory(Points)

    def add(self, item: Item) -> None:
        """Add an item."""
        self._filters.add(item, item.filter)
        event = witness(item.filter)
        if event is not None:
            self._witnesses.add(item, event)

    def remove(self, item: Item) -> None:
        """Remove an item."""
        self._filters.remove(item)
        if witness(item.filter) is not None:
            self._witnesses.remove(item)

    def near(self, item: Item) -> list[Item]:
        """Return all items that may cover this item."""
        event = witness(item.filter)
        if event is not None:
            return self._filters.match(event)
        return [each for each in equal(item) if each in self._filters]

    def covers_of(self, item: Item) -> Iterator[Item]:
        """Yield the items that cover this item."""
        return (each for each in self.near(item) if covers_item(each, item))

    def is_covered(self, item: Item) -> bool:
        """Return whether any item covers this item."""
        return any(covers_item(each, item) for each in self.near(item))

    def covered_by(self, item: Item) -> list[Item]:
        """Return the items that this item covers."""
        near = self._witnesses.matched(item.filter)
        if witness(item.filter) is None:
            near += [each for each in equal(item) if each in self._filters]
        return [each for each in near if covers_item(item, each)]

    def __bool__(self) -> bool:
        """Return whether there is any item."""
        return bool(len(self._filters) or self._witnesses)


RETURNS_LIMIT = 2
"""Filters that cover each other in a ring, without any of them being known to be equal, could move for ever;
no others move more than once or twice."""

RISEN_TRIED = 4
"""Trying one costs a tenth of a lookup, and the first to be announced are likely to cover most."""


@define(eq=False)
class Maximal:
    """Announces the items that no other item covers."""

    _announced: CoverIndex = Factory(CoverIndex)
    _cover_of: dict[Item, Item] = Factory(dict)
    _covered: dict[Item, dict[Item, None]] = Factory(dict)

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """Announce each item in place of those it covers, or assign it to a cover; the widest come first."""
        ordered = sorted(items, key=narrowness, reverse=True) if len(items) > 1 else list(items)
        self._settle(ordered, moves)

    def ended(self, item: Item, moves: Moves) -> None:
        """Remove the item, and assign anew or announce the items that it covered."""
        cover = self._cover_of.pop(item, None)
        if cover is not None:
            del self._covered[cover][item]
        else:
            self._settle(sorted(self._fall(item, moves), key=narrowness, reverse=True), moves)

    def covers_of(self, item: Item) -> Iterable[Item]:
        """Return all announced items that cover this item."""
        return self._announced.covers_of(item)

    def again(self, announced: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Restore the choice from the announced items and the candidates."""
        for item in announced:
            self._rise(item)
        self.came([item for item in candidates if item not in self._covered], Moves())

    def _settle(self, pending: list[Item], moves: Moves) -> None:
        """Announce each item, or assign it to a cover, from the last to the first."""
        returns: Counter[Item] = Counter()
        risen: list[Item] = []
        while pending:
            item = pending.pop()
            cover = self._find_cover(item, risen)
            if cover is not None and returns[item] < RETURNS_LIMIT:
                self._cover(cover, item)
                continue
            returns[item] += 1
            below = [each for each in self._announced.covered_by(item) if wins(item, each)]
            self._rise(item)
            risen.append(item)
            moves.announce(item)
            for each in below:
                if returns[each] < RETURNS_LIMIT:
                    pending += self._replace(each, item, moves)

    def _find_cover(self, item: Item, risen: list[Item]) -> Item | None:
        """Return an announced item that covers this one; those just announced are tried first."""
        for each in risen[:RISEN_TRIED]:
            if each in self._covered and supersedes(each, item):
                return each
        for each in self._announced.near(item):
            if supersedes(each, item):
                return each
        return None

    def _replace(self, lower: Item, upper: Item, moves: Moves) -> list[Item]:
        """Assign one item and those it covered to another; return those that the other does not cover."""
        left: list[Item] = []
        for item in self._fall(lower, moves):
            if covers_item(upper, item):
                self._cover(upper, item)
            else:
                left.append(item)
        self._cover(upper, lower)
        return left

    def _rise(self, item: Item) -> None:
        self._announced.add(item)
        self._covered[item] = {}

    def _fall(self, item: Item, moves: Moves) -> Iterable[Item]:
        """Withdraw an item; return the items that it covered."""
        self._announced.remove(item)
        moves.withdraw(item)
        covered = self._covered.pop(item)
        for each in covered:
            del self._cover_of[each]
        return covered

    def _cover(self, cover: Item, item: Item) -> None:
        self._cover_of[item] = cover
        self._covered[cover][item] = None


COVERING: Final = GroupedStrategy("covering", Maximal, covers_item, maximal)
"""Covering routing, as the module describes it."""
