"""The value every part of the product passes around: a filter in canonical form, and its algebra.

Laws:

* Equality is equality of form. Equal forms mean the same; where it is cheap to see, equal meanings have
  equal forms.
* `parse(str(filter)) == filter`.
* `covers` may be false and `overlaps` true in doubt, never the other way round.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache

from attrs import field, frozen

from broker.filters.conjunctions import Conjunction
from broker.filters.covering import disjunction_covers, disjunctions_overlap
from broker.filters.errors import CONJUNCTIONS, SIZE, FilterError
from broker.filters.limits import CONJUNCTIONS_LIMIT, SIZE_LIMIT_BYTES
from broker.filters.matching import explained, matcher
from broker.filters.printing import is_printed_within, printed
from broker.filters.simplifying import canonical
from broker.filters.values import Attributes, Matcher

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
        """Tell whether an event with these attributes is wanted."""
        return self._matcher(attributes)

    def compiled(self) -> Callable[[Attributes], bool]:
        """Return `match` as one closure, for those who test many events."""
        return self._matcher

    def covers(self, other: "Filter") -> bool:
        """Tell whether this filter matches every event that the other matches; false in doubt."""
        return disjunction_covers(self.conjunctions, other.conjunctions)

    def overlaps(self, other: "Filter") -> bool:
        """Tell whether some event matches both filters; true in doubt."""
        return disjunctions_overlap(self.conjunctions, other.conjunctions)

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
        return "" if self.match(attributes) else explained(self.conjunctions, attributes)


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
