"""Throws texts at the filter language: `python -m harness.fuzz.filters --seconds 60 --seed 1`.

A case is two texts and a few events. Each text has to be a filter or a `FilterError` with a message that
people can read, for no more than `COST_LIMIT` steps. Filters have to be the same when they are printed and
parsed; to cover and overlap themselves; to be merged into one that matches what either matches; and to be
found by the matching index exactly where they match. What two filters say of each other must be borne out by
the events.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Final

from attrs import frozen

from broker.filters import SIZE_LIMIT_BYTES, Filter, FilterError, parse
from broker.filters.constraints import (
    Conjunction,
    Containing,
    ListPattern,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Value,
)
from broker.filters.errors import UNREADABLE
from broker.filters.values import SELF
from broker.matching import MatchingIndex
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, check_message, command_for
from harness.fuzz.filter_texts import text_of

COST_LIMIT: Final = 400_000
"""Steps for one text: 60,000 for what is multiplied and 30,000 for one multiplication too many, and what is
in proportion to 8 KiB."""

SLOW_LIMIT_S: Final = 2.0
"""Of processor time for one case, which takes some milliseconds."""

_EVENTS: Final = 6
_NESTED: Final[list[Value]] = [[], ["a", 1, None], [{"x": 1}, {"y": "a"}, []], {"x": 1}, {"b": ["a"]}]
_VALUES: Final[tuple[Value, ...]] = (
    *(0, 1, -1, 0.5, 2**61, float("nan"), float("inf")),
    *("", "a", "ab", True, False, None),
    *_NESTED,
)


@frozen
class FilterCase:
    """Two texts, and the seed of the events they are tried on."""

    texts: tuple[str, str]
    seed: int


def _make(random: Random, corpus: tuple[str, ...] = ()) -> FilterCase:
    return FilterCase((text_of(random, corpus), text_of(random, corpus)), random.getrandbits(64))


def _judge(case: FilterCase, tally: FuzzTally) -> str:
    found = [each for text in case.texts if (each := judged(text, tally)) is not None]
    events = list(_events(Random(case.seed), found))  # noqa: S311 - it has to be repeatable, not secret
    for each in found:
        _check_alone(each, events)
    for one, other in pairwise(found):
        _check_pair(one, other, events)
    _check_index(found, events)
    return ("without a filter", "with one filter", "with two filters")[len(found)]


def judged(text: str, tally: FuzzTally) -> Filter | None:
    """Parse a text and check what comes out; return the filter, if it is one."""
    try:
        found = parse(text)
    except FilterError as error:
        check_message(str(error))
        _require(error.code != UNREADABLE, f"an error that nobody foresaw: {error.__cause__!r}")
        _require(1 <= error.column <= len(text) + 1, f"column {error.column} of {len(text)}")
        tally.dearest = max(tally.dearest, error.cost)
        _require(error.cost <= COST_LIMIT, f"it costs {error.cost} steps to refuse")
        return None
    tally.dearest = max(tally.dearest, found.cost)
    _require(found.cost <= COST_LIMIT, f"it costs {found.cost} steps")
    return found


def _check_alone(one: Filter, events: Sequence[dict[str, Value]]) -> None:
    _check_printed(one)
    _require(one.covers(one), "it does not cover itself")
    _require(one.overlaps(one) == bool(one.conjunctions), "it overlaps itself unless nothing matches it")
    for event in events:
        why = one.failing(event)
        _require((why == "") == one.match(event), f"{event} matches, and fails for {why!r}")
        if why:
            check_message(why)


def _check_printed(one: Filter) -> None:
    written = str(one)
    _require(len(written.encode()) <= SIZE_LIMIT_BYTES, f"it is printed in {len(written)} characters")
    again = parse(written)
    _require(again == one and hash(again) == hash(one), f"it is printed as {written!r}, which is another")
    _require(str(again) == written, f"it is printed differently the second time: {again}")


def _check_pair(one: Filter, other: Filter, events: Sequence[dict[str, Value]]) -> None:
    matches = [(one.match(event), other.match(event)) for event in events]
    if one.covers(other):
        _require(all(first or not second for first, second in matches), "what it covers goes beyond it")
    if not one.overlaps(other):
        _require(not any(first and second for first, second in matches), "what it does not overlap meets it")
    try:
        union = one.merge(other)
    except FilterError as error:
        check_message(str(error))
        return
    _check_printed(union)
    _require(union == other.merge(one), "merged the other way round it is another")
    _require(
        [union.match(event) for event in events] == [any(each) for each in matches], "merging changes it"
    )


def _check_index(filters: Sequence[Filter], events: Sequence[dict[str, Value]]) -> None:
    index: MatchingIndex[int] = MatchingIndex()
    for key, each in enumerate(filters):
        index.add(key, each)
    for event in events:
        naive = [key for key, each in enumerate(filters) if each.match(event)]
        _require(sorted(index.match(event)) == naive, f"the index finds {index.match(event)} for {event}")
    for key in range(len(filters)):
        index.remove(key)
    _require(not index.match({}), "something is left in the index")


def _events(random: Random, filters: Sequence[Filter]) -> Iterator[dict[str, Value]]:
    """Draw events from the constants of the filters, and values near them."""
    conjunctions = [each for one in filters for each in one.conjunctions]
    yield {}
    for _ in range(_EVENTS if conjunctions else 0):
        chosen = random.choice(conjunctions)
        event = _satisfying(random, tuple(islice(chosen, 20)))
        if event and random.getrandbits(1):
            event[random.choice(sorted(event))] = random.choice(_VALUES)
        yield event


def _satisfying(random: Random, conjunction: Conjunction) -> dict[str, Value]:
    """Draw attributes near those that a conjunction wants; paths lead into maps, or are names as they are."""
    event: dict[str, Value] = {}
    for name, constraint in conjunction:
        value = _value(random, constraint)
        first, _, rest = name.partition(".")
        if rest and random.getrandbits(1):
            inside = event.get(first)
            event[first] = {**inside, rest: value} if isinstance(inside, dict) else {rest: value}
        else:
            event[name] = value
    return event


def _element(random: Random, condition: Sequence[Conjunction]) -> Value:
    found = _satisfying(random, random.choice(condition)) if condition else {}
    return found.get(SELF, 1) if found.keys() <= {SELF} else found


def _value(random: Random, constraint: object) -> Value:
    match constraint:
        case Containing():
            return _value(random, random.choice((constraint.as_text, constraint.as_list)))
        case ListPattern():
            conditions = sorted((*constraint.some, *constraint.every), key=repr)
            elements = [_element(random, each) for each in conditions]
            return elements + random.choices(_VALUES, k=random.randrange(3))
        case NumberSet(values) | TextSet(values):
            return random.choice(sorted(values))
        case NumberRange():
            bounds = [bound for bound in (constraint.low, constraint.high) if bound is not None] or [0]
            return random.choice(bounds) + random.choice((0, 0, 0.5, -1, 1))
        case TextPattern():
            inside = "".join(sorted(constraint.contains)[:4])
            start = random.choice((constraint.prefix, constraint.low or "", constraint.high or ""))
            return start + random.choice(("", "\0", "a", inside)) + constraint.suffix
    return random.choice(_VALUES)


def _require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads like an assertion
    if not condition:
        raise Crash(otherwise)


def corpus_of(path: Path) -> tuple[str, ...]:
    """Read texts to damage, a line each, written as Python writes them."""
    lines = filter(None, path.read_text().splitlines())
    return tuple(line.encode("latin-1", "backslashreplace").decode("unicode_escape") for line in lines)


def damaging(path: Path) -> Campaign:
    """Return the campaign whose texts are made by damaging those of a file, too."""
    return Campaign(CAMPAIGN.name, partial(_make, corpus=corpus_of(path)), _judge, slow_limit_s=SLOW_LIMIT_S)


CAMPAIGN: Final = Campaign("pairs of texts", _make, _judge, slow_limit_s=SLOW_LIMIT_S, damaging=damaging)
main: Final = command_for(CAMPAIGN, "Throw texts at the filter language.")

if __name__ == "__main__":
    main()
