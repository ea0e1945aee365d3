"""The value every part of the product passes around: a filter in canonical form, and its algebra.

Theory of operation: a filter is matched by closures (see `readers`). Nothing is generated as source, so
nothing a user writes is ever evaluated.

Laws:

* Equality is equality of form. Equal forms mean the same; where it is cheap to see, equal meanings have
  equal forms.
* `parse(str(filter)) == filter`.
* `covers` may be false and `overlaps` true in doubt, never the other way round.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from attrs import field, frozen

from broker.filters.constraints import (
    EVERYTHING,
    Conjunction,
    conjunction_covers,
    overlap,
)
from broker.filters.disjunctions import canonical, disjunction_covers, disjunctions_overlap
from broker.filters.errors import CONJUNCTIONS, SIZE, FilterError, legible
from broker.filters.limits import CONJUNCTIONS_LIMIT, SIZE_LIMIT_BYTES
from broker.filters.readers import matcher
from broker.filters.values import MISSING, Attributes, Matcher, flattened

COMPILED_LIMIT = 1024
"""Matchers kept for filters equal to earlier ones: more than the advertisements of one broker's clients, a
few MB."""


@frozen(cache_hash=True, repr=False)
class Filter:
    """A disjunction of conjunctions in canonical form.

    No conjunctions match nothing, an empty conjunction matches everything. Filters are made by `parse` and
    `merge`. `source` is what is printed where the canonical form, written out, would be too long to parse.
    `cost` is how many steps it took to parse.
    """

    conjunctions: tuple[Conjunction, ...]
    source: str | None = field(default=None, eq=False)
    cost: int = field(default=0, eq=False)

    def __repr__(self) -> str:
        return f"parse({self._text!r})"

    def __str__(self) -> str:
        """Return the filter in its language."""
        return self._text

    @cached_property
    def _text(self) -> str:
        return printed(self.conjunctions) if self.source is None else self.source

    @cached_property
    def _matcher(self) -> Matcher:
        return _compiled(self.conjunctions)

    def match(self, attributes: Attributes) -> bool:
        """Return whether the filter matches an event with these attributes."""
        return self._matcher(attributes)

    def compiled(self) -> Callable[[Attributes], bool]:
        """Return `match` as one closure, for those who test many events."""
        return self._matcher

    def covers(self, other: "Filter") -> bool:
        """Return whether this filter matches every event that the other matches; false in doubt."""
        mine, theirs = self.conjunctions, other.conjunctions
        if len(mine) == 1 and len(theirs) == 1:
            return conjunction_covers(mine[0], dict(theirs[0]))
        return mine == (EVERYTHING,) or disjunction_covers(mine, theirs)

    def overlaps(self, other: "Filter") -> bool:
        """Return whether some event matches both filters; true in doubt."""
        mine, theirs = self.conjunctions, other.conjunctions
        if len(mine) == 1 and len(theirs) == 1:
            return overlap(mine[0], theirs[0])
        return disjunctions_overlap(mine, theirs)

    def merge(self, other: "Filter") -> "Filter":
        """Return the filter that matches what either matches; raise `FilterError` if it exceeds a limit."""
        union = canonical((*self.conjunctions, *other.conjunctions))
        if len(union) > CONJUNCTIONS_LIMIT:
            raise FilterError(
                CONJUNCTIONS,
                1,
                f"the union of two filters has {len(union)} conjunctions, {CONJUNCTIONS_LIMIT} are allowed;"
                " keep them apart",
            )
        return with_printable_text(union, f"({self}) or ({other})")

    def failing(self, attributes: Attributes) -> str:
        """Name the constraints that keep the event from matching; empty if it matches."""
        return "" if self.match(attributes) else explained(self.conjunctions, flattened(attributes))


def with_printable_text(conjunctions: tuple[Conjunction, ...], source: str, cost: int = 0) -> Filter:
    """Make a filter that prints as its canonical form, or as its source where only that can be parsed."""
    is_short = len(conjunctions) * len(source) <= SAFE_PRODUCT
    if is_short or is_printed_within(SIZE_LIMIT_BYTES, conjunctions):
        return Filter(conjunctions, cost=cost)
    if len(source.encode()) <= SIZE_LIMIT_BYTES:
        return Filter(conjunctions, source, cost)
    raise FilterError(
        SIZE,
        SIZE_LIMIT_BYTES + 1,
        f"the union of two filters takes more than {SIZE_LIMIT_BYTES} bytes of text; keep them apart",
    )


SAFE_PRODUCT = SIZE_LIMIT_BYTES // 16
"""No conjunction is written with more than 16 bytes for each character of the text it came from, so below
this nothing need be measured."""


@lru_cache(maxsize=COMPILED_LIMIT)
def _compiled(conjunctions: tuple[Conjunction, ...]) -> Matcher:
    return matcher(conjunctions)


AND, OR = " and ", " or "


def printed(conjunctions: Iterable[Conjunction]) -> str:
    """Write a disjunction."""
    return OR.join(map(_printed_conjunction, conjunctions)) or "False"


def _printed_conjunction(conjunction: Conjunction) -> str:
    return AND.join([constraint.printed(name) for name, constraint in conjunction]) or "True"


def is_printed_within(size_bytes: int, conjunctions: Iterable[Conjunction]) -> bool:
    """Return whether a disjunction is written in so many bytes, without writing much more than these."""
    left = size_bytes + len(OR)
    for conjunction in conjunctions:
        left -= len(OR)
        for name, constraint in conjunction:
            left -= len(constraint.printed(name).encode())
            if left < 0:
                return False
        left -= len(AND) * max(0, len(conjunction) - 1)
    return left >= 0


ALTERNATIVES_SHOWN = 4
"""An explanation is for people to read; of more alternatives it gives the number."""

LENGTH_SHOWN = 950
"""Likewise: two names may already have 255 characters each."""

CONSTRAINTS_SHOWN = 4
"""Likewise of a long conjunction."""

CONSTRAINT_LENGTH_SHOWN = 200
"""Likewise: a constraint may list more than a thousand constants."""

VALUE_LENGTH_SHOWN = 60
"""Likewise: a long text is cut."""

BITS_SHOWN = 128
"""Likewise: a longer number is not written at all, for Python refuses to write the longest."""


def explained(conjunctions: Sequence[Conjunction], attributes: Attributes) -> str:
    """Name what fails in each conjunction, on one line of bounded length."""
    if not conjunctions:
        return "False (nothing matches this filter)"
    shown = [_failing(each, attributes) for each in conjunctions[:ALTERNATIVES_SHOWN]]
    more = len(conjunctions) - len(shown)
    return legible(" or ".join(shown), LENGTH_SHOWN) + (f" or {more} more alternatives" if more else "")


def _failing(conjunction: Conjunction, attributes: Attributes) -> str:
    written = (
        f"{legible(constraint.printed(name), CONSTRAINT_LENGTH_SHOWN)}"
        f" ({name} is {_shown(attributes.get(name, MISSING))})"
        for name, constraint in conjunction
        if not constraint.accepts(attributes.get(name, MISSING))
    )
    first = " and ".join(islice(written, CONSTRAINTS_SHOWN))
    more = sum(1 for _ in written)
    return first + (f" and {more} more" if more else "")


def _shown(value: object) -> str:
    if value is MISSING:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, int) and value.bit_length() > BITS_SHOWN:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"a map of {len(value)}"
    # What is cut before it is written costs nothing.
    text = repr(value[: VALUE_LENGTH_SHOWN + 1] if isinstance(value, str) else value)
    return legible(text, VALUE_LENGTH_SHOWN)
