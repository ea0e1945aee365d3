"""Lookup of conjunctions that demand how a text begins or ends: hash tables by affix, one for each length.

Theory of operation: a value is cut to every length in use, and each cut is one hash. Long affixes are put
under a shorter cut of themselves, so that the number of lengths is small for any filters.

Laws:

* A text between two bounds begins as both bounds begin; so text ranges are found here too.
* The lookup is exact for a bare prefix that is not cut; everything else it finds must still be tested.
"""

from collections.abc import Callable
from itertools import takewhile
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, TextPattern, Value
from broker.matching.bucket import Bucket, Buckets, Event, Filing, IndexEntry, Key, Payload

# Every length up to the first is used as it is; longer ones are rounded down to one of the others.
_EXACT_LENGTH = 48
_LONGER_LENGTHS = (2048, 1024, 512, 384, 256, 192, 128, 96, 64, 48)


def prefix_of(pattern: TextPattern) -> str:
    """Return how every text that satisfies the pattern begins."""
    if pattern.low is None or pattern.high is None:
        return pattern.prefix
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(pattern.low, pattern.high, strict=False))
    return max(pattern.prefix, "".join(character for character, _ in shared), key=len)


def is_bare_prefix(pattern: TextPattern) -> bool:
    """Return whether a prefix is all that the pattern demands, and short enough not to be cut."""
    return len(pattern.prefix) <= _EXACT_LENGTH and pattern == TextPattern(prefix=pattern.prefix)


def suffix_of(pattern: TextPattern) -> str:
    """Return how every text that satisfies the pattern ends, backwards."""
    return pattern.suffix[::-1]


@define(eq=False)
class Affixes(Generic[Key]):
    """Buckets by affix, for each length in use. Suffixes are looked up in the text read backwards."""

    _filing: Filing[Key]
    _affix: Callable[[TextPattern], str]
    _is_backwards: bool
    _tables: dict[int, Buckets[Key]] = field(factory=dict)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry under its affix."""
        cut = self._cut(constraint)
        self._filing.insert(self._tables.setdefault(len(cut), {}), cut, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from its affix."""
        cut = self._cut(constraint)
        table = self._tables[len(cut)]
        self._filing.discard(table, cut, entry)
        if not table:
            del self._tables[len(cut)]

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], _found: list[Payload[Key]]
    ) -> None:
        """Append the bucket of each affix of the text."""
        if not isinstance(value, str):
            return
        text = value[::-1] if self._is_backwards else value
        for length, table in self._tables.items():
            bucket = table.get(text[:length])
            if bucket is not None:
                pending.append(bucket)

    def _cut(self, constraint: Constraint) -> str:
        assert isinstance(constraint, TextPattern)
        affix = self._affix(constraint)
        if len(affix) <= _EXACT_LENGTH:
            return affix
        return affix[: next(length for length in _LONGER_LENGTHS if length <= len(affix))]

    def __bool__(self) -> bool:
        return bool(self._tables)


def prefixes(filing: Filing[Key]) -> Affixes[Key]:
    """Buckets by how a text begins."""
    return Affixes(filing, prefix_of, is_backwards=False)


def suffixes(filing: Filing[Key]) -> Affixes[Key]:
    """Buckets by how a text ends."""
    return Affixes(filing, suffix_of, is_backwards=True)
